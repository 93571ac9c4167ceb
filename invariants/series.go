package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Choice is what the policy allows after an answer.
type Choice uint8

const (
	Stop   Choice = iota // no further attempt
	Go                   // a further attempt, within the window
	Either               // a further attempt within the window, or none
)

// String is "stop", "go" or "either".
func (c Choice) String() string {
	if c > Either {
		return "no choice"
	}
	return [...]string{"stop", "go", "either"}[c]
}

// A Decision is what the policy allows after an answer. Waits are counted from
// the answer; the instants of the end are on the trace's time.
type Decision struct {
	Do           Choice
	Lo, Hi       time.Duration // shortest and longest wait before the next attempt; of Go and Either
	Reason       trace.Reason  // of the end; of Stop and Either
	EndLo, EndHi time.Duration // earliest and latest instant of the end; of Stop and Either
	Hinted       bool          // the tool's hint set the window

	also  reasons // further reasons that are true of the same end
	spent bool    // the next attempt would cost more than is left
}

// Allows reports whether r is a true reason of the end that the decision
// allows. One end can have several: an attempt that was the last permitted
// one, and was cut by the deadline, is exhausted as well as late.
func (d Decision) Allows(r trace.Reason) bool {
	return d.Do != Go && (r == d.Reason || d.also.has(r))
}

// A Series is the policy as an automaton: it follows one series of attempts
// and says after each answer what may come next. Start it with [Policy.Start];
// the zero Series is not ready for use. It is a small value: a copy goes its
// own way.
type Series struct {
	p        *Policy
	begin    time.Duration
	deadline time.Duration
	cancel   time.Duration
	doomed   bool          // there is a cancel
	unclear  bool          // an earlier attempt may have done its work
	attempts int           // answered so far
	failures int           // since the start, or since a hint that resets
	began    time.Duration // the latest attempt
	answered time.Duration
	waited   time.Duration // the wait before, which decorrelated jitter grows from
	hidden   time.Duration // longest own wait that a hint has hidden
	anew     bool          // a hint has reset the series
	beside   int           // attempts of the action that are of other series
	mended   int           // credentials were refreshed

	unauthenticated bool          // the answer before said so
	up              time.Duration // when a process that has died is up again; 0: it has not
	phantoms        int           // attempts that a process may have counted and died before making, or given back
	spared          int           // attempts that were given back and count for nothing
	corrected       bool          // rejected arguments were
}

// Start begins a series: begin is the instant at which the action began, and
// deadline the instant at which the caller's context ends (0: never). Both are
// on the trace's time.
func (p *Policy) Start(begin, deadline time.Duration) Series {
	return Series{p: p, begin: begin, deadline: deadline}
}

// Cancel tells the series of the instant at which the caller cancels. A judge
// knows it in advance; the code under test does not.
func (s *Series) Cancel(at time.Duration) { s.cancel, s.doomed = at, true }

// Began tells the series that its next attempt began at the instant. Only
// decorrelated jitter and [Series.Lost] need to know.
func (s *Series) Began(at time.Duration) {
	s.began = at
	switch {
	case s.attempts == 0:
	case s.anew:
		s.waited = s.hidden
	default:
		s.waited = max(at-s.answered, s.hidden)
	}
	s.hidden, s.anew = 0, false
}

// Next says what the policy allows after the outcome o, seen at the instant at.
func (s *Series) Next(o trace.Outcome, at time.Duration) Decision {
	s.attempts++
	s.failures++
	s.answered = at
	if o.Class == trace.OK || s.reached(&o) {
		return stop(trace.ReasonSuccess, at)
	}
	o, mixed := s.p.itemised(o)
	if s.p.mends(o.Class) {
		d := s.mend(&o, at)
		s.unauthenticated = true
		return d
	}
	s.unauthenticated = false
	if s.p.corrects(&o) {
		return s.correct(&o, at)
	}
	d, final := s.final(&o, at)
	if mixed {
		d.also |= reasonSet(trace.ReasonPartial)
	}
	d.also |= s.overdue(at)
	if s.p.effect(&o) == trace.EffectUnknown {
		s.unclear = true
	}
	if final {
		return d
	}
	w := s.window(&o)
	if w.over {
		over := stop(trace.ReasonHintTooLong, at)
		over.also = d.also | reasonSet(trace.ReasonEscalated)
		return over
	}
	next := s.fit(w, at, d.also)
	s.doubt(&next, max(at, s.up))
	return next
}

