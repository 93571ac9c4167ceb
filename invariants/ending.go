package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// HonestEnding is: an action claims success only where a tool answered, with
// the result that the tool gave; a failure keeps the last error and, where it
// tells of a count, the right one; a success is not shown as a failure (field
// cases F003, F024, F025, F026). An end that says a reason other than success
// claims none, even where it is no Go error. What a cache or another action's
// request answered is evidence too, except of a write (see [Policy.Writes]).
func HonestEnding() Invariant { return honestEnding(&Policy{Repeatable: true}, false) }

// honestEnding is HonestEnding under the policy: its budget ends an action, and
// where the desired state is reached, a success is the honest end. shared says
// that an allowance may refuse the next attempt: its error is then the last one.
func honestEnding(p *Policy, shared bool) Invariant {
	return sceneRule("honest-ending", "the action's end agrees with what the tool answered",
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Ended || sc.unsureOf(a) {
				return v
			}
			v.Applied++
			own, begin := p.governs(a, lastBegun(a))
			if own.reachedBy(a) {
				v.reached(a)
				return v
			}
			late := timeUp(a) || stopped(a) || own.outOfTime(a, begin) || p.spentOn(a)
			if text, advice := dishonesty(own, &sc, a, late, shared); text != "" {
				v.report(a, text, own.adviceFor(a, advice), lastAnswer(a), a.EndEvent)
			}
			return v
		})
}

func dishonesty(p *Policy, sc *scene, a *trace.Action, late, shared bool) (text, advice string) {
	switch {
	case a.Error != "" && a.Reason == trace.ReasonSuccess:
		return fmt.Sprintf("the action failed with %q and calls it a success", short([]byte(a.Error))),
			"see how the adapter reads its own errors"
	case a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess):
		if sc.reconciled(a) && (firstSuccess(a) == nil || len(a.Restarts) > 0) || len(a.Attempts) == 0 && settled(sc.tr.Actions(), a) {
			return "", ""
		}
		if hit := hitOf(sc.tr, a); hit != nil {
			return falseHit(p, a, hit)
		}
		return falseSuccess(a)
	case a.Error == "" || len(a.Attempts) == 0:
		return "", ""
	}
	if !late {
		if text, advice = lostEvidence(sc, a, shared); text != "" {
			return text, advice
		}
	}
	if n := began(a); a.Count != 0 && !counts(a, a.Count) {
		return fmt.Sprintf("the returned error tells of %d attempts, there were %d", a.Count, n),
			"count executions, the first included"
	}
	return "", ""
}

// leftAtEnd reports whether the program gave the attempt up as it returned: a deferred
// cancel reaches the tool before or after the end, as chance has it, and its error is
// none that the program saw.
func leftAtEnd(a *trace.Action, last *trace.Attempt) bool {
	return last.Outcome.Class == trace.Cancelled && last.End == a.End && !a.Cancelled()
}

// lostEvidence words a failure that hides a success or the last error.
func lostEvidence(sc *scene, a *trace.Action, shared bool) (text, advice string) {
	last := lastBegun(a)
	if last == nil {
		return "", ""
	}
	switch seen := last.Seen && last.End <= a.End && (last.AnswerEvent < a.EndEvent); {
	case !seen, forgotten(a, last), leftAtEnd(a, last):
	case last.Items != "" && last.Outcome.Class == trace.OK && failedItems(a):
		// The batch went through but for items that failed before.
	case last.Outcome.Class == trace.OK && sc.unaudited(a, last.End):
		// It was done, and there is no record of it: see [Sink].
	case last.Outcome.Class == trace.OK && (len(a.Series) == 1 || eachSucceeded(a) && !heldBack(sc, a, last)) && !outlived(last):
		return fmt.Sprintf("%s answered, but the action failed with %q", last.Tool, short([]byte(a.Error))),
			"judge the structured status, not words in the payload; and let no logging or bookkeeping failure hide a success"
	case last.Outcome.Failed() && (a.Reason == trace.ReasonBreakerOpen || shared && a.Reason == trace.ReasonBudget):
		// The refusal came after it, and is the last error.
	case last.Outcome.Failed() && sc.denied(a, last.End):
	case last.Outcome.Failed() && a.Cause < 0:
		return fmt.Sprintf("the returned error %q keeps nothing of the last failure (%v)", short([]byte(a.Error)), last.Outcome.Class),
			"wrap the last error with %w, so that errors.Is and errors.As find it"
	case last.Outcome.Failed() && a.Cause > 0 && !endsSeries(a, a.Cause) && !endsItem(a, a.Cause):
		return fmt.Sprintf("the returned error %q is that of an earlier attempt, not of the last (%v)", short([]byte(a.Error)), last.Outcome.Class),
			"keep the error of the last attempt"
	}
	return "", ""
}

// eachSucceeded reports whether all that the action asked of its tools was answered in
// the end.
func eachSucceeded(a *trace.Action) bool {
	for i := range a.Series {
		list := a.Series[i].Attempts
		if last := &list[len(list)-1]; !last.Seen || last.End > a.End || last.Outcome.Class != trace.OK {
			return false
		}
	}
	return true
}

// heldBack reports whether something may have kept the action from its next step behind
// a success: a breaker, the lack of time, an allowance, a denial.
func heldBack(sc *scene, a *trace.Action, last *trace.Attempt) bool {
	switch a.Reason {
	case trace.ReasonBreakerOpen, trace.ReasonBudget, trace.ReasonDeadline, trace.ReasonInterrupted, trace.ReasonEscalated:
		return true
	}
	return a.Reason == 0 && a.Deadline != 0 || sc.denied(a, last.End)
}

