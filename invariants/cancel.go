package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// NoAttemptAfterCancel is: once the caller has cancelled, no attempt begins.
// The cancel must be at an earlier instant; at the same one either order is
// legal. A call with a context that was over from the start is the business of
// [NoCallOnDeadContext].
func NoAttemptAfterCancel() Invariant {
	return rule("no-attempt-after-cancel", "no attempt begins after the caller has cancelled",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if !a.Cancelled() || a.Cancel <= a.Begin {
				return
			}
			v.Applied++
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Begin > a.Cancel {
					v.report(a, fmt.Sprintf("%s was called %v after the caller had cancelled", at.Tool, at.Begin-a.Cancel),
						"wait on the context as well as on the timer, and look at the context before each attempt", a.CancelAt, at.Event)
					return
				}
			}
		})
}

// NoCallOnDeadContext is: an action whose context is over before it begins
// calls nothing.
func NoCallOnDeadContext() Invariant {
	return rule("no-call-on-dead-context", "an action that is cancelled before it begins calls nothing",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			dead := a.Cancelled() && a.Cancel <= a.Begin || a.Deadline != 0 && a.Deadline < a.Begin
			if !dead {
				return
			}
			v.Applied++
			if len(a.Attempts) > 0 {
				v.report(a, fmt.Sprintf("%s was called with a context that was already over", a.Attempts[0].Tool),
					"look at ctx.Err() before the first attempt too", a.CancelAt, a.Attempts[0].Event)
			}
		})
}

// EndsAtCancel is: a cancelled action returns at the instant of the cancel. A
// tool that ignores its context may hold it up until it answers.
func EndsAtCancel() Invariant {
	return rule("ends-at-cancel", "a cancelled action ends at once",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if !a.Cancelled() || a.Cancel < a.Begin || a.Ended && a.End < a.Cancel {
				return
			}
			if !a.Ended && len(a.Troubles) > 0 {
				return // a panic, a hang or a spin says why it did not end
			}
			v.Applied++
			switch {
			case !a.Ended:
				v.report(a, "the action did not end after the caller had cancelled",
					"wait on the context as well as on the timer or the answer", a.CancelAt)
			case a.End > a.Cancel && !heldUp(a):
				v.report(a, fmt.Sprintf("the action ended %v after the caller had cancelled", a.End-a.Cancel),
					"wait on the context as well as on the timer or the answer", a.CancelAt, a.EndEvent)
			}
		})
}

// heldUp reports whether a tool that ignored the cancel answered at the end.
func heldUp(a *trace.Action) bool {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Interrupted == a.Cancel && at.AnswerEvent >= 0 && at.Answered == a.End {
			return true
		}
	}
	return false
}

// CancelReachesTool is: an attempt that is in flight when the caller cancels
// sees it.
func CancelReachesTool() Invariant {
	return rule("cancel-reaches-tool", "the attempt in flight sees the caller's cancel",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if !a.Cancelled() {
				return
			}
			for i := range a.Attempts {
				at := &a.Attempts[i]
				inFlight := at.Begin < a.Cancel && (at.AnswerEvent < 0 || at.Answered > a.Cancel) &&
					(at.Interrupted == 0 || at.Interrupted >= a.Cancel)
				if !inFlight {
					continue
				}
				v.Applied++
				if at.Interrupted != a.Cancel {
					v.report(a, fmt.Sprintf("%s was still at work when the caller cancelled and never learned of it", at.Tool),
						"pass the caller's context down to the tool", a.CancelAt, at.Event)
					return
				}
			}
		})
}

// NoAttemptAfterEnd is: once an action has returned, none of its attempts
// begins.
func NoAttemptAfterEnd() Invariant {
	return rule("no-attempt-after-end", "no attempt begins after the action has returned",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if !a.Ended {
				return
			}
			v.Applied++
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Event > a.EndEvent {
					v.report(a, fmt.Sprintf("%s was called %v after the action had returned", at.Tool, at.Begin-a.End),
						"end the goroutine or timer that retries before the action returns", a.EndEvent, at.Event)
					return
				}
			}
		})
}
