package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// HonestEnding is: an action claims success only where a tool answered, with
// the result that the tool gave; a failure keeps the last error and, where it
// tells of a count, the right one; a success is not shown as a failure.
func HonestEnding() Invariant {
	return rule("honest-ending", "the action's end agrees with what the tool answered",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if !a.Ended {
				return
			}
			v.Applied++
			if len(a.Attempts) == 0 {
				if a.Error == "" {
					v.report(a, "the action claims success and called no tool", "return only what a tool answered", a.EndEvent)
				}
				return
			}
			if text, advice := dishonesty(a); text != "" {
				v.report(a, text, advice, lastAnswer(a), a.EndEvent)
			}
		})
}

func dishonesty(a *trace.Action) (text, advice string) {
	last := &a.Attempts[len(a.Attempts)-1]
	if a.Error == "" {
		return falseSuccess(a, last)
	}
	switch {
	case succeeded(last) && last.Event < a.EndEvent && !timeUp(a) && len(a.Series) == 1:
		return fmt.Sprintf("%s answered, but the action failed with %q", last.Tool, short([]byte(a.Error))),
			"judge the structured status, not words in the payload; and let no logging or bookkeeping failure hide a success"
	case last.Seen && last.AnswerEvent < a.EndEvent && last.Outcome.Failed() && !timeUp(a) && a.Cause != 0 && a.Cause != last.Call:
		if a.Cause < 0 {
			return fmt.Sprintf("the returned error %q keeps nothing of the last failure (%v)", short([]byte(a.Error)), last.Outcome.Class),
				"wrap the last error with %w, so that errors.Is and errors.As find it"
		}
		return fmt.Sprintf("the returned error %q is that of an earlier attempt, not of the last (%v)", short([]byte(a.Error)), last.Outcome.Class),
			"keep the error of the last attempt"
	case a.Count != 0 && a.Count != len(a.Attempts):
		return fmt.Sprintf("the returned error tells of %d attempts, there were %d", a.Count, len(a.Attempts)),
			"count executions, the first included"
	}
	return "", ""
}

func falseSuccess(a *trace.Action, last *trace.Attempt) (text, advice string) {
	switch {
	case !anySuccess(a):
		return fmt.Sprintf("the action claims success, but no attempt succeeded (last: %s)", seen(last)),
			"return the last error when the attempts are used up; an error shadowed inside the loop is lost"
	case len(a.Series) == 1 && !succeeded(last) && last.Event < a.EndEvent:
		return fmt.Sprintf("the action claims success, but its last attempt did not succeed (%s)", seen(last)),
			"stop at the first success, or report the failure that came after it"
	case a.Want != nil && !trace.SameArgs(a.Want, a.Result):
		return fmt.Sprintf("the action returned %s, the evidence is %s", short(a.Result), short(a.Want)),
			"return what the successful attempt answered, and nothing made up"
	}
	return "", ""
}

// timeUp reports whether the caller's cancel or deadline had come by the end.
func timeUp(a *trace.Action) bool {
	return a.Cancelled() && a.Cancel <= a.End || a.Deadline != 0 && a.Deadline <= a.End
}

func anySuccess(a *trace.Action) bool {
	for i := range a.Attempts {
		if at := &a.Attempts[i]; answeredOK(at) && at.AnswerEvent < a.EndEvent {
			return true
		}
	}
	return false
}

// answeredOK also counts a success that came after an interrupt.
func answeredOK(at *trace.Attempt) bool {
	return succeeded(at) || at.AnswerEvent >= 0 && at.Answer.Class == trace.OK
}

func succeeded(at *trace.Attempt) bool {
	return at.Seen && (at.Outcome.Class == trace.OK || at.Outcome.Class == trace.Declined)
}

func seen(at *trace.Attempt) string {
	if !at.Seen {
		return "no answer yet"
	}
	return at.Outcome.Class.String()
}

func lastAnswer(a *trace.Action) int {
	return a.Attempts[len(a.Attempts)-1].AnswerEvent
}

// OneTerminal is: where a program publishes the ends of its actions, each
// action that has ended has exactly one.
func OneTerminal() Invariant {
	return Invariant{Name: "one-terminal", Rule: "every action publishes exactly one end", Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		actions := tr.Actions()
		if !publishes(actions) {
			return v
		}
		for i := range actions {
			a := &actions[i]
			if !a.Ended && len(a.Published) == 0 {
				continue
			}
			v.Applied++
			switch n := len(a.Published); {
			case n == 0:
				v.report(a, "the action ended and published no end", "publish the end on every way out of the action", a.EndEvent)
			case n > 1:
				v.report(a, fmt.Sprintf("the action published %d ends: %v, then %v", n,
					tr.Events[a.Published[0]].Reason, tr.Events[a.Published[n-1]].Reason),
					"let the first end win, and record what comes later as late", a.Published...)
			}
		}
		for i := range v.Findings {
			v.Findings[i].Invariant = "one-terminal"
		}
		return v
	}}
}

func publishes(actions []trace.Action) bool {
	for i := range actions {
		if len(actions[i].Published) > 0 {
			return true
		}
	}
	return false
}

// NothingLeft is: when an action has returned, nothing of it is still running.
func NothingLeft() Invariant {
	return trouble("nothing-left", "nothing is running after the action has returned", trace.KindLeak,
		"stop the timers and goroutines of the action, and wait for them, before it returns")
}

// Returns is: every action returns.
func Returns() Invariant {
	return trouble("returns", "every action returns", trace.KindHang,
		"give the attempt a timeout and wait on the context; a tool that never answers must not stall its caller")
}

// NoPanic is: no action panics.
func NoPanic() Invariant {
	return trouble("no-panic", "no action panics", trace.KindPanic,
		"turn what a tool can do, panics included, into an error of the action")
}

// NoSpin is: no action calls a tool without end at one instant.
func NoSpin() Invariant {
	return trouble("no-spin", "attempts do not follow each other without a wait and without end", trace.KindSpin,
		"bound the attempts, and wait between them")
}

func trouble(name, text string, kind trace.Kind, advice string) Invariant {
	return rule(name, text, func(v *Verdict, tr *trace.Trace, a *trace.Action) {
		v.Applied++
		for _, e := range a.Troubles {
			if tr.Events[e].Kind == kind {
				v.report(a, tr.Events[e].Error, advice, e)
			}
		}
	})
}
