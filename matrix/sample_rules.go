package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// rules are those of Hard, behind what no code may do whatever drives it.
func (p *player) rules(c invariants.Contract) []invariants.Invariant {
	list := []invariants.Invariant{invariants.NoPanic(), invariants.NoSpin(), invariants.Returns()}
	for _, inv := range p.Hard(c) {
		if !slices.ContainsFunc(list, func(have invariants.Invariant) bool { return have.Name == inv.Name }) {
			list = append(list, inv)
		}
	}
	return list
}

// toTheNanosecond are the rules that compare instants exactly, as virtual time
// keeps them. In real time a timer is late, and code that is right breaks them.
var toTheNanosecond = []string{
	"waits-in-window", "no-first-delay", "no-last-delay", "within-deadline", "within-budget",
	"ends-at-cancel", "cancel-reaches-tool", "whole-attempt", "hedged", "circuit-breaker",
	"observer-neutral", "conforms",
}

// rulesOfRecorded are those of Hard, else what the contract implies and can be seen
// in real time.
func (p *player) rulesOfRecorded(c invariants.Contract) []invariants.Invariant {
	if p.Hard != nil {
		return p.rules(c)
	}
	return slices.DeleteFunc(c.Invariants(), func(inv invariants.Invariant) bool { return slices.Contains(toTheNanosecond, inv.Name) })
}

// find judges a trace by the user's rules, whose panic is an error, and notes
// which of them it could have broken.
func (p *player) find(tr *trace.Trace, rules []invariants.Invariant) (found []invariants.Finding, err error) {
	name := ""
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("matrix: the rule %q panicked: %v: it must be able to read every trace, also one without attempts", name, r)
		}
	}()
	for _, inv := range rules {
		name = inv.Name
		v := inv.Check(tr)
		p.applied[name] += v.Applied
		for _, f := range v.Findings {
			f.Invariant = name
			found = append(found, f)
		}
	}
	return found, nil
}

// idle are the rules that no sample could have broken.
func (p *player) idle() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.applied)), func(name string) bool { return p.applied[name] > 0 })
}

// validateHard reports a Hard that holds the variant to nothing.
func (p *player) validateHard(v *Variant, c invariants.Contract) (err error) {
	if p.Hard == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("matrix: Hard panicked for variant %q: %v", v.Name, r)
		}
	}()
	list := p.Hard(c)
	if len(list) == 0 {
		return fmt.Errorf("matrix: Hard returned no rule for variant %q: name what every sample must keep, or leave Hard out for all that the contract implies", v.Name)
	}
	for i, inv := range list {
		if inv.Name == "" || inv.Check == nil {
			return fmt.Errorf("matrix: Hard returned a rule without Name or Check for variant %q, the one at index %d: give it both", v.Name, i)
		}
	}
	return nil
}
