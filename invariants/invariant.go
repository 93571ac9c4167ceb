package invariants

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rehearse-go/rehearse/trace"
)

// An Invariant is a rule that every trace must keep. It is a pure value: its
// check reads a trace and touches nothing else, so it may run concurrently.
// Make your own as a literal. The zero Invariant checks nothing, and [Verify]
// says so.
type Invariant struct {
	Name  string                     // stable, in kebab case: "same-arguments"
	Rule  string                     // the rule in a sentence
	Check func(*trace.Trace) Verdict // never called with a nil trace by this package

	idles bool // see WhereItApplies
}

// WhereItApplies is inv, with leave to say nothing: [Verify] does not complain
// where the trace has nothing that could break it. Use it for a set of rules
// over many different traces; those of [Policy.Invariants] have it. A test of one
// situation is better off without.
func WhereItApplies(inv Invariant) Invariant {
	inv.idles = true
	return inv
}

// MayIdle reports whether the invariant has leave to say nothing, by [WhereItApplies].
func (inv Invariant) MayIdle() bool { return inv.idles }

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
	Advice    string // what to look at or do; empty: none
	Events    []int  // indices of the events that show it, in order
	Detail    string // lines that show more, such as two lists beside each other; empty: none
}

// Find checks the invariants in their order and returns what is broken; nil
// where nothing is. It is the engine; [Verify] is the door for tests. A nil
// trace and an invariant without a check are findings, not panics.
func Find(tr *trace.Trace, invs ...Invariant) []Finding {
	var found []Finding
	for i := range invs {
		found = append(found, invs[i].look(tr).Findings...)
	}
	return found
}

// Applied counts, for each invariant by name, how often it could have been
// broken by the trace.
func Applied(tr *trace.Trace, invs ...Invariant) map[string]int {
	counts := make(map[string]int, len(invs))
	for i := range invs {
		counts[invs[i].Name] += invs[i].look(tr).Applied
	}
	return counts
}

// look runs the check, where there is something to run it on.
func (inv *Invariant) look(tr *trace.Trace) Verdict {
	switch {
	case inv.Check == nil:
		return broken(inv.Name, "the invariant has no check, so it can find nothing", "set Check, or use one of the package's own")
	case tr == nil:
		return broken(inv.Name, "there is no trace: nothing was recorded", "hand over what Recorder.Trace or the double's Trace returns, after the action has run")
	}
	return inv.Check(tr)
}

func broken(name, text, advice string) Verdict {
	return Verdict{Applied: 1, Findings: []Finding{{Invariant: name, Text: text, Advice: advice}}}
}

// unsound is the rule of a contract that contradicts itself: a finding on every
// trace, since nothing can be judged by it.
func unsound(name string, err error) Invariant {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Invariant{Name: name, Rule: "what is declared makes sense", Check: func(*trace.Trace) Verdict {
		return broken(name, oneLine(first), "mend what is declared first; its Validate lists all that is wrong with it")
	}}
}

// report adds a finding. Events may be given in any order; -1 is left out.
func (v *Verdict) report(a *trace.Action, text, advice string, events ...int) {
	events = slices.DeleteFunc(slices.Clone(events), func(i int) bool { return i < 0 })
	slices.Sort(events)
	v.Findings = append(v.Findings, Finding{Action: a.Name, Text: oneLine(text), Advice: advice, Events: slices.Compact(events)})
}

// oneLine is the text with what does not print written as Go would write it:
// names, arguments and errors in a finding come from the program and its tools,
// and none of them may pass for a line of the report.
func oneLine(text string) string {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// add takes over what a look at one action has found. Looks return their
// verdict instead of filling this one, so that it stays on the stack: judging
// a trace in which nothing is wrong allocates nothing.
func (v *Verdict) add(name string, w Verdict) {
	v.Applied += w.Applied
	for i := range w.Findings {
		w.Findings[i].Invariant = name
	}
	if len(w.Findings) > 0 {
		v.Findings = append(v.Findings, w.Findings...)
	}
}

// rule makes an invariant out of a function that looks at one action.
func rule(name, text string, look func(tr *trace.Trace, a *trace.Action) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		for i := range actions {
			v.add(name, look(tr, &actions[i]))
		}
		return v
	}}
}

// sceneRule is rule for what also depends on calls that are no attempts.
func sceneRule(name, text string, look func(sc scene, a *trace.Action) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions, sc := tr.Actions(), lookAt(tr)
		for i := range actions {
			v.add(name, look(sc, &actions[i]))
		}
		return v
	}}
}

// seriesRule makes an invariant out of a function that looks at one series.
func seriesRule(name, text string, look func(a *trace.Action, s *trace.Series) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		for i := range actions {
			a := &actions[i]
			for s := range a.Series {
				v.add(name, look(a, &a.Series[s]))
			}
		}
		return v
	}}
}
