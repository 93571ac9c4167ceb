package faultsim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
)

// governs reports which of the policies of single tools governs none; nil: each
// governs one. The main tool has the adapter's policy, by which rows are made.
func (s *Stage) governs(tools map[string]invariants.Policy) error {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		switch t := s.lookup(name); {
		case name == Main || t == nil:
			return fmt.Errorf("faultsim: Policy.Tools names %q, the stage has %s: correct the name, or take it out", name, s.names())
		case t == s.tools[0]:
			return fmt.Errorf("faultsim: Policy.Tools names %q, which is the main tool, the first on the stage: say its policy in the adapter's Policy itself", name)
		}
	}
	return nil
}

// keyOf is where the keys of all tools travel; empty: nowhere.
func keyOf(p *invariants.Policy) string {
	key := p.Key
	for _, name := range named(p) {
		key = cmp.Or(key, p.Tools[name].Key)
	}
	return key
}

// named lists the tools that have a policy of their own, in a fixed order.
func named(p *invariants.Policy) []string {
	if len(p.Tools) == 0 {
		return nil // most policies, in every trial
	}
	return slices.Sorted(maps.Keys(p.Tools))
}

// mostOf is the highest number of attempts that one of the policies allows.
func mostOf(p *invariants.Policy) int {
	most := p.Most()
	for _, own := range p.Tools {
		most = max(most, own.Most())
	}
	return most
}
