package faultsim

import (
	"time"

	"pgregory.net/rapid"
)

// calm lets the faults of a schedule stop now and then, and puts actions behind them,
// with pauses around the times after which the code has to work again. It comes last,
// so that no other draw depends on it.
func (d *drawer) calm(t *rapid.T, s *Schedule) {
	if d.stormy || d.mortal(s) || !oneIn(t, 3) {
		return
	}
	s.Calm = d.calmAt(t)
	if d.single {
		return
	}
	for range 1 + below(t, 3) {
		s.Actions = append(s.Actions, Plan{After: d.recess(t), Faults: map[string][]Fault{}})
	}
}

// mortal reports whether a process dies in the schedule: what it leaves behind is judged
// without a calm.
func (d *drawer) mortal(s *Schedule) bool {
	for i := range s.Actions {
		if s.Actions[i].deaths() > 0 {
			return true
		}
	}
	return false
}

// calmAt draws the instant: within the first action, or some actions later.
func (d *drawer) calmAt(t *rapid.T) time.Duration {
	at := d.moment(t)
	if coin(t) {
		at *= 8
	}
	return at.Truncate(10) + 17 // apart from what tools and callers do; see odd
}

// recess draws a pause before an action: short, or around a time for which the code
// may hold an outage against the tool.
func (d *drawer) recess(t *rapid.T) time.Duration {
	times := []time.Duration{time.Millisecond, d.moment(t), d.p.Budget}
	for i := range d.guards {
		times = append(times, d.guards[i].Cooldown)
	}
	if d.breaker != nil && len(d.guards) == 0 { // one of several
		times = append(times, d.breaker.Cooldown)
	}
	if d.cache != nil {
		times = append(times, d.cache.FailureTTL)
	}
	around := [...]time.Duration{10, -20, time.Second}[below(t, 3)]
	return max(times[below(t, len(times))]+around, 0).Truncate(10) + 20
}
