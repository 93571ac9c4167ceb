package faultsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// drawnAtOnce is how many actions run at once in most drawn schedules.
const drawnAtOnce = 3

// breakerActions is how many actions a schedule for a breaker has at most.
const breakerActions = 12

// validateBreaker reports what makes the breaker unusable.
func (a *Adapter) validateBreaker() error {
	if err := a.Breaker.Validate(); err != nil {
		return fmt.Errorf("adapter %q: %w", a.Name, err)
	}
	if a.Breaker.Cooldown > longestTime {
		return fmt.Errorf("adapter %q: breaker: Cooldown is %v: a trial plays a year (%v) at most", a.Name, a.Breaker.Cooldown, longestTime)
	}
	if a.Reason == nil {
		return fmt.Errorf("adapter %q: there is a Breaker and Reason is nil: say which error is the breaker's refusal, trace.ReasonBreakerOpen", a.Name)
	}
	return nil
}

// guards reports which tool of the breaker is not on the stage; nil: none.
func (s *Stage) guards(b *invariants.Breaker) error {
	if b == nil {
		return nil
	}
	for _, d := range [...]struct{ field, tool string }{{"Tool", b.Tool}, {"Fallback", b.Fallback}} {
		if d.tool == Main || d.tool != "" && s.lookup(d.tool) == nil {
			return fmt.Errorf("faultsim: breaker: %s is %q, the stage has %s: correct the name, or leave it empty", d.field, d.tool, s.names())
		}
	}
	return nil
}

// forBreaker draws a schedule that takes a breaker through its states: streaks of
// actions that fail, or that a caller leaves, pauses around the cooldown, and
// recovery. In turn, or at once, where a pause brings the actions behind it to
// a breaker that the ones before it have opened.
func (d *drawer) forBreaker(t *rapid.T) Schedule {
	s := Schedule{Actions: make([]Plan, 4+below(t, breakerActions-3))}
	mood := below(t, 4)
	for i := range s.Actions {
		if i > 0 && oneIn(t, 2) {
			mood = below(t, 4)
		}
		s.Actions[i] = d.strain(t, mood)
		if i > 0 && oneIn(t, 2) {
			s.Actions[i].After = d.pause(t)
		}
	}
	s.AtOnce = oneIn(t, 2)
	return s
}

// strain draws an action for a breaker: one that fails throughout, one whose
// caller leaves it in flight, one of any kind, one that is answered.
func (d *drawer) strain(t *rapid.T, mood int) Plan {
	switch mood {
	case 0, 1:
		p := d.failing(t)
		if mood == 1 && oneIn(t, 1) {
			d.leave(t, &p)
		}
		return p
	case 2:
		return d.plan(t)
	}
	return Plan{Faults: map[string][]Fault{}}
}

// failing draws an action whose guarded tools fail at every attempt, with a
// failure of one kind that the breaker counts.
func (d *drawer) failing(t *rapid.T) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	for i := range d.tools {
		tool := &d.tools[i]
		list := d.counted(tool)
		if d.breaker.Tool != "" && tool.name != d.breaker.Tool || len(list) == 0 {
			continue
		}
		f := list[below(t, len(list))]
		if !f.Hang && coin(t) {
			f.Latency = d.latency(t)
		}
		p.Faults[tool.name] = slices.Repeat([]Fault{f}, max(1, min(tool.most, 16)))
	}
	return p
}

// counted lists the tool's failures that the breaker counts.
func (d *drawer) counted(tool *drawnTool) []Fault {
	return slices.DeleteFunc(slices.Concat(tool.retried, tool.refused), func(f Fault) bool {
		c := f.class()
		if f.Hang {
			c = trace.Timeout
		}
		return !d.breaker.Fails(c)
	})
}

// leave makes the caller go while the first attempt of the main tool is in
// flight, by a cancel or by its deadline.
func (d *drawer) leave(t *rapid.T, p *Plan) {
	name := d.tools[0].name
	p.Faults[name] = []Fault{{Latency: time.Duration(100+below(t, 156))*time.Millisecond + 70}}
	at := odd(time.Duration(1+below(t, 90))*time.Millisecond + 10)
	if coin(t) {
		p.Deadline = at
	} else {
		p.Faults[name][0].Cancel = at
	}
}

// pause draws a pause: within the cooldown, just before and behind its end, or
// far behind it.
func (d *drawer) pause(t *rapid.T) time.Duration {
	c := d.breaker.Cooldown
	return [...]time.Duration{c + 10, c / 2, c - 20, 2*c + 10, c + c/4, time.Millisecond}[below(t, 6)].Truncate(10) + 10
}
