package faultsim

import (
	"fmt"
	"slices"
)

// turnActions is how many actions a schedule for an escalation has at most.
const turnActions = breakerActions

// validateEscalation reports what makes the escalation unusable.
func (a *Adapter) validateEscalation() error {
	switch n := a.EscalatesAfter; {
	case n < 0:
		return fmt.Errorf("adapter %q: EscalatesAfter is %d: say how many actions in a row may fail, or 0 where nothing is handed on", a.Name, n)
	case n > turnActions-2:
		return fmt.Errorf("adapter %q: EscalatesAfter is %d, and a trial has %d actions at most: build the code with a smaller number in Subject", a.Name, n, turnActions)
	case a.Reason == nil:
		return fmt.Errorf("adapter %q: there is EscalatesAfter and Reason is nil: say which error hands the turn on, trace.ReasonEscalated", a.Name)
	}
	return nil
}

// turn draws actions of which most fail throughout, up to some more than may in a
// row, with a success between them now and then.
func (d *drawer) turn(t *source) Schedule {
	s := Schedule{Actions: make([]Plan, d.row+1+below(t, turnActions-d.row))}
	for i := range s.Actions {
		if !oneIn(t, 2) {
			s.Actions[i] = d.losing(t.nth(i))
		}
	}
	s.AtOnce = oneIn(t, 3)
	return s
}

// losing draws an action that fails: by a refusal, or until its attempts are used up.
func (d *drawer) losing(t *source) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	for i := range d.tools {
		tool := &d.tools[i]
		own := t.double(tool.name)
		list, n := tool.refused, 1
		if len(list) == 0 || len(tool.retried) > 0 && coin(own) {
			list, n = tool.retried, tool.usedUp()
		}
		if len(list) > 0 {
			p.Faults[tool.name] = slices.Repeat([]Fault{list[below(own, len(list))]}, n)
		}
	}
	return p
}
