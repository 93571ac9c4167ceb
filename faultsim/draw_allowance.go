package faultsim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// sharingActions is how many actions a schedule for an allowance has at most.
const sharingActions = breakerActions

// validateAllowance reports what makes the allowance unusable, where so many actions
// can share it.
func (a *Adapter) validateAllowance(actions int) error {
	al := a.Allowance
	if err := al.Validate(); err != nil {
		return fmt.Errorf("adapter %q: %w", a.Name, err)
	}
	if a.Reason == nil {
		return fmt.Errorf("adapter %q: there is an Allowance and Reason is nil: say which error tells that nothing is left, trace.ReasonBudget", a.Name)
	}
	each := min(a.Policy.Most(), 16)
	if a.Policy.Most() == invariants.Unlimited {
		each = 8
	}
	calls, dearest := actions*max(each, 1), 0
	for _, price := range al.Prices {
		dearest = max(dearest, price)
	}
	spent := product(int64(calls), int64(dearest))
	busy := time.Duration(product(int64(calls), int64(max(a.Policy.Attempt, 128*time.Millisecond))))
	switch {
	case al.Calls > calls:
		return fmt.Errorf("adapter %q: allowance: Calls is %d, and a trial makes %d at most, so that its end is never reached: build the code with a smaller one in Subject", a.Name, al.Calls, calls)
	case int64(al.Cost) > spent:
		return fmt.Errorf("adapter %q: allowance: Cost is %d, and a trial spends %d at most, so that its end is never reached: build the code with a smaller one in Subject", a.Name, al.Cost, spent)
	case al.Time > busy/2:
		return fmt.Errorf("adapter %q: allowance: Time is %v, and the tools of a trial are seldom at work for more than %v, so that its end is never reached: build the code with a smaller one in Subject", a.Name, al.Time, busy/2)
	}
	return nil
}

// product is a times b, neither of which is negative, or the greatest number there is.
func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// bounds reports which tool of the allowance is not on the stage; nil: none.
func (s *Stage) bounds(al *invariants.Allowance) error {
	for _, d := range [...]struct {
		field string
		tools []string
	}{{"Tools", al.Tools}, {"Prices", slices.Sorted(maps.Keys(al.Prices))}} {
		for _, name := range d.tools {
			if name == Main || s.lookup(name) == nil {
				return fmt.Errorf("faultsim: allowance: %s names %q, the stage has %s: correct the name, or take it out", d.field, name, s.names())
			}
		}
	}
	return nil
}

// forAllowance draws a schedule that uses up what actions share: some that are
// answered, some that fail throughout and some of any kind, in turn or at once.
func (d *drawer) forAllowance(t *source) Schedule {
	s := Schedule{Actions: make([]Plan, 2+below(t, sharingActions-1))}
	mood := below(t, 4)
	for i := range s.Actions {
		if oneIn(t, 2) {
			mood = below(t, 4)
		}
		s.Actions[i] = d.use(t.nth(i), mood)
	}
	s.AtOnce = coin(t)
	return s
}

// use draws an action that uses of what is shared: all of its attempts, some of
// them, or one, each of which takes its time.
func (d *drawer) use(t *source, mood int) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	if mood == 0 {
		return d.plan(t)
	}
	for i := range d.tools {
		tool := &d.tools[i]
		own := t.double(tool.name)
		var f Fault
		n := 1
		if mood > 1 && len(tool.retried) > 0 {
			f, n = tool.retried[below(own, len(tool.retried))], tool.usedUp()
		}
		if !f.Hang && coin(own) {
			f.Latency = d.latency(own)
		}
		if f != (Fault{}) {
			p.Faults[tool.name] = slices.Repeat([]Fault{f}, n)
		}
	}
	return p
}
