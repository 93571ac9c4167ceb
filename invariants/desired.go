package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// states lists the classes that can tell of the state that the action wants:
// it is gone, it is there already, it cannot be done any more.
var states = classSet(trace.NotFound, trace.Conflict, trace.Invalid)

// desires reports whether an answer of class c to a repeat can mean that the
// desired state is reached.
func (p *Policy) desires(c trace.Class) bool { return slices.Contains(p.Desired, c) }

// reached reports whether the outcome means that an earlier attempt, of which
// nobody knew, has reached the desired state.
func (s *Series) reached(o *trace.Outcome) bool { return s.unclear && s.p.desires(o.Class) }

// own reports whether a conflict may be with the action's own earlier attempt.
// It is then no proof that nothing was done. What a read meets is never its own.
func (s *Series) own(o *trace.Outcome) bool {
	return s.unclear && o.Class == trace.Conflict && s.p.Writes()
}

// Writes reports whether the action changes something, as far as the policy
// tells: it is not Repeatable, or has a key or a desired state.
func (p *Policy) Writes() bool { return !p.Repeatable || p.Key != "" || len(p.Desired) > 0 }

// ownConflict is the end on a conflict that may be with an own attempt. Who asks
// before each repeat has been told that nothing was done, and may call the
// conflict a refusal as well.
func (p *Policy) ownConflict(d Decision) Decision {
	d.Reason = trace.ReasonOutcomeUnknown
	d.also &^= reasonSet(trace.ReasonRefused)
	if p.Reconcile {
		d.also |= reasonSet(trace.ReasonRefused)
	}
	return d
}

// desired validates the list.
func (v *validator) desired(p *Policy) {
	seen := classes(0)
	for _, c := range p.Desired {
		v.want(states.has(c), "Desired", "holds %v, which tells nothing of the state that the action wants: say not-found, conflict or invalid", c)
		v.want(!p.Retries(c), "Desired", "holds %v, and Retry does too: the answer either ends the action or is tried again; take one out", c)
		v.want(!seen.has(c), "Desired", "holds %v twice: take one out", c)
		if c <= trace.Unknown {
			seen |= classSet(c)
		}
	}
	v.want(len(p.Desired) == 0 || p.MaxAttempts != 1, "Desired", "speaks of repeats, and MaxAttempts is 1: take it out, or allow a second attempt")
}

// reachedBy reports whether the action's last attempt found the desired state
// reached by an earlier attempt whose effect is not known.
func (p *Policy) reachedBy(a *trace.Action) bool {
	last := lastBegun(a)
	if len(p.Desired) == 0 || last == nil || !last.Seen || last.AnswerEvent > a.EndEvent || !p.desires(last.Outcome.Class) {
		return false
	}
	for i := range a.Series {
		attempts := a.Series[i].Attempts
		n := slices.IndexFunc(attempts, func(at trace.Attempt) bool { return at.Event == last.Event })
		if n < 0 {
			continue
		}
		return slices.ContainsFunc(attempts[:n], func(at trace.Attempt) bool { return at.Lost || at.Seen && p.effect(&at.Outcome) == trace.EffectUnknown })
	}
	return false
}

// reached judges the end of an action that has reached its state: a failure
// hides it.
func (v *Verdict) reached(a *trace.Action) {
	if a.Error == "" || timeUp(a) {
		return
	}
	last := lastBegun(a)
	v.report(a, fmt.Sprintf("%s answered %v to a repeat, which the policy reads as done, but the action failed with %q", last.Tool, last.Outcome.Class, short([]byte(a.Error))),
		"after an own attempt whose outcome is not known, this answer means that the desired state is reached", last.AnswerEvent, a.EndEvent)
}

// adviceFor is the advice for a dishonest end. An answer that would mean done,
// had there been an attempt that could have done it, deserves one of its own
// where it was taken for a success.
func (p *Policy) adviceFor(a *trace.Action, usual string) string {
	last := lastBegun(a)
	if a.Error != "" || last == nil || !last.Seen || last.AnswerEvent > a.EndEvent || !p.desires(last.Outcome.Class) {
		return usual
	}
	return "this answer means done only after an own attempt whose outcome is not known; else it is a refusal, and there was nothing to do"
}
