package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// OneTerminal is: where a program publishes the ends of its actions, each
// action that has ended has exactly one (field cases F040, F044). A program
// that publishes nothing is not judged.
func OneTerminal() Invariant {
	const name = "one-terminal"
	return Invariant{Name: name, Rule: "every action publishes exactly one end", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		if !publishes(actions) {
			return v
		}
		for i := range actions {
			v.add(name, terminals(tr, &actions[i]))
		}
		return v
	}}
}

func terminals(tr *trace.Trace, a *trace.Action) (v Verdict) {
	if !a.Ended && len(a.Published) == 0 {
		return v
	}
	v.Applied++
	switch n := len(a.Published); {
	case n == 0:
		v.report(a, "the action ended and published no end", "publish the end on every way out of the action", a.EndEvent)
	case n > 1 && len(crashesSince(a, a.Published[0], a.Published[n-1])) > 0:
		// It died before it had noted that the end was published.
	case n > 1:
		v.report(a, fmt.Sprintf("the action published %d ends: %v, then %v", n,
			tr.Events[a.Published[0]].Reason, tr.Events[a.Published[n-1]].Reason),
			"let the first end win, and record what comes later as late", a.Published...)
	}
	return v
}

func publishes(actions []trace.Action) bool {
	for i := range actions {
		if len(actions[i].Published) > 0 {
			return true
		}
	}
	return false
}
