package faultsim

import (
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An Expectation is what a policy calls for under the faults of one action.
// Where jitter or a tie leaves a choice, the counts are a range. Least 0, the
// greatest Most and no Reasons: a crash comes where good programs are at this
// or that, and the rules alone hold them.
type Expectation struct {
	Least, Most int            // attempts of the main tool
	Reasons     []trace.Reason // possible terminal reasons, in a fixed order
}

// Expect plays the policy's automaton over the faults of one action's main
// tool. ok is false where the action would never end, because nothing bounds a
// tool that hangs.
func Expect(p invariants.Policy, plan Plan) (e Expectation, ok bool) { return expect(p, plan, nil, 1) }

// ExpectPages is [ExpectFirst] for an action that makes so many requests of its
// main tool one after another, each with arguments of its own: the next begins
// when the one before has succeeded, and a failure ends the action. Fewer than
// 1 count as 1.
func ExpectPages(p invariants.Policy, s Schedule, pages int) (e Expectation, ok bool) {
	return expect(p, s.plans()[0], &s, pages)
}

func expect(p invariants.Policy, plan Plan, sched *Schedule, pages int) (e Expectation, ok bool) {
	pl := player{sched: sched, pages: max(pages, 1), p: &p, plan: &plan, faults: plan.Faults[Main], e: Expectation{Least: math.MaxInt}, ok: true}
	if plan.Cancel < 0 {
		return Expectation{Reasons: []trace.Reason{trace.ReasonCancelled}}, true
	}
	pl.cancel = never
	if plan.Cancel > 0 {
		pl.cancel = plan.Cancel
	}
	pl.attempt(p.Start(0, plan.Deadline), turn{n: 1, page: 1, cancel: pl.cancel, climate: climate{s: sched}})
	slices.Sort(pl.e.Reasons)
	if pl.open || plan.CrashBeforeWrite+plan.CrashAfterWrite > 0 {
		return Expectation{Most: math.MaxInt}, true
	}
	return pl.e, pl.ok
}

const never = time.Duration(math.MaxInt64)

// A player explores what a policy allows.
type player struct {
	p      *invariants.Policy
	plan   *Plan
	faults []Fault
	cancel time.Duration
	e      Expectation
	lost   bool // an item of a batch has failed for good
	ok     bool
	steps  int
	pages  int
	sched  *Schedule // its outages and quotas; nil: none
	open   bool      // a crash comes where the code may be at this or that
}

// A turn is an attempt that begins.
type turn struct {
	n, page    int
	at, cancel time.Duration
	done       bool          // an earlier attempt has done the page's work
	issued     time.Duration // when the credential was issued
	budget     time.Duration // when the action's own budget began
	climate    climate       // what the attempts up to now have used up
}

// attempt plays an attempt, and what may follow.
func (pl *player) attempt(s invariants.Series, t turn) {
	if pl.steps++; pl.steps > 1<<14 {
		return // jitter over many attempts: the ends of the ranges are known by now
	}
	var planned Fault
	if t.n <= len(pl.faults) {
		planned = pl.faults[t.n-1]
	}
	f, down := pl.spell(planned, &t)
	if !down && pl.sched != nil && expired(pl.sched.Expiries, t.issued, t.at) {
		f = f.despite(Fault{Class: trace.Unauthenticated})
	}
	if f.Cancel > 0 {
		t.cancel = min(t.cancel, t.at+f.Cancel)
	}
	if t.cancel != never {
		s.Cancel(t.cancel)
	}
	s.Began(t.at)
	o, end := pl.outcome(&f, &t)
	if end == never {
		pl.ok = false
		return
	}
	if f.Crash > 0 && pl.crash(&s, &f, o, t, end) {
		return
	}
	if f.Drain > 0 && pl.drain(s, &f, o, t, end) {
		return
	}
	t.done = t.done || f.Done
	if o.Class == trace.Unauthenticated {
		t.issued = end // the policy calls for a refresh, or for the end
	}
	if t.done && pl.p.Reconcile && o.Class != trace.OK && pl.p.Effect(o) == trace.EffectUnknown {
		pl.succeed(t, end) // the program asks, and is told that it is done
		return
	}
	d := s.Next(o, end)
	pl.lost = pl.lost || pl.loses(&f)
	pl.follow(s, d, t, end)
}

// follow plays what the decision after an attempt allows. Its waits count from
// end.
func (pl *player) follow(s invariants.Series, d invariants.Decision, t turn, end time.Duration) {
	switch {
	case d.Do != invariants.Go && d.Reason == trace.ReasonSuccess:
		pl.succeed(t, end)
	case d.Do != invariants.Go:
		pl.stop(t.n, d.Reason)
	}
	if d.Do == invariants.Stop {
		return
	}
	t.n++
	next := func(at time.Duration) {
		t.at = at
		pl.attempt(s, t)
	}
	next(end + d.Lo)
	if d.Hi != d.Lo {
		for _, at := range pl.changes(&t, end+d.Lo, end+d.Hi) {
			next(at)
		}
		next(end + d.Hi)
	}
}

// succeed ends a page at the instant, and begins the next one.
func (pl *player) succeed(t turn, end time.Duration) {
	if t.page < pl.pages {
		s := pl.p.Start(t.budget, pl.plan.Deadline)
		t.n, t.page, t.at, t.done = t.n+1, t.page+1, end, false
		pl.attempt(s, t)
		return
	}
	pl.stop(t.n, trace.ReasonSuccess)
	if pl.lost {
		pl.stop(t.n, trace.ReasonPartial) // the last request was a success, the batch was none
	}
}

// crash plays the crash that the fault plans, and reports whether it comes
// before the action is over.
func (pl *player) crash(s *invariants.Series, f *Fault, o trace.Outcome, t turn, end time.Duration) bool {
	crash := t.at + f.Crash
	t.cancel = pl.cancel
	up := crash + pl.plan.downtime()
	if pl.p.Restart == invariants.RestartUndeclared {
		return false
	}
	t = pl.anew(t, up)
	if crash < end {
		if !pl.asked(f, &t, end, up) {
			pl.follow(*s, s.Lost(up), t, up)
		}
		return true
	}
	next := *s
	switch d := next.Next(o, end); {
	case d.Do == invariants.Stop && d.EndHi < crash:
		return false // it is over
	case crash-end >= d.Lo || d.Do == invariants.Either:
		pl.open = true // the next attempt may have begun
		return true
	}
	pl.follow(*s, s.Resumed(o, end, up), t, end)
	return true
}

// loses reports whether the fault fails an item in a way that is not retried.
func (pl *player) loses(f *Fault) bool {
	return slices.ContainsFunc(f.Items.List(), func(it trace.Item) bool { return !pl.p.Retries(it.Class) })
}

// outcome is what the caller sees of the fault, and when.
func (pl *player) outcome(f *Fault, t *turn) (trace.Outcome, time.Duration) {
	end := never
	if !f.Hang {
		end = t.at + f.takes()
	}
	limit, class := pl.limit(t)
	if end > limit {
		return trace.Outcome{Class: class}, limit
	}
	o := trace.Outcome{Class: f.class(), Hint: f.Hint, Items: f.Items, Advice: f.Advice}
	if f.Hint > 0 {
		o.Slack = f.hint().Slack()
	}
	return o, end
}

// limit is the first instant at which the caller's side ends an attempt.
func (pl *player) limit(t *turn) (time.Duration, trace.Class) {
	limit := never
	if pl.p.Attempt > 0 {
		limit = t.at + pl.p.Attempt
	}
	if pl.plan.Deadline > 0 {
		limit = min(limit, pl.plan.Deadline)
	}
	if pl.p.Budget > 0 && pl.p.BudgetCuts {
		limit = min(limit, t.budget+pl.p.Budget)
	}
	if t.cancel < limit {
		return t.cancel, trace.Cancelled
	}
	return limit, trace.Timeout
}

func (pl *player) stop(n int, r trace.Reason) {
	pl.e.Least, pl.e.Most = min(pl.e.Least, n), max(pl.e.Most, n)
	if !slices.Contains(pl.e.Reasons, r) {
		pl.e.Reasons = append(pl.e.Reasons, r)
	}
}
