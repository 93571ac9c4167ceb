package invariants

import (
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// An Invariant is a rule that every trace must keep. It is a pure value: its
// check reads a trace and touches nothing else, so it may run concurrently.
type Invariant struct {
	Name  string // stable, in kebab case: "same-arguments"
	Rule  string // the rule in a sentence
	Check func(*trace.Trace) Verdict
}

// A Verdict is what a check found. Applied counts how often the rule could
// have been broken; where it is 0 the check has said nothing about the trace.
type Verdict struct {
	Applied  int
	Findings []Finding
}

// A Finding is one broken rule.
type Finding struct {
	Invariant string // name of the invariant
	Action    string // name of the action; empty: the only, undeclared one
	Text      string // what happened, with numbers; useful alone
	Advice    string // what to look at or do
	Events    []int  // indices of the events that show it, in order
}

// Find checks the invariants in their order and returns what is broken. It is
// the engine; [Verify] is the door for tests.
func Find(tr *trace.Trace, invs ...Invariant) []Finding {
	var found []Finding
	for i := range invs {
		found = append(found, invs[i].Check(tr).Findings...)
	}
	return found
}

// Applied counts, for each invariant by name, how often it could have been
// broken by the trace.
func Applied(tr *trace.Trace, invs ...Invariant) map[string]int {
	counts := make(map[string]int, len(invs))
	for i := range invs {
		counts[invs[i].Name] += invs[i].Check(tr).Applied
	}
	return counts
}

// report adds a finding. Events may be given in any order; -1 is left out.
func (v *Verdict) report(a *trace.Action, text, advice string, events ...int) {
	events = slices.DeleteFunc(slices.Clone(events), func(i int) bool { return i < 0 })
	slices.Sort(events)
	v.Findings = append(v.Findings, Finding{Action: a.Name, Text: text, Advice: advice, Events: slices.Compact(events)})
}

// rule makes an invariant out of a function that looks at one action.
func rule(name, text string, look func(v *Verdict, tr *trace.Trace, a *trace.Action)) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		for i := range actions {
			look(&v, tr, &actions[i])
		}
		for i := range v.Findings {
			v.Findings[i].Invariant = name
		}
		return v
	}}
}

// seriesRule makes an invariant out of a function that looks at one series.
func seriesRule(name, text string, look func(v *Verdict, a *trace.Action, s *trace.Series)) Invariant {
	return rule(name, text, func(v *Verdict, _ *trace.Trace, a *trace.Action) {
		for i := range a.Series {
			look(v, a, &a.Series[i])
		}
	})
}
