package invariants

import (
	"fmt"
	"math"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// NoFirstDelay is: the first attempt of an action begins when the action does.
// An action that first fetches credentials may take its time until it has them, and so may one
// that waits for its turn: its first attempt begins as another action ends, or
// when it has learned what became of another's request. What
// writing a record takes is no wait.
func NoFirstDelay() Invariant {
	return sceneRule("no-first-delay", "there is no wait before the first attempt",
		func(sc scene, a *trace.Action) (v Verdict) {
			if len(a.Attempts) == 0 || sc.unsureOf(a) || len(crashesSince(a, -1, a.Attempts[0].Event)) > 0 || sc.turned(a, a.Begin) || sc.unaudited(a, a.Begin) || joined(sc.tr, a) || queued(sc.tr, a) {
				return v
			}
			v.Applied++
			first := &a.Attempts[0]
			ready, what := sc.prepared(a, first)
			switch {
			case first.Begin-ready > sc.heldUp(a, ready, first.Begin, first.Event):
				v.report(a, fmt.Sprintf("the first attempt of %s came %v after %s", first.Tool, first.Begin-ready, what),
					"wait after a failure and before the next attempt, not at the head of the loop", first.Event)
			case first.Slept:
				v.report(a, fmt.Sprintf("a wait of %v was asked for before the first attempt of %s", first.Planned, first.Tool),
					"wait after a failure and before the next attempt, not at the head of the loop", first.Event)
			}
			return v
		})
}

// prepared is the instant at which what the action asked for before its first
// attempt, such as credentials, was there: it may wait between such calls.
func (sc *scene) prepared(a *trace.Action, first *trace.Attempt) (at time.Duration, what string) {
	at, what = a.Begin, "the action began"
	for _, c := range sc.between(a, a.Begin, first.Begin) {
		if c.event < first.Event && !c.observes() && c.role != trace.RoleTurn && c.to >= at {
			at, what = c.to, fmt.Sprintf("what it asked of %s was answered", c.tool)
		}
	}
	return at, what
}

// joined reports whether the action was answered without a call before its
// first attempt.
func joined(tr *trace.Trace, a *trace.Action) bool {
	return len(a.Hits) > 0 && a.Hits[0] < a.Attempts[0].Event && tr.Events[a.Hits[0]].At > a.Begin
}

// queued reports whether the first attempt begins at the instant at which an
// action ends that was under way when this one began.
func queued(tr *trace.Trace, a *trace.Action) bool {
	first := a.Attempts[0].Begin
	if first <= a.Begin {
		return false
	}
	actions := tr.Actions()
	for i := range actions {
		if other := &actions[i]; other.Ended && other.End == first && other.Begin <= first && other.Name != a.Name {
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
	return sceneRule("no-last-delay", "there is no wait after the last attempt",
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Ended || len(a.Attempts) == 0 || endedByTime(p, a) || sc.unsureOf(a) {
				return v
			}
			last, over := quiet(a)
			if last == nil || len(crashesSince(a, last.Event, -1)) > 0 || endedDraining(a) != nil || sc.excuses(a, over, a.End, last.AnswerEvent) {
				return v
			}
			v.Applied++
			if idle := a.End - over; idle > sc.heldUp(a, over, a.End, a.EndEvent) {
				if whole && p.wantsMore(sc, a) {
					return v
				}
				v.report(a, fmt.Sprintf("the action ended %v after its last attempt", idle),
					"decide whether there is a next attempt before the wait, not after it", last.AnswerEvent, a.EndEvent)
			} else if asked := waitAfter(sc.tr, a, last, over); asked >= 0 {
				v.report(a, fmt.Sprintf("a wait of %v was asked for after the last attempt", sc.tr.Events[asked].Wait),
					"decide whether there is a next attempt before the wait, not after it", asked, a.EndEvent)
			}
			return v
		})
}

// endedByTime reports whether the cancel, or a limit that the program may wait
// for, ended the action. One whose attempt was under way at the deadline ends
// with it, whatever the policy.
func endedByTime(p *Policy, a *trace.Action) bool {
	last := &a.Attempts[len(a.Attempts)-1]
	p, begin := p.governs(a, last)
	return a.Deadline != 0 && a.End == a.Deadline && (p.Late == LateWait || last.End == a.End) ||
		a.Cancelled() && a.Cancel <= a.End ||
		p.Budget > 0 && p.budgetEnds(a, begin)
}

// wantsMore reports whether the policy asks for a further attempt where the
// action ended, however its last answer is read.
func (p *Policy) wantsMore(sc scene, a *trace.Action) bool {
	for i := range a.Series {
		for w := p.walk(sc, a, &a.Series[i]); w.next(); {
			if w.last && w.then == nil {
				_, _, two := secondReading(w.at)
				return w.d.Do == Go && !two || w.d.Do != Stop && (a.Reason == trace.ReasonBreakerOpen || a.Reason == trace.ReasonBudget)
			}
		}
	}
	return false
}

// quiet is the attempt that was over last, and the instant since when no
// attempt is under way; nil where one was under way when the action ended.
func quiet(a *trace.Action) (last *trace.Attempt, over time.Duration) {
	for i := range a.Attempts {
		at := &a.Attempts[i]
		if at.Event > a.EndEvent {
			continue
		}
		if !at.Seen || at.End > a.End {
			return nil, 0
		}
		end := at.End
		if at.AnswerEvent >= 0 && at.Answered <= a.End {
			end = max(end, at.Answered)
		}
		if last == nil || end >= over {
			last, over = at, end
		}
	}
	return last, over
}

// waitAfter is the event of a wait that was asked for after the attempt; -1:
// none. Several series may wait for each other.
func waitAfter(tr *trace.Trace, a *trace.Action, last *trace.Attempt, over time.Duration) int {
	if len(a.Waits) == 0 || len(a.Series) > 1 {
		return -1
	}
	w := a.Waits[len(a.Waits)-1]
	answered := last.AnswerEvent < 0 || last.AnswerEvent > a.EndEvent || w > last.AnswerEvent
	if w > last.Event && w < a.EndEvent && answered && tr.Events[w].At >= over {
		return w
	}
	return -1
}

// WithinDeadline is: every attempt begins before the caller's deadline, and
// the tool is given no more time than is left (field cases F045, F046). At the
// very instant of the deadline either way is legal.
func WithinDeadline() Invariant {
	return rule("within-deadline", "attempts begin before the deadline and get no more time than is left",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if a.Deadline == 0 {
				return v
			}
			for i := range a.Attempts {
				if a.Ended && a.Attempts[i].Event > a.EndEvent {
					return v // the business of NoAttemptAfterEnd
				}
				v.Applied++
				text, advice := lateness(a, &a.Attempts[i])
				if i > 0 && text == "" {
					text, advice = overrun(a, &a.Attempts[i-1], &a.Attempts[i])
				}
				if text != "" {
					v.report(a, text, advice, a.Attempts[i].Event)
					return v
				}
			}
			return v
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

// ended reports whether the class says that the caller's side ended the attempt.
func ended(c trace.Class) bool { return c == trace.Timeout || c == trace.Cancelled }

func lateness(a *trace.Action, at *trace.Attempt) (text, advice string) {
	switch {
	case at.Begin > a.Deadline:
		return fmt.Sprintf("%s was called %v after the deadline", at.Tool, past(at.Begin, a.Deadline)),
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

// past is the time from a deadline, which may lie as far back as the zero
// time.Time, to an instant after it.
func past(at, deadline time.Duration) time.Duration {
	if at > math.MaxInt64+min(deadline, 0) {
		return math.MaxInt64
	}
	return at - deadline
}

// WithinBudget is: every attempt begins before the action's own budget is
// spent and, where the policy says BudgetCuts, is given no more than is left
// of it (field case F048). Whether it goes on or begins anew after a restart of
// the process says the policy's RestartBudget. It does not apply to a policy
// without a budget.
func WithinBudget(p Policy) Invariant {
	return rule("within-budget", "attempts begin while the action's own budget lasts",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			for i := range a.Attempts {
				at := &a.Attempts[i]
				own, begin := p.governs(a, at)
				if own.Budget <= 0 {
					continue
				}
				over := plus(max(own.budgetFrom(a, begin, at.Event), bornLate(a)), own.Budget)
				v.Applied++
				switch {
				case at.Begin > over:
					v.report(a, fmt.Sprintf("%s was called %v after the budget of %v was spent", at.Tool, at.Begin-over, own.Budget),
						"look at the time that is left before each attempt, not only at the count", at.Event)
					return v
				case own.BudgetCuts && (at.Deadline == 0 || at.Deadline > over):
					v.report(a, fmt.Sprintf("%s was given more time than the %v that were left of the budget", at.Tool, over-at.Begin),
						"derive the attempt's context from one that ends with the budget", at.Event)
					return v
				}
			}
			return v
		})
}

// AttemptTimeout is: no attempt is given more than d. Whether a tool that
// ignores its context is left or waited for is up to the program.
func AttemptTimeout(d time.Duration) Invariant {
	return rule("attempt-timeout", fmt.Sprintf("one attempt takes at most %v", d),
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			for i := range a.Attempts {
				at := &a.Attempts[i]
				v.Applied++
				switch left, limited := at.Remaining(); {
				case !limited:
					v.report(a, fmt.Sprintf("%s was called without a time limit, one attempt may take %v", at.Tool, d),
						"give each attempt a context with its own timeout: a tool that hangs is worse than one that fails", at.Event)
					return v
				case left > d:
					v.report(a, fmt.Sprintf("%s was given %v, one attempt may take %v", at.Tool, left, d),
						"derive the attempt's context with its own timeout, not with the time of the whole action", at.Event)
					return v
				}
			}
			return v
		})
}
