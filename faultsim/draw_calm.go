package faultsim

import (
	"time"
)

// calm lets the faults of a schedule stop now and then, and puts actions behind them,
// with pauses around the times after which the code has to work again. Where the
// adapter declares such a time it does so in half of the schedules. It comes last, so
// that no other draw depends on it.
func (d *drawer) calm(t *source, s *Schedule) {
	if d.stormy || d.mortal(s) || !coin(t) || d.within == 0 && !oneIn(t, 2) {
		return
	}
	s.Calm = d.calmAt(t)
	if d.single {
		return
	}
	pause := d.recess(t)
	steady := coin(t) // at one pace, so that what each of them begins anew never ends
	for range 1 + below(t, d.behind()) {
		s.Actions = append(s.Actions, Plan{After: pause, Faults: map[string][]Fault{}})
		if !steady {
			pause = d.recess(t)
		}
	}
}

// behind is the most actions behind the calm: enough to pass the time that is declared,
// at a pace of a third of it.
func (d *drawer) behind() int {
	if d.within > 0 {
		return 6
	}
	return 3
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
func (d *drawer) calmAt(t *source) time.Duration {
	at := d.moment(t)
	if coin(t) {
		at *= 8
	}
	return min(at, longestTime/2).Truncate(10) + 17 // apart from what tools and callers do; see odd
}

// recess draws a pause before an action: short, or around a time for which the code
// may hold an outage against the tool.
func (d *drawer) recess(t *source) time.Duration {
	times := []time.Duration{time.Millisecond, d.moment(t), d.p.Budget}
	if d.within > 0 {
		times = []time.Duration{time.Millisecond, d.moment(t), d.within, d.within / 2, d.within / 3}
	}
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
