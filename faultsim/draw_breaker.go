package faultsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// drawnAtOnce is how many actions run at once in most drawn schedules.
const drawnAtOnce = 3

// breakerActions is how many actions a schedule for a breaker has at most.
const breakerActions = 12

// guards are the adapter's breakers.
func (a *Adapter) guards() []invariants.Breaker {
	if a.Breaker != nil {
		return []invariants.Breaker{*a.Breaker}
	}
	return a.Breakers
}

// validateBreakers reports what makes the breakers unusable.
func (a *Adapter) validateBreakers() error {
	if a.Breaker != nil && len(a.Breakers) > 0 {
		return fmt.Errorf("adapter %q: there is a Breaker and there are Breakers: put them into one list, each with its Tool", a.Name)
	}
	by := a.guards()
	seen := map[string]bool{}
	for i := range by {
		b := &by[i]
		if err := b.Validate(); err != nil {
			return fmt.Errorf("adapter %q: %w", a.Name, err)
		}
		if a.Breaker == nil && (b.Tool == "" || seen[b.Tool]) {
			return fmt.Errorf("adapter %q: Breakers[%d] has the Tool %q: name the tool that it guards, each once", a.Name, i, b.Tool)
		}
		seen[b.Tool] = true
		for _, d := range [...]struct {
			field string
			value time.Duration
		}{{"Cooldown", b.Cooldown}, {"Lease", b.Lease}} {
			if d.value > longestPromise {
				return fmt.Errorf("adapter %q: breaker: %s is %v, and a trial plays %v at most: build the code with a shorter one in Subject", a.Name, d.field, d.value, longestPromise)
			}
		}
		for _, n := range [...]struct {
			field string
			value int
		}{{"Consecutive", b.Consecutive}, {"Probes", b.Probes}, {"Successes", b.Successes}} {
			if n.value > mostCounted {
				return fmt.Errorf("adapter %q: breaker: %s is %d, and a trial counts to %d at most: build the code with a smaller one in Subject", a.Name, n.field, n.value, mostCounted)
			}
		}
	}
	if len(by) > 0 && a.Reason == nil {
		return fmt.Errorf("adapter %q: there is a Breaker and Reason is nil: say which error is the breaker's refusal, trace.ReasonBreakerOpen", a.Name)
	}
	return nil
}

// guards reports which tool of the breakers is not on the stage; nil: none.
func (s *Stage) guards(by []invariants.Breaker) error {
	for i := range by {
		for _, d := range [...]struct{ field, tool string }{{"Tool", by[i].Tool}, {"Fallback", by[i].Fallback}} {
			if d.tool == Main || d.tool != "" && s.lookup(d.tool) == nil {
				return fmt.Errorf("faultsim: breaker: %s is %q, the stage has %s: correct the name, or leave it empty", d.field, d.tool, s.names())
			}
		}
	}
	return nil
}

// forBreaker draws a schedule that takes a breaker through its states: streaks of
// actions that fail, or that a caller leaves, pauses around the cooldown, and
// recovery. In turn, or at once, where a pause brings the actions behind it to
// a breaker that the ones before it have opened.
func (d *drawer) forBreaker(t *source) Schedule {
	if len(d.guards) > 1 { // one of them comes under strain
		one := *d
		one.breaker, one.guards = &d.guards[below(t, len(d.guards))], nil
		return one.forBreaker(t)
	}
	s := Schedule{Actions: make([]Plan, 4+below(t, breakerActions-3))}
	mood := below(t, 4)
	for i := range s.Actions {
		if i > 0 && oneIn(t, 2) {
			mood = below(t, 4)
		}
		s.Actions[i] = d.strain(t.nth(i), mood)
		if i > 0 && oneIn(t, 2) {
			s.Actions[i].After = d.pause(t)
		}
	}
	s.AtOnce = oneIn(t, 2)
	if d.breaker.Lease > 0 && coin(t) {
		return d.clinging(t)
	}
	if s.AtOnce && d.opens() <= 2*breakerActions && oneIn(t, 2) {
		return d.overtaken(t)
	}
	d.calm(t.of("calm"), &s)
	return s
}

// clinging draws callers at once that open the breaker, a probe that hangs, and
// callers before and behind the end of its lease.
func (d *drawer) clinging(t *source) Schedule {
	b := d.breaker
	s := Schedule{AtOnce: true, Actions: d.opening(t)}
	callers, name := len(s.Actions), d.guarded()
	hang := Plan{After: (2 * b.Cooldown).Truncate(10) + 10, Faults: map[string][]Fault{name: {{Hang: true}}}}
	s.Actions = append(s.Actions, hang,
		Plan{After: b.Lease.Truncate(10)/2 + 10, Faults: map[string][]Fault{}},
		Plan{After: b.Lease.Truncate(10)/2 + 20, Faults: map[string][]Fault{}})
	if d.p.Attempt == 0 { // nothing else ends it
		s.Actions[callers].Deadline = odd(2 * b.Lease)
	}
	return s
}

// overtaken draws a call that is answered when the ones behind it have opened the
// breaker, and a caller who comes then.
func (d *drawer) overtaken(t *source) Schedule {
	slow := min(d.latency(t), d.breaker.Cooldown/4).Truncate(10) + 70
	first := Plan{Faults: map[string][]Fault{d.guarded(): {{Latency: slow}}}}
	last := Plan{After: slow + 10, Faults: map[string][]Fault{}}
	return Schedule{AtOnce: true, Actions: slices.Concat([]Plan{first}, d.opening(t), []Plan{last})}
}

// opening draws callers at once whose failures open the breaker.
func (d *drawer) opening(t *source) (plans []Plan) {
	for n := range d.opens() {
		plans = append(plans, d.failing(t.nth(n)))
	}
	return plans
}

// opens is how many failures open the breaker, where nothing else comes between.
func (d *drawer) opens() int {
	if n := max(d.breaker.Consecutive, d.breaker.Least); n > 0 {
		return n
	}
	return d.breaker.Window
}

// guarded is the tool that the breaker guards.
func (d *drawer) guarded() string {
	if d.breaker.Tool != "" {
		return d.breaker.Tool
	}
	return d.tools[0].name
}

// strain draws an action for a breaker: one that fails throughout, one whose
// caller leaves it in flight, one of any kind, one that is answered.
func (d *drawer) strain(t *source, mood int) Plan {
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
func (d *drawer) failing(t *source) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	for i := range d.tools {
		tool := &d.tools[i]
		list := d.counted(tool)
		if d.breaker.Tool != "" && tool.name != d.breaker.Tool || len(list) == 0 {
			continue
		}
		own := t.double(tool.name)
		f := list[below(own, len(list))]
		if !f.Hang && coin(own) {
			f.Latency = d.latency(own)
		}
		p.Faults[tool.name] = slices.Repeat([]Fault{f}, tool.usedUp())
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
func (d *drawer) leave(t *source, p *Plan) {
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
func (d *drawer) pause(t *source) time.Duration {
	c := d.breaker.Cooldown
	return [...]time.Duration{c + 10, c / 2, c - 20, 2*c + 10, c + c/4, time.Millisecond}[below(t, 6)].Truncate(10) + 10
}
