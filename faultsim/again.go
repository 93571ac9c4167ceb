package faultsim

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// againFits reports why the operator's retry that action i may be cannot be
// played; nil: it can.
func (s *Stage) againFits(sched *Schedule, i int) error {
	switch {
	case !sched.Actions[i].Again:
		return nil
	case !s.again:
		return &UnfitError{fmt.Sprintf("action %d is an operator's retry, and the adapter does not say how one is made: declare Again", i+1), i + 1, "", 0}
	case i == 0:
		return errors.New("faultsim: action 1 is an operator's retry of the action before it, and there is none: put an action before it, or clear Again")
	case sched.AtOnce:
		return fmt.Errorf("faultsim: action %d is an operator's retry of an action that has ended: let the actions run in turn, without AtOnce", i+1)
	}
	return nil
}

// retried puts an operator's retry behind one of the actions, soon or a day
// later. What lies before it is mostly a failure: the attempts are used up.
func (d *drawer) retried(t *source, s *Schedule) {
	i := below(t, len(s.Actions))
	if tool := &d.tools[0]; len(tool.retried) > 0 && d.p.MaxAttempts > 0 && coin(t) {
		f := tool.retried[below(t, len(tool.retried))]
		s.Actions[i] = Plan{Faults: map[string][]Fault{tool.name: slices.Repeat([]Fault{f}, min(d.p.MaxAttempts, longest))}}
	}
	p := d.plan(t.nth(i))
	p.Again = true
	p.After = [...]time.Duration{time.Millisecond, 24 * time.Hour}[below(t, 2)]
	s.Actions = slices.Insert(s.Actions, i+1, p)
}
