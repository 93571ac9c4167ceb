package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A walk follows one series of attempts with the policy's automaton:
//
//	for w := p.walk(sc, a, s); w.next(); {
//		… w.step …
//	}
//
// Attempts whose outcome the action did not live to see end it, and so do those
// that ran beside each other under a policy that hedges.
type walk struct {
	step
	p    *Policy // of the series' tool
	all  *Policy // of all tools
	sc   scene
	s    *trace.Series
	auto Series
	i    int

	breaker *Breaker // nil: none is declared
	sink    *Sink    // whose records may hold the action up no longer than it says; nil: as long as they take
}

// A step is one answer, what the policy allows after it, and what followed.
type step struct {
	a     *trace.Action
	at    *trace.Attempt
	then  *trace.Attempt // nil: the series ends here
	last  bool           // at is the action's last attempt
	went  trace.Outcome  // the outcome that the caller went by
	end   time.Duration  // the instant at which it did
	d     Decision
	side  time.Duration // time that calls which are no attempts took before the next one
	held  time.Duration // of it, that of records
	fresh bool          // credentials were fetched before the next attempt

	shared  bool            // an allowance is declared: whether it was used up is judged apart
	crashes []trace.Restart // of the process, before what followed
}

func (p *Policy) walk(sc scene, a *trace.Action, s *trace.Series) walk {
	own := p.Of(s.Tool)
	w := walk{p: own, all: p, sc: sc, s: s, auto: own.Start(own.budgetFrom(a, p.begins(a, s), s.Attempts[0].Event), a.Deadline)}
	if a.Cancelled() {
		w.auto.Cancel(a.Cancel)
	}
	w.a = a
	if len(a.Restarts) > 0 {
		before := attemptBefore(a, s.Attempts[0].Event)
		early := crashesSince(a, before, s.Attempts[0].Event)
		w.auto.phantoms = writes(early)
		if before < 0 && p.Budget > 0 && len(early) > 0 && !own.refills() {
			w.i = len(s.Attempts) // whether it knows when it began is not to be seen
		}
	}
	return w
}

// attemptBefore is the event of the action's latest attempt before an event; -1:
// there is none.
func attemptBefore(a *trace.Action, event int) int {
	before := -1
	for i := range a.Attempts {
		if e := a.Attempts[i].Event; e < event {
			before = max(before, e)
		}
	}
	return before
}

func (w *walk) next() bool {
	if w.i >= len(w.s.Attempts) {
		return false
	}
	at, a := &w.s.Attempts[w.i], w.a
	if w.p.Hedge.on() && hedges(w.s, w.i) {
		return false
	}
	if !at.Seen && !at.Lost || a.Ended && (at.End > a.End || at.Event > a.EndEvent) {
		return false
	}
	w.i++
	w.auto.Began(at.Begin)
	w.at, w.then, w.last = at, nil, at.Event == a.Attempts[len(a.Attempts)-1].Event
	if w.i < len(w.s.Attempts) {
		w.then = &w.s.Attempts[w.i]
	}
	if w.crashes = nil; len(a.Restarts) > 0 {
		w.crashes = crashesSince(a, at.Event, w.until())
	}
	switch {
	case len(w.crashes) > 0:
		return w.crashed()
	case at.Drained && w.p.Restart != RestartUndeclared:
		w.asDrained()
		return true
	case at.Lost:
		return false // the next one began beside it
	case len(w.sc.side) == 0:
		w.decide()
		w.mayInterrupt()
		return true
	}
	before := w.auto
	w.decide()
	w.heldDecide(before)
	w.mayInterrupt()
	return true
}

// until is the event of the next attempt; -1: there is none.
func (w *walk) until() int {
	if w.then == nil {
		return -1
	}
	return w.then.Event
}

// heldDecide asks the automaton once more where records held the action up: it
// may have looked at its limits when they had been written.
func (w *walk) heldDecide(before Series) {
	if w.held == 0 || w.fits() || w.refused() {
		return
	}
	first, after := w.step, w.auto
	w.auto = before
	w.read(first.went, first.end+first.held)
	if !w.fits() && !w.refused() {
		w.step, w.auto = first, after
	}
}

// decide asks the automaton. Where the end of the attempt's context and the
// tool's answer are two things, the code may have gone by either: the reading
// under which it conforms is taken, and the first one where neither does.
func (w *walk) decide() {
	o, at, two := secondReading(w.at)
	if !two {
		w.read(w.at.Outcome, w.at.End)
		return
	}
	before := w.auto
	w.read(w.at.Outcome, w.at.End)
	if w.fits() || w.refused() {
		return
	}
	first, after := w.step, w.auto
	w.auto = before
	w.read(o, at)
	if w.followed() < at || !w.fits() && !w.refused() {
		w.step, w.auto = first, after
	}
}

