package invariants

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// NoAttemptAfterCancel is: once the caller has cancelled, no attempt begins.
// The cancel must be at an earlier instant; at the same one either order is
// legal. A call with a context that was over from the start is the business of
// [NoCallOnDeadContext].
func NoAttemptAfterCancel() Invariant {
	return rule("no-attempt-after-cancel", "no attempt begins after the caller has cancelled",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if !a.Cancelled() || a.Cancel <= a.Begin {
				return v
			}
			v.Applied++
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Begin > a.Cancel {
					v.report(a, fmt.Sprintf("%s was called %v after the caller had cancelled", at.Tool, at.Begin-a.Cancel),
						"wait on the context as well as on the timer, and look at the context before each attempt", a.CancelAt, at.Event)
					return v
				}
			}
			return v
		})
}

// NoCallOnDeadContext is: an action whose context is over before it begins
// calls nothing.
func NoCallOnDeadContext() Invariant {
	return rule("no-call-on-dead-context", "an action that is cancelled before it begins calls nothing",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			dead := a.Cancelled() && a.Cancel <= a.Begin || a.Deadline != 0 && a.Deadline < a.Begin
			if !dead {
				return v
			}
			v.Applied++
			for i := range a.Attempts {
				// At one instant the order of events tells which came first.
				if at := &a.Attempts[i]; at.Event > a.CancelAt {
					v.report(a, fmt.Sprintf("%s was called with a context that was already over", at.Tool),
						"look at ctx.Err() before the first attempt too", a.CancelAt, at.Event)
					return v
				}
			}
			return v
		})
}

// EndsAtCancel is: a cancelled action returns at the instant of the cancel
// (field case F040). A tool that ignores its context may hold it up until it
// answers.
func EndsAtCancel() Invariant {
	return sceneRule("ends-at-cancel", "a cancelled action ends at once",
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Cancelled() || a.Cancel < a.Begin || a.Ended && a.End < a.Cancel {
				return v
			}
			if !a.Ended && (!goesOn(sc.tr, a.Cancel) || stuck(a) || brokeOff(sc.tr, a)) {
				return v
			}
			v.Applied++
			switch {
			case !a.Ended:
				v.report(a, "the action did not end after the caller had cancelled",
					"wait on the context as well as on the timer or the answer", a.CancelAt)
			case a.End > a.Cancel && !heldUp(a) && !heldUpBeside(&sc, a):
				v.report(a, fmt.Sprintf("the action ended %v after the caller had cancelled", a.End-a.Cancel),
					"wait on the context as well as on the timer or the answer", a.CancelAt, a.EndEvent)
			}
			return v
		})
}

// heldUp reports whether a tool that ignored the cancel answered at the end.
func heldUp(a *trace.Action) bool {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if ignored(at, a.Cancel) && at.AnswerEvent >= 0 && at.Answered == a.End {
			return true
		}
	}
	return false
}

// brokeOff reports whether a panic or a spin says why the action did not end.
func brokeOff(tr *trace.Trace, a *trace.Action) bool {
	return slices.ContainsFunc(a.Troubles, func(e int) bool {
		return tr.Events[e].Kind == trace.KindPanic || tr.Events[e].Kind == trace.KindSpin
	})
}

// stuck reports whether a tool that ignored the cancel has not answered.
func stuck(a *trace.Action) bool {
	for i := range a.Attempts {
		if at := &a.Attempts[i]; ignored(at, a.Cancel) && at.AnswerEvent < 0 {
			return true
		}
	}
	return false
}

// ignored reports whether the attempt's context was over by the cancel and the
// tool went on.
func ignored(at *trace.Attempt, cancel time.Duration) bool {
	return at.Begin <= cancel && at.Interrupted != 0 && at.Interrupted <= cancel
}

// heldUpBeside is heldUp for a call that is no attempt. A record of the end may
// be written after the cancel.
func heldUpBeside(sc *scene, a *trace.Action) bool {
	for _, c := range sc.between(a, a.Begin, a.End) {
		if c.to == a.End && (c.from <= a.Cancel || c.observes()) {
			return true
		}
	}
	return false
}

// CancelReachesTool is: an attempt that is in flight when the caller cancels
// sees it.
func CancelReachesTool() Invariant {
	return rule("cancel-reaches-tool", "the attempt in flight sees the caller's cancel",
		func(tr *trace.Trace, a *trace.Action) (v Verdict) {
			if !a.Cancelled() || a.Ended && a.End < a.Cancel || !goesOn(tr, a.Cancel) && !a.Ended {
				return v
			}
			for i := range a.Attempts {
				at := &a.Attempts[i]
				if !inFlight(at, a.Cancel) {
					continue
				}
				v.Applied++
				if at.Interrupted != a.Cancel && (at.AnswerEvent < 0 || at.Answered > a.Cancel) {
					v.report(a, fmt.Sprintf("%s was still at work when the caller cancelled and never learned of it", at.Tool),
						"pass the caller's context down to the tool", a.CancelAt, at.Event)
					return v
				}
			}
			return v
		})
}

// inFlight reports whether the tool was at work at the instant, in a context
// that had not ended before.
func inFlight(at *trace.Attempt, t time.Duration) bool {
	return at.Begin < t && (at.AnswerEvent < 0 || at.Answered >= t) && (at.Interrupted == 0 || at.Interrupted >= t)
}

// NoAttemptAfterEnd is: once an action has returned, none of its attempts
// begins.
func NoAttemptAfterEnd() Invariant {
	return rule("no-attempt-after-end", "no attempt begins after the action has returned",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if !a.Ended {
				return v
			}
			v.Applied++
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Event > a.EndEvent {
					v.report(a, fmt.Sprintf("%s was called %v after the action had returned", at.Tool, at.Begin-a.End),
						"end the goroutine or timer that retries before the action returns", a.EndEvent, at.Event)
					return v
				}
			}
			return v
		})
}