// window is the window of the next wait, and what the hint does to the series.
func (s *Series) window(o *trace.Outcome) wait {
	w := s.unmended(s.p.window(s.failures, s.waited, o), o)
	if s.p.Hint.Resets && w.followed {
		s.failures, s.anew = 0, true
	}
	if w.followed && s.p.Backoff.Jitter.Decorrelated {
		_, s.hidden = s.p.Backoff.Window(s.failures, s.waited)
	}
	return s.doubtful(w)
}

// final is the decision where no further attempt can be legal.
func (s *Series) final(o *trace.Outcome, at time.Duration) (Decision, bool) {
	d, final := s.byClass(o, at)
	reason := s.cut(o.Class, at)
	if reason == 0 || o.Class == trace.Declined {
		return d, final
	}
	over := stop(reason, at)
	over.also = d.also | reasonSet(trace.ReasonEscalated)
	if final {
		over.also |= reasonSet(d.Reason)
	} else if next := s.fit(s.p.window(s.failures, s.waited, o), at, 0); next.Do != Go {
		over.also |= next.also | reasonSet(next.Reason)
	}
	return over, true
}

// byClass is the decision by class, count and safety, whatever the time.
func (s *Series) byClass(o *trace.Outcome, at time.Duration) (Decision, bool) {
	if o.Class == trace.Declined {
		return stop(trace.ReasonDeclined, at), true
	}
	used := s.p.MaxAttempts != Unlimited && s.attempts >= s.p.MaxAttempts
	var d Decision
	switch {
	case !s.p.retries(o), o.Class == trace.Partial && o.Items != "": // none of its items is retried
		d = stop(s.p.refusal(o), at)
		if d.Reason != trace.ReasonOutcomeUnknown {
			d.also |= reasonSet(trace.ReasonRefused)
		}
	case used:
		d = stop(trace.ReasonExhausted, at)
	case !s.p.safe(o):
		d = stop(trace.ReasonOutcomeUnknown, at)
	case !s.affords():
		d = stop(trace.ReasonBudget, at)
		d.spent = true
	default:
		return Decision{}, false
	}
	if s.own(o) && !s.p.retries(o) {
		d = s.p.ownConflict(d)
	}
	d.also |= reasonSet(trace.ReasonEscalated)
	if !s.affords() {
		d.also |= reasonSet(trace.ReasonBudget)
	}
	if used || d.spent {
		d.also |= reasonSet(trace.ReasonExhausted)
		if s.p.window(s.failures, s.waited, o).over {
			d.also |= reasonSet(trace.ReasonHintTooLong)
		}
	}
	if s.unclear || !s.p.safe(o) {
		d.also |= reasonSet(trace.ReasonOutcomeUnknown)
	}
	return d, true
}

// cut is the reason where the attempt was ended by the end of the action's
// time. An attempt's own timeout at the very instant of the cancel is not.
func (s *Series) cut(c trace.Class, at time.Duration) trace.Reason {
	switch {
	case c != trace.Timeout && c != trace.Cancelled:
	case s.doomed && (at > s.cancel || at == s.cancel && c == trace.Cancelled):
		return trace.ReasonCancelled
	case s.deadline != 0 && at >= s.deadline:
		return trace.ReasonDeadline
	case s.p.BudgetCuts && s.p.Budget > 0 && at-s.begin >= s.p.Budget:
		return trace.ReasonBudget
	}
	return 0
}

// overdue lists the limits that have passed by the instant: an end then has
// them for a true reason too.
func (s *Series) overdue(at time.Duration) reasons {
	var r reasons
	if s.doomed && at >= s.cancel {
		r |= reasonSet(trace.ReasonCancelled)
	}
	if s.deadline != 0 && at >= s.deadline {
		r |= reasonSet(trace.ReasonDeadline)
	}
	if s.p.Budget > 0 && at-s.begin >= s.p.Budget {
		r |= reasonSet(trace.ReasonBudget)
	}
	return r
}

// refusal is the terminal reason of a failure that is not retried.
func (p *Policy) refusal(o *trace.Outcome) trace.Reason {
	switch o.Class {
	case trace.Invalid:
		return trace.ReasonNeedsInput
	case trace.Partial:
		return trace.ReasonPartial
	}
	if !p.safe(o) {
		return trace.ReasonOutcomeUnknown
	}
	return trace.ReasonRefused
}

