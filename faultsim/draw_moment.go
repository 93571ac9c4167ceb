package faultsim

import (
	"slices"
	"time"
)

// A window is a time of an attempt in which its caller can leave, from its arrival.
type window struct{ from, length time.Duration }

// leaves draws when the caller leaves, at a moment that the action has. Where it has
// none of those that are asked for, the caller stays.
func (d *drawer) leaves(t *source, plan *Plan) {
	c := d.declared.Cancel
	if c.At != nil {
		plan.Cancel = odd(max(1, timeOf(t, c.At)))
		return
	}
	when := c.When
	if len(when) == 0 {
		when = Moments()
	}
	whole, legs := d.course(plan)
	when = slices.DeleteFunc(slices.Clone(when), func(m Moment) bool {
		return m == MomentAnywhere && whole == 0 || m.ofAttempt() && len(m.attempts(legs)) == 0
	})
	if len(when) == 0 {
		return
	}
	switch m := when[below(t, len(when))]; m {
	case MomentBefore:
		plan.Cancel = -1
	case MomentAnywhere:
		plan.Cancel = window{0, whole}.draw(t)
	default:
		attempts := m.attempts(legs)
		n := attempts[below(t, len(attempts))]
		windows := m.windows(legs, n)
		name := d.tools[0].name
		for len(plan.Faults[name]) <= n {
			plan.Faults[name] = append(plan.Faults[name], Fault{})
		}
		plan.Faults[name][n].Cancel = windows[below(t, len(windows))].draw(t)
	}
}

// course is how long the action takes with what its tools and models do, and the
// attempts of its main tool.
func (d *drawer) course(plan *Plan) (whole time.Duration, main []leg) {
	for i := range d.tools {
		legs := d.tools[i].legs(plan.Faults[d.tools[i].name])
		if whole += lasting(legs); i == 0 {
			main = legs
		}
	}
	for i := range d.models {
		whole += lasting(d.models[i].legs(plan.Faults[d.models[i].name]))
	}
	return min(whole, longestDrawn), main
}

// ofAttempt reports whether the moment is one of an attempt.
func (m Moment) ofAttempt() bool { return m != MomentBefore && m != MomentAnywhere }

// attempts are the places of those that have the moment.
func (m Moment) attempts(legs []leg) (list []int) {
	for n := range legs {
		if len(m.windows(legs, n)) > 0 {
			list = append(list, n)
		}
	}
	return list
}

// windows are those of the moment in one of the attempts.
func (m Moment) windows(legs []leg, n int) (list []window) {
	add := func(has bool, from, length time.Duration) {
		if has {
			list = append(list, window{from, length})
		}
	}
	l := &legs[n]
	switch m {
	case MomentInFlight:
		add(l.takes > 0, 0, l.takes)
	case MomentAtAnswer:
		add(l.takes > 1, l.takes-1, 0)
		add(l.on, l.takes+1, 0)
	case MomentInWait:
		add(l.wait > 0, l.takes+1, l.wait)
	case MomentAtNext:
		add(l.wait > 1, l.takes+l.wait-1, 0)
		add(l.wait > 0 && legs[n+1].lives(), l.takes+l.wait+1, 0)
	}
	return list
}

// draw draws an instant of the window.
func (w window) draw(t *source) time.Duration {
	return odd(max(1, w.from+time.Duration(fraction(t)*float64(w.length))))
}
