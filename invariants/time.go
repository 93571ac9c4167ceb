package invariants

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// NoFirstDelay is: the first attempt of an action begins when the action does.
// An action that first fetches credentials may take its time, and so may one
// that waits for its turn: its first attempt begins as another action ends.
func NoFirstDelay() Invariant {
	return rule("no-first-delay", "there is no wait before the first attempt",
		func(v *Verdict, tr *trace.Trace, a *trace.Action) {
			if len(a.Attempts) == 0 || otherCalls(tr, a, a.Begin, a.Attempts[0].Begin) || queued(tr, a) {
				return
			}
			v.Applied++
			if first := &a.Attempts[0]; first.Begin != a.Begin || first.Slept {
				v.report(a, fmt.Sprintf("the first attempt of %s came %v after the action began", first.Tool, max(first.Begin-a.Begin, first.Planned)),
					"wait after a failure and before the next attempt, not at the head of the loop", first.Event)
			}
		})
}

// queued reports whether the first attempt begins at the instant at which an
// action ends that was under way when this one began.
func queued(tr *trace.Trace, a *trace.Action) bool {
	actions := tr.Actions()
	for i := range actions {
		other := &actions[i]
		if other.Ended && other.End == a.Attempts[0].Begin && other.End > a.Begin && other.Begin <= a.Attempts[0].Begin && other.Name != a.Name {
			return true
		}
	}
	return false
}

// NoLastDelay is: an action ends when its last attempt does. An action that
// waits until its deadline or is cancelled ends then.
func NoLastDelay() Invariant { return noLastDelay(&Policy{Late: LateWait}, false) }

// noLastDelay knows whether the program may wait for its deadline. Under a
// whole policy it leaves alone who gives up in the middle of a legal wait: that
// is no wait too many but an attempt too few.
func noLastDelay(p *Policy, whole bool) Invariant {
	return rule("no-last-delay", "there is no wait after the last attempt",
		func(v *Verdict, tr *trace.Trace, a *trace.Action) {
			if !a.Ended || len(a.Attempts) == 0 {
				return
			}
			last := &a.Attempts[len(a.Attempts)-1]
			if !last.Seen || p.Late == LateWait && a.End == a.Deadline || a.Cancelled() && a.Cancel <= a.End ||
				p.Budget > 0 && a.End == a.Begin+p.Budget {
				return
			}
			v.Applied++
			idle := a.End - last.End
			if last.Interrupted != 0 && last.AnswerEvent >= 0 && a.End >= last.Answered {
				idle = a.End - last.Answered
			}
			if idle <= 0 || otherCalls(tr, a, last.End, a.End) {
				return
			}
			if whole && p.Terminal(a) == 0 {
				return
			}
			v.report(a, fmt.Sprintf("the action ended %v after its last attempt", idle),
				"decide whether there is a next attempt before the wait, not after it", last.AnswerEvent, a.EndEvent)
		})
}

// otherCalls reports whether the action made calls that are no attempts, such
// as fetching credentials, between two instants.
func otherCalls(tr *trace.Trace, a *trace.Action, from, to time.Duration) bool {
	for i := range tr.Events {
		e := &tr.Events[i]
		if e.At > to {
			return false
		}
		if e.Kind == trace.KindCall && e.Role != trace.RoleAttempt && e.Action == a.Name && e.At >= from {
			return true
		}
	}
	return false
}

// WithinDeadline is: every attempt begins before the caller's deadline, and
// the tool is given no more time than is left.
func WithinDeadline() Invariant {
	return rule("within-deadline", "attempts begin before the deadline and get no more time than is left",
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			if a.Deadline == 0 {
				return
			}
			for i := range a.Attempts {
				if a.Ended && a.Attempts[i].Event > a.EndEvent {
					return // the business of NoAttemptAfterEnd
				}
				v.Applied++
				text, advice := lateness(a, &a.Attempts[i])
				if i > 0 && text == "" {
					text, advice = overrun(a, &a.Attempts[i-1], &a.Attempts[i])
				}
				if text != "" {
					v.report(a, text, advice, a.Attempts[i].Event)
					return
				}
			}
		})
}

// overrun words an attempt at the very instant of the deadline. There it is a
// coin flip whether the context has ended, unless the attempt before it had
// met the deadline.
func overrun(a *trace.Action, before, at *trace.Attempt) (text, advice string) {
	if at.Begin == a.Deadline && before.Seen && before.End == a.Deadline && ended(before.Outcome.Class) {
		return fmt.Sprintf("%s was called again after the deadline had ended its attempt before", at.Tool),
			"look at the caller's context before each attempt, not only at the error of the last"
	}
	return "", ""
}

func lateness(a *trace.Action, at *trace.Attempt) (text, advice string) {
	switch {
	case at.Begin > a.Deadline:
		return fmt.Sprintf("%s was called %v after the deadline", at.Tool, at.Begin-a.Deadline),
			"look at the time that is left before each attempt, not only at the count"
	case at.Deadline == 0:
		return fmt.Sprintf("%s was given no deadline, %v were left", at.Tool, a.Deadline-at.Begin),
			"pass the caller's context down to the tool"
	case at.Deadline > a.Deadline:
		return fmt.Sprintf("%s was given %v, only %v were left", at.Tool, at.Deadline-at.Begin, a.Deadline-at.Begin),
			"derive the attempt's context from the caller's, so that it gets the smaller of its limit and what is left"
	}
	return "", ""
}

// AttemptTimeout is: no attempt is given more than d, and a tool that hangs is
// left after d.
func AttemptTimeout(d time.Duration) Invariant {
	return rule("attempt-timeout", fmt.Sprintf("one attempt takes at most %v", d),
		func(v *Verdict, _ *trace.Trace, a *trace.Action) {
			for i := range a.Attempts {
				at := &a.Attempts[i]
				v.Applied++
				left, limited := at.Remaining()
				switch {
				case !limited:
					v.report(a, fmt.Sprintf("%s was called without a time limit, one attempt may take %v", at.Tool, d),
						"give each attempt a context with its own timeout: a tool that hangs is worse than one that fails", at.Event)
					return
				case left > d:
					v.report(a, fmt.Sprintf("%s was given %v, one attempt may take %v", at.Tool, left, d),
						"derive the attempt's context with its own timeout, not with the time of the whole action", at.Event)
					return
				}
			}
		})
}
