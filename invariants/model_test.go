package invariants_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// The model is a right retry loop, written from the documentation of the
// policy's fields and without a look at the automaton. What it does is data
// (a story), so that a test can make one mistake in it.

// A plan is what the world does to the loop.
type plan struct {
	deadline time.Duration // 0: none
	cancel   time.Duration // 0: none
	turns    []turn        // the tool's answers; the last one repeats
	leaves   bool          // the loop leaves a deaf tool when the context ends, and does not wait for it
	steps    bool          // the loop multiplies its interval step by step, and drops fractions
	draw     func() float64
	coin     func() bool
}

// A turn is what the tool does in one attempt.
type turn struct {
	class   trace.Class
	latency time.Duration
	hint    time.Duration
	deaf    bool // it does not look at its context
}

// A story is what happened.
type story struct {
	p        Policy
	deadline time.Duration
	cancel   time.Duration
	tries    []try
	end      time.Duration
	reason   trace.Reason
	said     trace.Reason
	err      string
	result   string
	want     string
	cause    int
	count    int
	extra    []trace.Event // at the end, before the end event
	tail     []trace.Event // after the end event
}

// A try is one attempt.
type try struct {
	begin, seen time.Duration
	outcome     trace.Outcome // as the loop saw it
	interrupted bool          // the context ended first
	answered    time.Duration // of a deaf tool: its late answer
	answer      trace.Outcome // of a deaf tool
	silent      bool          // no answer at all
	limit       time.Duration
	key, args   string
	effects     int
	own         time.Duration // the loop's own backoff before the next attempt
	hinted      bool          // a hint set the wait before the next attempt
}

// went is what the loop went by: the instant and the outcome.
type went struct {
	at      time.Duration
	outcome trace.Outcome
	why     trace.Reason // the caller's side ended it
}

func simulate(p Policy, pl plan) story {
	s := story{p: p, deadline: pl.deadline, cancel: pl.cancel}
	l := loop{p: p, pl: pl, s: &s}
	l.run()
	return s
}

type loop struct {
	p        Policy
	pl       plan
	s        *story
	now      time.Duration
	failures int
	prev     time.Duration // decorrelated jitter's last wait
	unclear  bool          // an earlier attempt may have done the work
}

func (l *loop) run() {
	for n := 1; ; n++ {
		w := l.attempt(n)
		l.now = w.at
		if why := l.verdict(w, n); why != 0 {
			l.finish(w.at, why)
			return
		}
		if !l.pause(w) {
			return
		}
	}
}

// attempt makes attempt n and says what the loop goes by.
func (l *loop) attempt(n int) went {
	t := l.pl.turns[min(n, len(l.pl.turns))-1]
	limit := time.Duration(0)
	tighten := func(at time.Duration) {
		if limit == 0 || at < limit {
			limit = at
		}
	}
	if l.p.Attempt > 0 {
		tighten(l.now + l.p.Attempt)
	}
	if l.pl.deadline != 0 {
		tighten(l.pl.deadline)
	}
	if l.p.Budget > 0 && l.p.BudgetCuts {
		tighten(l.p.Budget)
	}
	a := try{begin: l.now, limit: limit, args: `{"city":"Pune"}`}
	if l.p.Key != "" {
		a.key = "k1"
	}
	o := trace.Outcome{Class: t.class, Hint: t.hint}
	done := l.now + t.latency
	stopAt, class, why := limit, trace.Timeout, trace.Reason(0)
	if limit != 0 && limit == l.pl.deadline {
		why = trace.ReasonDeadline
	} else if limit != 0 && l.p.BudgetCuts && limit == l.p.Budget {
		why = trace.ReasonBudget
	}
	if l.pl.cancel != 0 && (stopAt == 0 || l.pl.cancel < stopAt) {
		stopAt, class, why = l.pl.cancel, trace.Cancelled, trace.ReasonCancelled
	}
	if stopAt == 0 || done < stopAt {
		a.seen, a.outcome = done, o
		l.s.tries = append(l.s.tries, a)
		return went{at: done, outcome: o}
	}
	stopAt = max(stopAt, l.now)
	cut := trace.Outcome{Class: class}
	a.seen, a.outcome, a.interrupted = stopAt, cut, true
	if !t.deaf {
		a.interrupted = false
		l.s.tries = append(l.s.tries, a)
		return went{stopAt, cut, why}
	}
	a.answered, a.answer = done, o
	l.s.tries = append(l.s.tries, a)
	if l.pl.leaves || why != 0 && t.class != trace.OK {
		return went{stopAt, cut, why}
	}
	// It waits for the answer and goes by it; a cancel may come meanwhile.
	late := trace.Reason(0)
	if l.pl.cancel != 0 && done >= l.pl.cancel {
		late = trace.ReasonCancelled
	}
	return went{done, o, late}
}

