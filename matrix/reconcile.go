package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// reconciles widens an expectation by what asking can bring: an action that
// asked what became of an attempt, and was answered, may know of a success
// where the attempts alone leave the outcome unknown.
func reconciles(tr *trace.Trace, e faultsim.Expectation) faultsim.Expectation {
	if !slices.Contains(e.Reasons, trace.ReasonOutcomeUnknown) || slices.Contains(e.Reasons, trace.ReasonSuccess) || !asked(tr) {
		return e
	}
	e.Reasons = append([]trace.Reason{trace.ReasonSuccess}, e.Reasons...)
	return e
}

// asked reports whether the first action has asked and was answered.
func asked(tr *trace.Trace) bool {
	actions, open := tr.Actions(), map[int]bool{}
	for i := range tr.Events {
		switch e := &tr.Events[i]; {
		case len(actions) == 0 || e.Action != actions[0].Name:
		case e.Kind == trace.KindCall && e.Role == trace.RoleReconcile:
			open[e.Call] = true
		case e.Kind == trace.KindAnswer && open[e.Call] && e.Outcome.Class == trace.OK:
			return true
		}
	}
	return false
}
