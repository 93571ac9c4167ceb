package faultsim

import (
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// drain plays the drain that the fault plans, and reports whether it comes before
// the action is over. A program may cut off what is under way, at once or at the
// last moment, or wait for the answer in its grace; it may hand back at once too
// or at the end of it.
func (pl *player) drain(s invariants.Series, f *Fault, o trace.Outcome, t turn, end time.Duration) bool {
	told := t.at + f.Drain
	killed := told + pl.plan.grace()
	t.cancel = pl.cancel
	switch {
	case pl.p.Restart == invariants.RestartUndeclared:
		return false
	case f.Crash > 0:
		pl.open = true // one of the two comes first, or they come one after the other
		return true
	case told < end:
		pl.cutOff(s, f, t, told, end)
		if end <= killed {
			pl.handsBack(s, f, o, t, end, killed)
		} else {
			pl.kill(s, f, t, killed, end)
		}
		return true
	}
	next := s
	switch d := next.Next(o, end); {
	case d.Do == invariants.Stop && d.EndHi < told:
		return false // it is over
	case told-end >= d.Lo || d.Do == invariants.Either:
		pl.open = true // the next attempt may have begun
		return true
	}
	for _, stopped := range []time.Duration{told, killed} {
		up := stopped + pl.plan.downtime()
		resumed := s
		pl.follow(resumed, resumed.Resumed(o, end, up), pl.anew(t, up), end)
	}
	return true
}

// cutOff plays a program that cuts its attempt off at the signal. The tool may hear
// of it, and not do its work any more, or be left at work.
func (pl *player) cutOff(s invariants.Series, f *Fault, t turn, told, end time.Duration) {
	up := told + pl.plan.downtime()
	t = pl.anew(t, up)
	left := t
	if pl.asked(f, &left, end, up) && (f.Done || t.done) {
		return
	}
	t.done = t.done || f.Done
	pl.follow(s, s.Drained(up), t, up)
}

// kill plays a program that lets its attempt go on to the end of the grace, and
// cuts it off then or is killed under it.
func (pl *player) kill(s invariants.Series, f *Fault, t turn, killed, end time.Duration) {
	pl.cutOff(s, f, t, killed, end)
	up := killed + pl.plan.downtime()
	if t = pl.anew(t, up); pl.asked(f, &t, end, up) {
		return
	}
	pl.follow(s, s.Lost(up), t, up)
}

// handsBack plays a program that waits for the answer, and hands back what it does
// not end.
func (pl *player) handsBack(s invariants.Series, f *Fault, o trace.Outcome, t turn, end, killed time.Duration) {
	t.done = t.done || f.Done
	ends := s
	if d := ends.Next(o, end); d.Do == invariants.Stop {
		pl.follow(ends, d, t, end)
		return
	}
	for _, stopped := range []time.Duration{end, killed} {
		up := stopped + pl.plan.downtime()
		resumed := s
		pl.follow(resumed, resumed.Resumed(o, end, up), pl.anew(t, up), end)
	}
}

// asked reports whether the next process learns, by asking, that what was under way
// was done by the time at which it is up, and plays that.
func (pl *player) asked(f *Fault, t *turn, end, up time.Duration) bool {
	t.done = t.done || f.Done || f.class() == trace.OK && end <= up
	if !t.done || !pl.p.Reconcile || pl.p.Restart != invariants.RestartResumes {
		return false
	}
	pl.succeed(*t, up)
	return true
}

// anew is the turn in a process that is up at the instant.
func (pl *player) anew(t turn, up time.Duration) turn {
	if pl.p.RestartBudget == invariants.BudgetBeginsAnew {
		t.budget = up
	}
	return t
}