// verdict is the reason to end; 0: go on.
func (l *loop) verdict(w went, n int) trace.Reason {
	c, unclear := w.outcome.Class, l.unclear
	l.unclear = unclear || !l.harmless(c)
	switch {
	case c == trace.OK, unclear && slices.Contains(l.p.Desired, c):
		return trace.ReasonSuccess
	case c == trace.Declined:
		return trace.ReasonDeclined
	case w.why != 0:
		return w.why
	case !slices.Contains(l.p.Retry, c):
		if c == trace.Invalid {
			return trace.ReasonNeedsInput
		}
		if c == trace.Partial {
			return trace.ReasonPartial
		}
		if !l.repeatable(c) || unclear && c == trace.Conflict && (!l.p.Repeatable || l.p.Key != "" || l.p.Desired != nil) {
			return trace.ReasonOutcomeUnknown
		}
		return trace.ReasonRefused
	case l.p.MaxAttempts != Unlimited && n >= l.p.MaxAttempts:
		return trace.ReasonExhausted
	case !l.repeatable(c):
		return trace.ReasonOutcomeUnknown
	case l.p.Spend > 0 && n*l.p.Price+l.p.Price > l.p.Spend:
		return trace.ReasonBudget
	}
	return 0
}

func (l *loop) repeatable(c trace.Class) bool {
	return l.p.Repeatable || l.p.Key != "" || l.harmless(c)
}

// harmless reports whether an answer proves that nothing was done.
func (l *loop) harmless(c trace.Class) bool {
	if slices.Contains(l.p.Undone, c) {
		return true
	}
	switch c {
	case trace.Transient, trace.Timeout, trace.Reset, trace.Malformed, trace.Partial, trace.Cancelled, trace.Unknown:
		return false
	}
	return true
}

// pause waits before the next attempt; false: the action ended instead.
func (l *loop) pause(w went) bool {
	l.failures++
	own := l.own()
	last := &l.s.tries[len(l.s.tries)-1]
	last.own = own
	wait, over := l.wait(own, w.outcome, last)
	if over {
		return l.finish(w.at, trace.ReasonHintTooLong)
	}
	l.prev = max(own, 0)
	next := w.at + wait
	if next < w.at { // no wait that long ends
		next = math.MaxInt64
	}
	stop, end, why := false, time.Duration(math.MaxInt64), trace.Reason(0)
	limit := func(at time.Duration, late Late, r trace.Reason) {
		if next < at || next == at && w.at < at && l.pl.coin() {
			return
		}
		if late == LateStop {
			at = w.at
		}
		if at = max(at, w.at); !stop || at < end {
			stop, end, why = true, at, r
		}
	}
	if l.pl.deadline != 0 {
		limit(l.pl.deadline, l.p.Late, trace.ReasonDeadline)
	}
	if l.p.Budget > 0 {
		limit(l.p.Budget, l.p.BudgetLate, trace.ReasonBudget)
	}
	if c := l.pl.cancel; c != 0 && (c < next || c == next && l.pl.coin()) && (!stop || c < end) {
		return l.finish(max(c, w.at), trace.ReasonCancelled)
	}
	if stop {
		return l.finish(end, why)
	}
	l.now = next
	return true
}

// wait combines the loop's own backoff with the tool's hint.
func (l *loop) wait(own time.Duration, o trace.Outcome, last *try) (wait time.Duration, over bool) {
	h := l.p.Hint
	hint := o.Hint
	if h.Use == HintIgnore || len(h.Classes) > 0 && !slices.Contains(h.Classes, o.Class) {
		hint = 0
	}
	if h.Limit > 0 && hint > h.Limit {
		switch h.Over {
		case OverStop:
			return 0, true
		case OverClamp:
			hint = h.Limit
		case OverIgnore:
			hint = 0
		}
	}
	if hint <= 0 {
		return own, false
	}
	if h.Resets {
		l.failures = 0
		defer func() { l.prev = 0 }()
	}
	last.hinted = true
	jittered := hint + time.Duration(float64(hint)*h.Jitter*l.pl.draw())
	if h.Use == HintReplace {
		return jittered, false
	}
	last.hinted = hint > own
	return max(own, jittered), false
}

