package faultsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// Together is how many callers fail together where an adapter's jitter must
// spread them.
const Together = 8

// narrowest is the width of a window in which it shows that so many callers all
// wait the same; see [invariants.JitterSpreads].
const narrowest = 20 * time.Millisecond

// validateSpread reports a policy under which callers could not be told apart.
func (a *Adapter) validateSpread() error {
	p := &a.Policy
	if p.Hint.Jitter > 0 {
		return nil
	}
	if p.Backoff.Jitter == (invariants.Jitter{}) {
		return fmt.Errorf("adapter %q: Spreads is set, and the policy has no jitter that could spread anything: set Backoff.Jitter or Hint.Jitter, or clear Spreads", a.Name)
	}
	widest := time.Duration(0)
	for n := 1; n == 1 || n < min(p.Most(), 16); n++ {
		lo, hi := p.Backoff.Window(n, 0)
		widest = max(widest, hi-lo)
	}
	if widest < narrowest {
		return fmt.Errorf("adapter %q: Spreads is set, and the widest window of the backoff is %v, so that %d callers may wait the same by chance: make it %v at least, or clear Spreads", a.Name, widest, Together, narrowest)
	}
	return nil
}

// wave draws callers that all fail together, in the same way, until their
// attempts are used up or some time before.
func (d *drawer) wave(t *source) Schedule {
	one := Plan{Faults: map[string][]Fault{}}
	for i := range d.tools {
		tool := &d.tools[i]
		if len(tool.retried) == 0 {
			continue
		}
		own := t.double(tool.name)
		f := tool.retried[below(own, len(tool.retried))]
		if !f.Hang && len(tool.hints) > 0 && coin(own) {
			hinted := f
			hinted.Hint, hinted.Form = d.hint(own, 1), tool.hints[below(own, len(tool.hints))]
			if tool.can(&hinted) {
				f = hinted
			}
		}
		n := tool.usedUp()
		if coin(own) {
			n = 1 + below(own, n)
		}
		one.Faults[tool.name] = slices.Repeat([]Fault{f}, n)
	}
	s := Schedule{AtOnce: true}
	for range Together {
		s.Actions = append(s.Actions, one.clone())
	}
	return s
}

// clone is the plan with lists of its own.
func (p Plan) clone() Plan {
	faults := make(map[string][]Fault, len(p.Faults))
	for tool, list := range p.Faults {
		faults[tool] = slices.Clone(list)
	}
	p.Faults = faults
	return p
}