func stop(r trace.Reason, at time.Duration) Decision {
	return Decision{Do: Stop, Reason: r, EndLo: at, EndHi: at}
}

// fit narrows a window to the time that is left before cancel, deadline and
// budget. A wait that ends at the very instant of a limit is a coin flip in
// any program, so both ways are legal there.
func (s *Series) fit(w wait, at time.Duration, also reasons) Decision {
	if s.up > at { // nothing can come while the process is down
		w.lo, w.hi = max(w.lo, s.up-at), max(w.hi, s.up-at)
	}
	d := Decision{Do: Go, Lo: w.lo, Hi: w.hi, Hinted: w.hinted, also: also}
	deadline := limit{at: s.deadline, late: s.p.Late, reason: trace.ReasonDeadline}
	budget := limit{at: plus(s.begin, s.p.Budget), late: s.p.BudgetLate, reason: trace.ReasonBudget}
	// The nearer limit comes first: where neither leaves room, it is the one
	// that ends a wait.
	switch {
	case s.p.Budget == 0:
		d.limit(w, at, deadline, s.deadline != 0)
	case s.deadline != 0 && s.deadline <= budget.at:
		d.limit(w, at, deadline, true)
		d.limit(w, at, budget, true)
	default:
		d.limit(w, at, budget, true)
		d.limit(w, at, deadline, s.deadline != 0)
	}
	if w.edge {
		d.edge(at)
	}
	if s.doomed {
		d.cancel(at, s.cancel)
	}
	return d
}

// edge allows an end at once, besides what is allowed already.
func (d *Decision) edge(at time.Duration) {
	d.also |= reasonSet(trace.ReasonHintTooLong)
	if d.Do == Go {
		d.Do, d.Reason, d.EndLo, d.EndHi = Either, trace.ReasonHintTooLong, at, at
	}
}

// A limit in time that the code under test knows in advance.
type limit struct {
	at     time.Duration
	late   Late
	reason trace.Reason
}

func (d *Decision) limit(w wait, at time.Duration, l limit, set bool) {
	left := l.at - at
	if !set || w.hi < left {
		return
	}
	d.also |= reasonSet(l.reason) | reasonSet(trace.ReasonEscalated) // what stands in for the answer may say so, as after any other failure
	reason, end := l.reason, at
	if w.hinted {
		d.also |= reasonSet(trace.ReasonHintTooLong)
		if l.late == LateStop && l.reason == trace.ReasonDeadline {
			reason = trace.ReasonHintTooLong
		}
	}
	if l.late == LateWait {
		end = max(at, l.at)
	}
	switch {
	case d.Do == Stop:
	case w.lo > left:
		d.stop(reason, at, end)
	case d.Do == Go:
		d.Do, d.Hi, d.Reason, d.EndLo, d.EndHi = Either, min(d.Hi, left), reason, at, end
	}
}

func (d *Decision) stop(r trace.Reason, lo, hi time.Duration) {
	d.Do, d.Reason, d.Lo, d.Hi, d.EndLo, d.EndHi = Stop, r, 0, 0, lo, hi
}

// cancel applies the caller's cancel, of which the code learns when it comes.
// An end that a limit allows before it stays legal.
func (d *Decision) cancel(at, cancel time.Duration) {
	left, end := cancel-at, max(at, cancel)
	if d.Do == Stop {
		// It may still be waiting for its limit when the cancel comes.
		if end <= d.EndHi {
			if end < d.EndHi { // the wait for the limit does not come to its end
				d.also |= reasonSet(d.Reason)
				d.Reason = trace.ReasonCancelled
			}
			d.EndLo, d.EndHi = min(d.EndLo, end), end
			d.also |= reasonSet(trace.ReasonCancelled)
		}
		return
	}
	if d.Hi < left {
		return
	}
	first := end
	if d.Do == Either {
		first = min(first, d.EndLo)
		d.also |= reasonSet(d.Reason)
	}
	if d.Lo > left {
		d.stop(trace.ReasonCancelled, first, end)
		return
	}
	d.Do, d.Hi, d.Reason, d.EndLo, d.EndHi = Either, min(d.Hi, left), trace.ReasonCancelled, first, end
}

// reasons is a set of reasons.
type reasons uint32

func reasonSet(r trace.Reason) reasons { return 1 << r }

func (s reasons) has(r trace.Reason) bool { return r != 0 && s&(1<<r) != 0 }