// secondReading is what else the caller may have gone by: the late answer of a
// tool that ignored its context; or the end of the context, where the answer
// came at that very instant or later and nobody wrote down the interrupt.
func secondReading(at *trace.Attempt) (o trace.Outcome, when time.Duration, two bool) {
	switch {
	case at.Interrupted != 0 && at.AnswerEvent >= 0:
		return at.Answer, at.Answered, true
	case at.Interrupted == 0 && outlived(at):
		return trace.Outcome{Class: trace.Timeout}, at.Deadline, true
	}
	return trace.Outcome{}, 0, false
}

// outlived reports whether the answer came when the attempt's time was over.
func outlived(at *trace.Attempt) bool {
	return at.Deadline != 0 && at.Seen && at.End >= at.Deadline
}

// read takes the outcome for what the caller went by.
func (w *walk) read(o trace.Outcome, at time.Duration) {
	w.went, w.end = o, at
	if w.p.Spend > 0 && len(w.a.Series) > 1 {
		w.shareSpend()
	} else {
		w.d = w.auto.Next(o, at)
	}
	w.side, w.held, w.fresh = 0, 0, false
	if len(w.sc.side) > 0 {
		w.aside()
	}
	if w.then != nil && w.at.Items != "" {
		w.otherChunks()
	}
}

// queued takes out of the wait what was left of a turn that was asked for before
// the answer, as a hedge does that waits at a limiter.
func (w *walk) queued(to time.Duration) {
	for _, c := range w.sc.turns(w.a, w.end) {
		if c.to <= to {
			w.side = max(w.side, c.to-w.end)
		}
	}
}

// aside takes the calls that are no attempts out of the wait: it may begin
// when they have been answered, and fresh credentials need no wait at all. Of
// an end it takes the records out.
func (w *walk) aside() {
	to := w.followed()
	for _, c := range w.sc.between(w.a, w.end, to) {
		if w.then != nil && c.event > w.then.Event {
			break // what came behind the next attempt has not held it up
		}
		switch {
		case c.to > to, w.strict(&c):
		case c.observes():
			w.held = max(w.held, c.to-w.end)
		case w.then != nil:
			w.side = max(w.side, c.to-w.end)
		}
		w.fresh = w.fresh || w.then != nil && c.role == trace.RoleAuth && w.went.Class == trace.Unauthenticated
	}
	if w.then != nil {
		w.queued(to)
	}
	if w.sink != nil {
		w.held = plus(w.held, w.sink.holds(&w.sc, w.a, w.end, to))
	}
	w.side = max(w.side, w.held)
	if w.then != nil && w.p.Refresh.Shared && w.p.mends(w.went.Class) {
		w.side = max(w.side, w.sc.shared(w.end, w.then.Begin))
	}
}

// strict reports whether the call is a record whose time is limited.
func (w *walk) strict(c *sideCall) bool {
	return w.sink != nil && c.observes() && c.tool == w.sink.Name
}

// shared is the time until the last refresh of any action between two instants
// was answered: whoever shares it waits for it.
func (sc *scene) shared(from, to time.Duration) (side time.Duration) {
	for _, calls := range sc.side {
		for _, c := range calls {
			if c.role == trace.RoleAuth && c.to >= from && c.to <= to {
				side = max(side, c.to-from)
			}
		}
	}
	return side
}

// followed is the instant of what came next: an attempt or the action's end.
func (s *step) followed() time.Duration {
	if s.then != nil {
		return s.then.Begin
	}
	return s.a.End
}

// fits reports whether what followed is what the decision allows.
func (s *step) fits() bool {
	if s.then != nil {
		return s.d.Do != Stop && s.inWindow(s.wait())
	}
	if s.d.Do == Go {
		return false
	}
	return !s.a.Ended || !s.last || s.a.End >= s.d.EndLo && s.a.End <= plus(s.d.EndHi, s.side) && s.agreed()
}

// agreed reports whether the reason that the program gives is a true one. A
// success said or due is the business of [HonestEnding].
func (s *step) agreed() bool {
	said := s.a.Reason
	return said == 0 || s.shared && said == trace.ReasonBudget || s.d.Allows(said) || said == trace.ReasonSuccess || s.d.Reason == trace.ReasonSuccess
}

func (s *step) inWindow(wait time.Duration) bool {
	return wait >= s.lo() && wait <= plus(s.d.Hi, s.side)
}

func (s *step) lo() time.Duration {
	if s.fresh {
		return 0
	}
	return s.d.Lo
}

// wait is the time until the next attempt. Where a sleeper that does not sleep
// was asked for the wait, what was asked for counts.
func (s *step) wait() time.Duration {
	gap := s.then.Begin - s.end
	if s.then.Slept && gap >= 0 && gap < s.lo() {
		return max(gap, s.then.Planned)
	}
	return gap
}

// evidence lists the events that show the step.
func (s *step) evidence() (answer, after int) {
	answer = s.at.AnswerEvent
	if answer < 0 {
		answer = s.at.Event
	}
	if s.then != nil {
		return answer, s.then.Event
	}
	return answer, s.a.EndEvent
}
