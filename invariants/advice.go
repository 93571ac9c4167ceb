package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// AdviceUse says what a failure's own word on retrying does (a flag in its error,
// trace.Outcome.Advice). Good programs differ: the flag of a tool of one's own is
// structured data, that of a stranger's is a claim.
type AdviceUse string

const (
	AdviceIgnored AdviceUse = ""        // the class decides alone
	AdviceStops   AdviceUse = "stops"   // a failure that calls itself final ends the action; one that calls itself retryable changes nothing
	AdviceDecides AdviceUse = "decides" // the word goes before the class, both ways; where the tool says nothing, the class decides
)

// retries reports whether the policy retries the failure, by its class and by its
// own word. Whether a repeat is safe is another question.
func (p *Policy) retries(o *trace.Outcome) bool {
	switch {
	case p.Advice != AdviceIgnored && o.Advice == trace.AdviceStop:
		return false
	case p.Advice == AdviceDecides && o.Advice == trace.AdviceRetry && o.Class != trace.Declined:
		return true
	}
	return p.Retries(ownTimeout(o.Class))
}

func (v *validator) advice(p *Policy) {
	v.want(p.Advice == AdviceIgnored || p.Advice == AdviceStops || p.Advice == AdviceDecides, "Advice", "is %q; say AdviceIgnored, AdviceStops or AdviceDecides", p.Advice)
}

// AdviceHeeded is: after a failure that calls itself final no attempt follows,
// where the policy heeds such a word ("the tool adapters know the operation
// contract", Testing Agent Tool-Call Retry Behavior). It does not apply to a policy
// that ignores it.
func AdviceHeeded(p Policy) Invariant {
	return seriesRule("advice-heeded", "a failure that calls itself final ends the action",
		func(a *trace.Action, s *trace.Series) (v Verdict) {
			if p.Of(s.Tool).Advice == AdviceIgnored {
				return v
			}
			for i := range s.Attempts {
				at := &s.Attempts[i]
				if !at.Seen || at.Outcome.Advice != trace.AdviceStop {
					continue
				}
				v.Applied++
				again := after(s, i)
				if again == nil {
					continue
				}
				if _, when, two := secondReading(at); two && when <= again.Begin {
					continue // its caller may have gone by the end of its own time
				}
				v.report(a, fmt.Sprintf("%s was called again after a failure (%v) that calls itself final", s.Tool, at.Outcome.Class),
					"read the flag of the error beside its class", at.AnswerEvent, again.Event)
				return v
			}
			return v
		})
}