// hitOf is the last success that was answered without a call before the end;
// nil: none, or the tool itself has answered.
func hitOf(tr *trace.Trace, a *trace.Action) (hit *trace.Event) {
	for _, i := range a.Hits {
		if e := &tr.Events[i]; i < a.EndEvent && e.Outcome.Class == trace.OK {
			hit = e
		}
	}
	if hit != nil && firstSuccess(a) != nil {
		return nil
	}
	return hit
}

// falseHit words a success that rests on an answer without a call.
func falseHit(p *Policy, a *trace.Action, hit *trace.Event) (text, advice string) {
	switch {
	case p.Writes():
		return fmt.Sprintf("the action claims success, and %s was not called: the answer to an earlier call was served in its place", hit.Tool),
			"let no cache answer for a write: each action has work of its own to do"
	case a.Want != nil && !trace.SameArgs(a.Want, a.Result):
		return fmt.Sprintf("the action returned %s, what was served is %s", short(a.Result), short(a.Want)),
			"return what was served, and nothing made up"
	}
	return "", ""
}

// falseSuccess words a success that no answer bears out.
func falseSuccess(a *trace.Action) (text, advice string) {
	last, good := lastBegun(a), firstSuccess(a)
	switch {
	case last == nil:
		return "the action claims success and called no tool", "return only what a tool answered"
	case good == nil && handedOn(a, last):
		return "", "" // the value tells which items cannot be done
	case good == nil && last.Outcome.Class == trace.Partial && last.Outcome.Items != "":
		return fmt.Sprintf("the action claims success, but %s of %s failed", listed(failedOf(last)), last.Tool),
			"name the items that failed, in the error or in the result, so that nobody takes the rest for the whole"
	case good == nil:
		return fmt.Sprintf("the action claims success, but no attempt succeeded (last: %s)", seen(last)),
			"return the last error when the attempts are used up; an error shadowed inside the loop is lost"
	case len(a.Series) == 1 && !bornOut(a, last) && last.Event > good.AnswerEvent:
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

// lastBegun is the last attempt that began before the action ended.
func lastBegun(a *trace.Action) *trace.Attempt {
	for i := len(a.Attempts) - 1; i >= 0; i-- {
		if at := &a.Attempts[i]; at.Event < a.EndEvent {
			return at
		}
	}
	return nil
}

// began counts the attempts that began before the action ended.
func began(a *trace.Action) int {
	n := len(a.Attempts)
	for n > 0 && a.Attempts[n-1].Event > a.EndEvent {
		n--
	}
	return n
}

// counts reports whether n is the number of attempts, of all or of one series:
// an error may speak of the page that failed.
func counts(a *trace.Action, n int) bool {
	if made := began(a); n >= made-drainedBefore(a, a.EndEvent) && n <= made+writes(a.Restarts) { // it may count what it died before making
		return true
	}
	for i := range a.Series {
		if len(a.Series) > 1 && len(a.Series[i].Attempts) == n {
			return true
		}
	}
	return false
}

// endsSeries reports whether the call is the last attempt of a series before
// the action ended.
func endsSeries(a *trace.Action, call int) bool {
	for i := range a.Series {
		attempts := a.Series[i].Attempts
		for n := len(attempts) - 1; n >= 0; n-- {
			if attempts[n].Event < a.EndEvent {
				if attempts[n].Call == call || lastRound(&a.Series[i], n, call) {
					return true
				}
				break
			}
		}
	}
	return false
}

// endsItem reports whether the call's answer left an item of a batch failed, and
// no later request asked for it again.
func endsItem(a *trace.Action, call int) bool {
	failed := map[string]bool{}
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Event > a.EndEvent {
			break
		}
		for _, it := range at.Items.List() {
			delete(failed, it.ID)
		}
		if at.Call != call {
			continue
		}
		for _, it := range at.Outcome.Items.List() {
			failed[it.ID] = it.Class != trace.OK
		}
	}
	for _, f := range failed {
		if f {
			return true
		}
	}
	return false
}

// firstSuccess is the first attempt that bears a success out; nil: none.
func firstSuccess(a *trace.Action) *trace.Attempt {
	for i := range a.Attempts {
		if bornOut(a, &a.Attempts[i]) {
			return &a.Attempts[i]
		}
	}
	return nil
}

// bornOut reports whether the tool gave the attempt a valid answer before the
// action ended. It may have come after an interrupt that the tool ignored.
func bornOut(a *trace.Action, at *trace.Attempt) bool {
	return at.AnswerEvent >= 0 && at.AnswerEvent < a.EndEvent && !at.Answer.Failed() ||
		at.Interrupted == 0 && at.Seen && at.AnswerEvent < a.EndEvent && !at.Outcome.Failed()
}

func seen(at *trace.Attempt) string {
	if !at.Seen {
		return "no answer yet"
	}
	return at.Outcome.Class.String()
}

// lastAnswer is the event that shows the last attempt; -1: there is none.
func lastAnswer(a *trace.Action) int {
	switch last := lastBegun(a); {
	case last == nil:
		return -1
	case last.AnswerEvent >= 0 && last.AnswerEvent < a.EndEvent:
		return last.AnswerEvent
	default:
		return last.Event
	}
}
