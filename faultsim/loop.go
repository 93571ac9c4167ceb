package faultsim

import (
	"errors"
	"fmt"
)

// loopTurnsMost bounds the turns of a contract, since a trial plays them.
const loopTurnsMost = 1000

// validateLoop reports what makes the contract of a loop unusable.
func (a *Adapter) validateLoop() error {
	if a.Loop == nil {
		return nil
	}
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("adapter %q: %s", a.Name, fmt.Sprintf(format, args...)))
	}
	if err := a.Loop.Validate(); err != nil {
		complain("%v", err)
	}
	if a.Loop.Turns > loopTurnsMost {
		complain("Loop.Turns is %d, and a trial plays %d at most: build the loop with a smaller bound in Subject", a.Loop.Turns, loopTurnsMost)
	}
	if a.served != nil || a.Pages > 0 || a.Spreads || a.EscalatesAfter > 0 || a.Cache != nil || a.Allowance != nil || len(a.Allowed) > 0 {
		complain("there is a Loop, and Served, Pages, Spreads, EscalatesAfter, Cache, Allowance or Allowed, which are about one tool: say it in the Loop, or test the tool's adapter by itself")
	}
	errs = append(errs, playable(&a.Loop.Model))
	return errors.Join(errs...)
}

// loops reports what the contract of a loop says of doubles that are not on the
// stage; nil: nothing.
func (s *Stage) loops() error {
	switch {
	case s.loop == nil && len(s.models) > 0:
		return fmt.Errorf("faultsim: the stage has a model (%s), and the adapter no Loop: declare in Loop what the loop promises", s.describeModels())
	case s.loop == nil:
		return nil
	case len(s.models) == 0:
		return errors.New("faultsim: the adapter has a Loop, and its stage no model: build the loop on Stage.Model in Subject")
	}
	for _, name := range s.loop.Tools {
		if name == Main || s.lookup(name) == nil {
			return fmt.Errorf("faultsim: Loop.Tools names %q, the stage has %s: correct the name, or take it out", name, s.names())
		}
	}
	if g := s.loop.Goal; g != "" && s.lookup(g) == nil {
		return fmt.Errorf("faultsim: Loop.Goal is %q, the stage has %s: correct the name", g, s.names())
	}
	return nil
}
