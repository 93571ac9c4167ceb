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
func Expect(p invariants.Policy, plan Plan) (e Expectation, ok bool) { return expect(p, plan, nil) }

func expect(p invariants.Policy, plan Plan, sched *Schedule) (e Expectation, ok bool) {
	pl := player{sched: sched, p: &p, plan: &plan, faults: plan.Faults[Main], e: Expectation{Least: math.MaxInt}, ok: true}
	if plan.Cancel < 0 {
		return Expectation{Reasons: []trace.Reason{trace.ReasonCancelled}}, true
	}
	pl.cancel = never
	if plan.Cancel > 0 {
		pl.cancel = plan.Cancel
	}
	pl.attempt(p.Start(0, plan.Deadline), 1, 0, pl.cancel, false)
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
	sched  *Schedule       // its outages and quotas; nil: none
	path   []time.Duration // when the attempts up to now began
	open   bool            // a crash comes where the code may be at this or that
}

// attempt plays attempt n, which begins at the instant at, and what may follow.
// done says that an earlier one has done the work.
func (pl *player) attempt(s invariants.Series, n int, at, cancel time.Duration, done bool) {
	if pl.steps++; pl.steps > 1<<14 {
		return // jitter over many attempts: the ends of the ranges are known by now
	}
	var f Fault
	if n <= len(pl.faults) {
		f = pl.faults[n-1]
	}
	f = pl.spell(f, n, at)
	if f.Cancel > 0 {
		cancel = min(cancel, at+f.Cancel)
	}
	if cancel != never {
		s.Cancel(cancel)
	}
	s.Began(at)
	o, end := pl.outcome(&f, at, cancel)
	if end == never {
		pl.ok = false
		return
	}
	if f.Crash > 0 && pl.crash(&s, &f, o, n, at, end, done) {
		return
	}
	done = done || f.Done
	if done && pl.p.Reconcile && o.Class != trace.OK && pl.p.Effect(o) == trace.EffectUnknown {
		pl.stop(n, trace.ReasonSuccess) // the program asks, and is told that it is done
		return
	}
	d := s.Next(o, end)
	pl.lost = pl.lost || pl.loses(&f)
	pl.follow(s, d, n, end, cancel, done)
}

// follow plays what the decision after attempt n allows. Its waits count from
// end.
func (pl *player) follow(s invariants.Series, d invariants.Decision, n int, end, cancel time.Duration, done bool) {
	if d.Do != invariants.Go {
		pl.stop(n, d.Reason)
		if pl.lost && d.Reason == trace.ReasonSuccess {
			pl.stop(n, trace.ReasonPartial) // the last request was a success, the batch was none
		}
	}
	if d.Do == invariants.Stop {
		return
	}
	pl.attempt(s, n+1, end+d.Lo, cancel, done)
	if d.Hi != d.Lo {
		for _, t := range pl.changes(end+d.Lo, end+d.Hi) {
			pl.attempt(s, n+1, t, cancel, done)
		}
		pl.attempt(s, n+1, end+d.Hi, cancel, done)
	}
}

// crash plays the crash that the fault plans, and reports whether it comes
// before the action is over.
func (pl *player) crash(s *invariants.Series, f *Fault, o trace.Outcome, n int, at, end time.Duration, done bool) bool {
	crash := at + f.Crash
	up := crash + pl.plan.downtime()
	if pl.p.Restart == invariants.RestartUndeclared {
		return false
	}
	if crash < end {
		done = done || f.Done || f.class() == trace.OK && end <= up
		if done && pl.p.Reconcile && pl.p.Restart == invariants.RestartResumes {
			pl.stop(n, trace.ReasonSuccess) // the program asks, and is told that it is done
			return true
		}
		pl.follow(*s, s.Lost(up), n, up, pl.cancel, done)
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
	pl.follow(*s, s.Resumed(o, end, up), n, end, pl.cancel, done)
	return true
}

// loses reports whether the fault fails an item in a way that is not retried.
func (pl *player) loses(f *Fault) bool {
	return slices.ContainsFunc(f.Items.List(), func(it trace.Item) bool { return !pl.p.Retries(it.Class) })
}

// outcome is what the caller sees of the fault, and when.
func (pl *player) outcome(f *Fault, at, cancel time.Duration) (trace.Outcome, time.Duration) {
	end := never
	if !f.Hang {
		end = at + f.Latency
	}
	limit, class := pl.limit(at, cancel)
	if end > limit {
		return trace.Outcome{Class: class}, limit
	}
	o := trace.Outcome{Class: f.class(), Hint: f.Hint, Items: f.Items}
	if f.Hint > 0 {
		o.Slack = f.hint().Slack()
	}
	return o, end
}

// limit is the first instant at which the caller's side ends an attempt.
func (pl *player) limit(at, cancel time.Duration) (time.Duration, trace.Class) {
	limit := never
	if pl.p.Attempt > 0 {
		limit = at + pl.p.Attempt
	}
	if pl.plan.Deadline > 0 {
		limit = min(limit, pl.plan.Deadline)
	}
	if pl.p.Budget > 0 && pl.p.BudgetCuts {
		limit = min(limit, pl.p.Budget)
	}
	if cancel < limit {
		return cancel, trace.Cancelled
	}
	return limit, trace.Timeout
}

func (pl *player) stop(n int, r trace.Reason) {
	pl.e.Least, pl.e.Most = min(pl.e.Least, n), max(pl.e.Most, n)
	if !slices.Contains(pl.e.Reasons, r) {
		pl.e.Reasons = append(pl.e.Reasons, r)
	}
}