// own is the loop's own backoff after its failures so far.
func (l *loop) own() time.Duration {
	b := l.p.Backoff
	u := l.pl.draw()
	cap := b.Cap
	if cap == 0 {
		cap = math.MaxInt64
	}
	if b.Jitter.Decorrelated {
		prev := max(l.prev, b.Base)
		return min(cap, b.Base+time.Duration(u*float64(3*prev-b.Base)))
	}
	d := l.interval()
	if b.CapIs != CapAfter {
		d = min(d, cap)
	}
	if b.Jitter != (Jitter{}) {
		d = time.Duration(float64(d) * (b.Jitter.Low + u*(b.Jitter.High-b.Jitter.Low)))
		if b.CapIs != CapBefore {
			d = min(d, cap)
		}
	}
	return min(d, max(cap, d*btoi(b.CapIs == CapBefore && b.Jitter != Jitter{})))
}

func btoi(b bool) time.Duration {
	if b {
		return 1
	}
	return 0
}

func (l *loop) interval() time.Duration {
	b := l.p.Backoff
	if len(b.Delays) > 0 {
		return b.Delays[min(l.failures, len(b.Delays))-1]
	}
	factor := b.Factor
	if factor == 0 {
		factor = 2
	}
	const most = time.Duration(1) << 60
	d, f := b.Base, float64(b.Base)
	for range l.failures - 1 {
		if f *= factor; f > float64(most) {
			return most
		}
		d = time.Duration(float64(d) * factor)
	}
	if l.pl.steps {
		return d
	}
	return time.Duration(f)
}

// finish ends the action. It returns false, for the loop's convenience.
func (l *loop) finish(at time.Duration, why trace.Reason) bool {
	s := l.s
	s.end, s.reason, s.said = at, why, why
	if why == trace.ReasonSuccess || why == trace.ReasonDeclined {
		s.result, s.want = `{"celsius":19}`, `{"celsius":19}`
		if last := &s.tries[len(s.tries)-1]; !last.outcome.Failed() {
			last.effects = 1
		}
		return false
	}
	s.err, s.cause, s.count = why.String(), len(s.tries), len(s.tries)
	return false
}

// trace renders the story.
func (s *story) trace() *trace.Trace {
	type seq struct {
		e trace.Event
		n int
	}
	var list []seq
	add := func(at time.Duration, e trace.Event) {
		e.At, e.Action = at, "forecast"
		list = append(list, seq{e, len(list)})
	}
	add(0, trace.Event{Kind: trace.KindBegin, Deadline: s.deadline})
	if s.cancel != 0 && s.cancel <= s.end {
		add(s.cancel, trace.Event{Kind: trace.KindCancel})
	}
	for i, a := range s.tries {
		n := i + 1
		add(a.begin, trace.Event{Kind: trace.KindCall, Call: n, Tool: "weather", Key: a.key, Deadline: a.limit, Args: json.RawMessage(a.args)})
		for range a.effects {
			add(a.seen, trace.Event{Kind: trace.KindEffect, Call: n, Tool: "weather", Key: a.key})
		}
		answer := func(kind trace.Kind, o trace.Outcome, at time.Duration) {
			e := trace.Event{Kind: kind, Call: n, Tool: "weather", Outcome: o}
			if o.Failed() {
				e.Error = fmt.Sprint(o.Class)
			}
			add(at, e)
		}
		switch {
		case a.silent:
		case a.interrupted:
			answer(trace.KindInterrupt, a.outcome, a.seen)
			answer(trace.KindAnswer, a.answer, a.answered)
		default:
			answer(trace.KindAnswer, a.outcome, a.seen)
		}
	}
	for _, e := range s.extra {
		add(s.end, e)
	}
	end := trace.Event{Kind: trace.KindEnd, Reason: s.said, Error: s.err, Cause: s.cause, Count: s.count}
	if s.result != "" {
		end.Result, end.Want = json.RawMessage(s.result), json.RawMessage(s.want)
	}
	add(s.end, end)
	for _, e := range s.tail {
		add(s.end, e)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].e.At < list[j].e.At })
	tr := &trace.Trace{Schema: trace.Schema, Policy: s.p.Content()}
	for _, q := range list {
		tr.Events = append(tr.Events, q.e)
	}
	return tr
}
