package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// MaxAttempts is: no series has more than n attempts, the first included.
func MaxAttempts(n int) Invariant {
	return seriesRule("attempts-bounded", fmt.Sprintf("at most %d attempts for one action, the first included", n),
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			v.Applied++
			if len(s.Attempts) > n {
				v.report(a, fmt.Sprintf("%d attempts of %s, at most %d are allowed", len(s.Attempts), s.Tool, n),
					"count attempts and not retries, keep one counter for the action, and check it before the wait",
					events(s.Attempts[n:])...)
			}
		})
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
// its series. Without classes it takes those that waiting cannot mend:
// quota-exhausted, invalid, unauthenticated, forbidden, not-found, conflict,
// declined and unknown.
func NoRetryAfter(list ...trace.Class) Invariant {
	refused := classSet(list...)
	if len(list) == 0 {
		refused = classSet(trace.QuotaExhausted, trace.Invalid, trace.Unauthenticated, trace.Forbidden,
			trace.NotFound, trace.Conflict, trace.Declined, trace.Unknown)
	}
	return seriesRule("no-retry-after-refusal", "an answer that the policy does not retry ends the action",
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || !refused.has(at.Outcome.Class) {
					continue
				}
				v.Applied++
				if i+1 < len(s.Attempts) {
					v.report(a, fmt.Sprintf("%s was called again after it answered %v", s.Tool, at.Outcome.Class),
						"decide from the class of this answer alone; that an earlier one was transient does not matter",
						at.AnswerEvent, s.Attempts[i+1].Event)
					return
				}
			}
		})
}

// refused lists the classes that the policy ends an action on. Where an action
// is not safe to repeat, an outcome that is not known is no refusal: repeating
// it is worse, and [OneEffect] and [Conforms] say so.
func (p *Policy) refused() []trace.Class {
	return slices.DeleteFunc(trace.Classes(), func(c trace.Class) bool {
		return c == trace.OK || c == trace.Cancelled || p.Retries(c) || !p.safe(trace.Outcome{Class: c})
	})
}

// StopAfterSuccess is: after a success the tool is not called again with the
// same arguments.
func StopAfterSuccess() Invariant {
	return seriesRule("stop-after-success", "a tool that has answered is not asked the same again",
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || at.Outcome.Class != trace.OK {
					continue
				}
				v.Applied++
				if i+1 < len(s.Attempts) {
					v.report(a, fmt.Sprintf("%s was called again after it had answered", s.Tool),
						"the text of a success is data: stop on the structured status and keep the answer",
						at.AnswerEvent, s.Attempts[i+1].Event)
					return
				}
			}
		})
}

// SameArguments is: every attempt of a series sends the arguments of its first.
func SameArguments() Invariant {
	return seriesRule("same-arguments", "attempts of one action send the same arguments",
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			if len(s.Attempts) < 2 {
				return
			}
			v.Applied++
			first := &s.Attempts[0]
			for i := range s.Attempts[1:] {
				at := &s.Attempts[i+1]
				if !trace.SameArgs(first.Args, at.Args) {
					v.report(a, fmt.Sprintf("attempt %d of %s sent other arguments than the first: %s instead of %s",
						at.N, s.Tool, short(at.Args), short(first.Args)),
						"build the request once, before the loop; a body that can be read once must be kept to be sent again",
						first.Event, at.Event)
					return
				}
			}
		})
}

// OneKey is: every attempt of a series carries the idempotency key of its
// first, and no two actions share a key. Required also asks that there is one.
func OneKey(required bool) Invariant {
	text := "one idempotency key for one action, and never the same for two"
	return Invariant{Name: "one-key", Rule: text, Check: func(tr *trace.Trace) Verdict {
		k := keys{required: required}
		actions := tr.Actions()
		for i := range actions {
			for s := range actions[i].Series {
				k.series(i, &actions[i], &actions[i].Series[s])
			}
		}
		for i := range k.v.Findings {
			k.v.Findings[i].Invariant = "one-key"
		}
		return k.v
	}}
}

// keys follows the keys of a trace.
type keys struct {
	v        Verdict
	required bool
	seen     []usedKey
}

type usedKey struct {
	key    string
	action int
	event  int
	args   []byte
}

func (k *keys) series(n int, a *trace.Action, s *trace.Series) {
	first := &s.Attempts[0]
	if first.Key == "" && !k.required && !hasKey(s) {
		return
	}
	k.v.Applied++
	for i := range s.Attempts {
		at := &s.Attempts[i]
		switch {
		case at.Key == "" && k.required:
			k.v.report(a, fmt.Sprintf("attempt %d of %s carries no idempotency key", at.N, s.Tool),
				"make the key once, before the first attempt, and send it with each", at.Event)
			return
		case at.Key != first.Key:
			k.v.report(a, fmt.Sprintf("attempt %d of %s carries key %q, the first carried %q", at.N, s.Tool, at.Key, first.Key),
				"make the key once for the action, outside the retry loop: a fresh key makes each attempt a new action to the tool",
				first.Event, at.Event)
			return
		}
	}
	k.shared(n, a, s, first)
}

// shared reports a key that another action has used.
func (k *keys) shared(n int, a *trace.Action, s *trace.Series, first *trace.Attempt) {
	if first.Key == "" {
		return
	}
	for i := range k.seen {
		u := &k.seen[i]
		if u.key == first.Key && (u.action != n || !trace.SameArgs(u.args, first.Args)) {
			k.v.report(a, fmt.Sprintf("%s was called with key %q, which another action had used", s.Tool, first.Key),
				"derive the key from the action, not from the process, the user or the tool: the tool answers the second action with the first one's result",
				u.event, first.Event)
			return
		}
	}
	k.seen = append(k.seen, usedKey{first.Key, n, first.Event, first.Args})
}

func hasKey(s *trace.Series) bool {
	for i := range s.Attempts {
		if s.Attempts[i].Key != "" {
			return true
		}
	}
	return false
}

// OneEffect is: the tool does the work of one series at most once.
func OneEffect() Invariant {
	return rule("one-effect", "the tool does the work of one action at most once",
		func(v *Verdict, tr *trace.Trace, a *trace.Action) {
			if len(a.Effects) == 0 {
				return
			}
			for i := range a.Series {
				s := &a.Series[i]
				v.Applied++
				if done := effectsOf(tr, a, s); len(done) > 1 {
					v.report(a, fmt.Sprintf("%s did its work %d times for one action", s.Tool, len(done)),
						"after an outcome that is not known, repeat only with the same key, or ask the tool what became of it", done...)
				}
			}
		})
}

// effectsOf lists the effect events of the series' attempts.
func effectsOf(tr *trace.Trace, a *trace.Action, s *trace.Series) []int {
	var done []int
	for _, e := range a.Effects {
		call := tr.Events[e].Call
		for i := range s.Attempts {
			if s.Attempts[i].Call == call {
				done = append(done, e)
				break
			}
		}
	}
	return done
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
