package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// A Trajectory says which calls are compared with a list of steps, where the
// functions [Exact], [InOrder], [Unordered], [AtLeast], [AtMost] and [Before] do
// not suit as they are. Its methods make the same invariants. The zero Trajectory
// compares every action, and a call with its retries is one step.
//
// A difference is told in time and space of steps times calls; where order is free,
// time is that times the smaller of the two.
type Trajectory struct {
	// Action is the name of the only action that is judged. Empty: every
	// action, each by itself.
	Action string

	// Counted says which attempts are compared. Empty: FinalAttempts.
	Counted Counted

	// Succeeded leaves out the actions that ended with a failure or not at all.
	// Set it where faults are drawn: an action that a failure ends has done
	// only some of the steps, and is right.
	Succeeded bool
}

// Counted says which attempts of an action are calls of its trajectory. Calls of
// another role than trace.RoleAttempt, and hits, never are.
type Counted string

const (
	// FinalAttempts counts a call with all its retries once, as the attempt that
	// settled it: the success, or else the last one. A call that follows a
	// success counts anew, and so does one that a model has asked for anew, where
	// the trace has what the model said or an id of each call. A hedge does not,
	// which is a call with the same arguments while the first is under way.
	FinalAttempts Counted = ""

	// SuccessfulAttempts counts what was answered with trace.OK, and nothing else.
	SuccessfulAttempts Counted = "successful"

	// AllAttempts counts every attempt.
	AllAttempts Counted = "all"
)

// Exact is: the calls of an action are the steps, in their order, and no other
// call is made (EXACT of Google's ADK, trajectory_exact_match of Vertex AI, strict
// of LangChain's agentevals). Without steps it is that no call is made. A step
// that cannot be read is a finding on every trace, as it is for all of these.
func Exact(steps ...StepMatcher) Invariant { return Trajectory{}.Exact(steps...) }

// InOrder is: an action makes the calls of all steps, in their order, and others
// may come before, between and after them (IN_ORDER of Google's ADK,
// trajectory_in_order_match of Vertex AI).
func InOrder(steps ...StepMatcher) Invariant { return Trajectory{}.InOrder(steps...) }

// Unordered is: an action makes the calls of all steps, in any order, and no other
// (unordered of LangChain's agentevals). Two steps are two calls, also where one
// call would do for both; which call is whose is chosen so that most steps have one.
func Unordered(steps ...StepMatcher) Invariant { return Trajectory{}.Unordered(steps...) }

// AtLeast is: an action makes the calls of all steps, in any order, and may make
// others (superset of LangChain's agentevals; ANY_ORDER of Google's ADK and
// trajectory_any_order_match of Vertex AI).
func AtLeast(steps ...StepMatcher) Invariant { return Trajectory{}.AtLeast(steps...) }

// AtMost is: an action makes no call that is none of the steps, and each step at
// most once; it may leave steps out, and the order is free (subset of LangChain's
// agentevals). [AllowedTools] is for tools that may be called any number of times.
func AtMost(steps ...StepMatcher) Invariant { return Trajectory{}.AtMost(steps...) }

// Exact is the function [Exact] for the calls that t speaks of.
func (t Trajectory) Exact(steps ...StepMatcher) Invariant {
	return t.compares(matching{"trajectory-exact", "Exact", true, true, true}, "the calls are the steps, in their order", steps)
}

// InOrder is the function [InOrder] for the calls that t speaks of.
func (t Trajectory) InOrder(steps ...StepMatcher) Invariant {
	return t.compares(matching{"trajectory-in-order", "InOrder", true, true, false}, "each step is called, in their order", steps)
}

// Unordered is the function [Unordered] for the calls that t speaks of.
func (t Trajectory) Unordered(steps ...StepMatcher) Invariant {
	return t.compares(matching{"trajectory-unordered", "Unordered", false, true, true}, "the calls are the steps, in any order", steps)
}

// AtLeast is the function [AtLeast] for the calls that t speaks of.
func (t Trajectory) AtLeast(steps ...StepMatcher) Invariant {
	return t.compares(matching{"trajectory-at-least", "AtLeast", false, true, false}, "each step is called", steps)
}

// AtMost is the function [AtMost] for the calls that t speaks of.
func (t Trajectory) AtMost(steps ...StepMatcher) Invariant {
	return t.compares(matching{"trajectory-at-most", "AtMost", false, false, true}, "each call is a step of its own", steps)
}

// A matching is a way to compare calls with steps.
type matching struct {
	name, method string
	ordered      bool // calls come in the order of the steps
	all          bool // each step needs a call
	only         bool // each call needs a step
}

// compares makes the invariant that compares calls and steps in one of the ways.
func (t Trajectory) compares(m matching, text string, steps []StepMatcher) Invariant {
	steps = slices.Clone(steps)
	if problem := t.problem(m.method, steps); problem != "" {
		return misdeclared(m.name, problem)
	}
	return t.judging(m.name, text, func(a *trace.Action) (v Verdict) {
		c := comparison{matching: m, steps: steps, calls: t.calls(a), open: stillOpen(a)}
		if v.Applied = c.applied(); v.Applied > 0 && !c.holds() {
			c.pair()
			v.diverges(a, &c)
		}
		return v
	})
}

// judging makes an invariant of a function that looks at the actions that t
// speaks of. One during which an ambiguous call came is not judged: the call may
// be the step that is missing.
func (t Trajectory) judging(name, text string, look func(*trace.Action) Verdict) Invariant {
	return sceneRule(name, text, func(sc scene, a *trace.Action) (v Verdict) {
		undeclared := a.BeginAt < 0 && len(a.Attempts) == 0 // events that belong to nothing
		if t.Action != "" && t.Action != a.Name || t.Succeeded && !succeeded(a) || undeclared || sc.unsureOf(a) {
			return v
		}
		return look(a)
	})
}

func succeeded(a *trace.Action) bool {
	return a.Ended && a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess)
}

// stillOpen reports whether the trace stops before the action's end, so that steps
// may follow. One that nobody declared has no end that could be recorded.
func stillOpen(a *trace.Action) bool { return a.BeginAt >= 0 && !a.Ended }

// problem is what is wrong with the declaration; empty: nothing.
func (t Trajectory) problem(method string, steps []StepMatcher) string {
	switch t.Counted {
	case FinalAttempts, SuccessfulAttempts, AllAttempts:
	default:
		return fmt.Sprintf("Counted is %q; say FinalAttempts, SuccessfulAttempts or AllAttempts", string(t.Counted))
	}
	if len(steps) == 0 && method != "Exact" {
		return method + " has no steps: name them, or say Exact() where no call is wanted"
	}
	for i := range steps {
		if problem := steps[i].problem; problem != "" {
			return fmt.Sprintf("step %d, %s: %s", i+1, steps[i].tool, problem)
		}
		if steps[i].tool == "" {
			return fmt.Sprintf(`step %d names no tool: name it as it stands in traces, as in Step("search")`, i+1)
		}
	}
	return ""
}

// misdeclared is the rule of a trajectory that cannot be read.
func misdeclared(name, problem string) Invariant {
	return Invariant{Name: name, Rule: "what is declared makes sense", Check: func(*trace.Trace) Verdict {
		return broken(name, oneLine(problem), "mend the declaration of the trajectory: nothing can be compared with it")
	}}
}
