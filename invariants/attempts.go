package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// MaxAttempts is: no series has more than n attempts, the first included. It
// counts physical executions over all layers, whatever the library logs (field
// cases F002, F050). Of a batch no item is asked for more often either, whatever
// chunk it was in. n below 1 is a rule that nothing can break.
func MaxAttempts(n int) Invariant {
	return bounded(n, "", func(*trace.Series) (int, string) { return 0, "" })
}

// maxAttempts is MaxAttempts under the policy: repeats after a refresh may be
// beyond the number, and so may those of what a drain cut off.
func (p *Policy) maxAttempts() Invariant {
	also := ""
	if p.Refresh.Extra {
		also = ", and a repeat after a refresh"
	}
	return bounded(p.MaxAttempts, also, func(s *trace.Series) (extra int, why string) {
		if p.Refresh.Extra {
			extra, why = refusals(s), " after a refresh"
		}
		if n := p.spared(s.Attempts); n > 0 {
			extra, why = extra+n, why+" in place of what a drain cut off"
		}
		return extra, why
	})
}

// bounded is MaxAttempts with so many more as beyond says, and why.
func bounded(n int, also string, beyond func(*trace.Series) (extra int, why string)) Invariant {
	return seriesRule("attempts-bounded", fmt.Sprintf("at most %d attempts for one action, the first included%s", n, also),
		func(a *trace.Action, s *trace.Series) Verdict {
			if n < 1 {
				return Verdict{}
			}
			v := Verdict{Applied: 1}
			extra, why := beyond(s)
			if extra == 0 && s.Attempts[0].Items != "" && len(a.Series) > 1 && s.Attempts[0].Event == a.Series[0].Attempts[0].Event {
				v.asked(a, n)
			}
			if most := n + extra; len(s.Attempts) > most {
				and := ""
				if why != "" {
					and = fmt.Sprintf(" and %d%s", extra, why)
				}
				v.report(a, fmt.Sprintf("%d attempts of %s, at most %d%s are allowed", len(s.Attempts), s.Tool, n, and),
					"count attempts and not retries, keep one counter for the action, and check it before the wait",
					events(s.Attempts[most:])...)
			}
			return v
		})
}

// refusals counts the answers that a refresh may have mended: of several in a
// row the first.
func refusals(s *trace.Series) (n int) {
	refused := func(i int) bool { return s.Attempts[i].Seen && s.Attempts[i].Outcome.Class == trace.Unauthenticated }
	for i := range s.Attempts {
		if refused(i) && (i == 0 || !refused(i-1)) {
			n++
		}
	}
	return n
}

// events lists the call events of the attempts.
func events(attempts []trace.Attempt) []int {
	list := make([]int, len(attempts))
	for i := range attempts {
		list[i] = attempts[i].Event
	}
	return list
}

// NoRetryAfter is: after a failure of one of the classes no attempt follows in
// its series (field case F016). Without classes it takes those that waiting
// cannot mend: quota-exhausted, invalid, unauthenticated, forbidden, not-found,
// conflict, declined and unknown.
func NoRetryAfter(list ...trace.Class) Invariant { return noRetryAfter(false, list) }

// noRetryAfter is NoRetryAfter; decides says that a failure which calls itself
// retryable is no refusal, whatever its class.
func noRetryAfter(decides bool, list []trace.Class) Invariant {
	refused := classSet(list...)
	if len(list) == 0 {
		refused = classSet(trace.QuotaExhausted, trace.Invalid, trace.Unauthenticated, trace.Forbidden,
			trace.NotFound, trace.Conflict, trace.Declined, trace.Unknown)
	}
	return seriesRule("no-retry-after-refusal", "an answer that the policy does not retry ends the action",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || !refused.has(at.Outcome.Class) || at.Outcome.Items != "" || forgotten(a, at) || decides && at.Outcome.Advice == trace.AdviceRetry {
					continue // of a batch, the items decide: see [BatchRetry]
				}
				v.Applied++
				if again := after(s, i); again != nil && refused.all(at, again) {
					v.report(a, fmt.Sprintf("%s was called again after it answered %v", s.Tool, at.Outcome.Class),
						"decide from the class of this answer alone; that an earlier one was transient does not matter",
						at.AnswerEvent, again.Event)
					return v
				}
			}
			return v
		})
}

// all reports whether the set has every class that the caller may have gone
// by when it called again.
func (s classes) all(at, again *trace.Attempt) bool {
	if !s.has(at.Outcome.Class) {
		return false
	}
	o, when, two := secondReading(at)
	return !two || when > again.Begin || s.has(o.Class)
}

// after is the first attempt that began when attempt i had been answered; nil
// where there is none. An attempt that was under way by then is no retry.
func after(s *trace.Series, i int) *trace.Attempt {
	at := &s.Attempts[i]
	for n := i + 1; n < len(s.Attempts); n++ {
		next := &s.Attempts[n]
		if next.Begin > at.End || next.Begin == at.End && next.Event > at.AnswerEvent {
			return next
		}
	}
	return nil
}

// refused lists the classes that the policy ends an action on. Where an action
// is not safe to repeat, an outcome that is not known is no refusal: repeating
// it is worse, and [OneEffect] and [Conforms] say so.
func (p *Policy) refused() []trace.Class {
	return slices.DeleteFunc(trace.Classes(), func(c trace.Class) bool {
		return c == trace.OK || c == trace.Cancelled || p.Retries(c) || p.mends(c) || c == trace.Invalid && p.Correct.Once || !p.safe(&trace.Outcome{Class: c})
	})
}

// StopAfterSuccess is: after a success the tool is not called again with the
// same arguments. Other arguments are the next page or the next thing to do.
func StopAfterSuccess() Invariant {
	success := classSet(trace.OK)
	return seriesRule("stop-after-success", "a tool that has answered is not asked the same again",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || at.Outcome.Class != trace.OK || forgotten(a, at) {
					continue
				}
				v.Applied++
				if again := after(s, i); again != nil && success.all(at, again) {
					v.report(a, fmt.Sprintf("%s was called again after it had answered", s.Tool),
						"the text of a success is data: stop on the structured status and keep the answer",
						at.AnswerEvent, again.Event)
					return v
				}
			}
			return v
		})
}

// SameArguments is: every attempt of a series sends the arguments of its first,
// whatever the order of their fields (field case F037). After an answer that
// the arguments are wrong they may be corrected.
func SameArguments() Invariant {
	return seriesRule("same-arguments", "attempts of one action send the same arguments",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			first := 0
			for i := 1; i < len(s.Attempts); i++ {
				at := &s.Attempts[i]
				before := &s.Attempts[i-1]
				if before.Seen && before.Outcome.Class == trace.Invalid || before.Items != "" && at.Items != "" && at.Items != before.Items {
					first = i // corrected, or what is left of a batch: see [BatchRetry]
					continue
				}
				v.Applied = 1
				if model := &s.Attempts[first]; !trace.SameArgs(model.Args, at.Args) {
					v.report(a, fmt.Sprintf("attempt %d of %s sent other arguments than attempt %d: %s instead of %s",
						at.N, s.Tool, model.N, short(at.Args), short(model.Args)),
						"build the request once, before the loop; a body that can be read once must be kept to be sent again",
						model.Event, at.Event)
					return v
				}
			}
			return v
		})
}

// short cuts a value for a message.
func short(raw []byte) string {
	const most = 120
	if len(raw) == 0 {
		return "nothing"
	}
	if len(raw) <= most {
		return string(raw)
	}
	return fmt.Sprintf("%s… (%d bytes)", raw[:most], len(raw))
}
