package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// retryable is: the flag says what the policy says of the last failure.
func (o Observation) retryable(p Policy) Invariant {
	return each("observation-retryable", "the retryable flag is true to the policy and to the last failure", func(h *handed) (v Verdict) {
		value, _ := h.at(o.Retryable)
		said, ok := value.(bool)
		last, may, known := p.mayCome(h)
		if !ok || !known {
			return v
		}
		v.Applied++
		if said == may {
			return v
		}
		text, advice := flagged(p.Of(last.Tool), said, last)
		v.report(h.a, text, advice, last.AnswerEvent, h.event)
		return v
	})
}

// mayCome tells whether the failure that the observation speaks of is worth
// retrying and safe to retry. That the attempts are used up changes nothing of
// it: the flag is about the failure, and how often it was met is the count's to
// say. known is false where the trace leaves it open.
func (p *Policy) mayCome(h *handed) (last *trace.Attempt, may, known bool) {
	now := h.tr.Events[h.event].At
	if h.a.Reason == trace.ReasonBreakerOpen || h.a.Cancelled() && h.a.Cancel <= now || h.a.Deadline != 0 && h.a.Deadline <= now {
		return nil, false, false
	}
	for i := range h.a.Series {
		at := h.lastOf(&h.a.Series[i])
		if at == nil || at.Seen && !at.Outcome.Failed() {
			continue
		}
		again, clear := p.Of(at.Tool).again(h.a, at)
		if !clear || known && again != may {
			return nil, false, false
		}
		last, may, known = at, again, true
	}
	return last, may, known
}

// lastOf is the last attempt of the series that began before the observation.
func (h *handed) lastOf(s *trace.Series) (last *trace.Attempt) {
	for i := range s.Attempts {
		if at := &s.Attempts[i]; at.Event < h.event {
			last = at
		}
	}
	return last
}

// again tells of one attempt whether it may be repeated. clear is false where
// its outcome can be read in two ways that differ in this, where its items have
// a class each, where a refresh or a correction may mend it, and where the program may know more, because it asks or because
// its own time was up.
func (p *Policy) again(a *trace.Action, at *trace.Attempt) (again, clear bool) {
	if !at.Seen || at.Outcome.Items != "" || p.mends(at.Outcome.Class) || p.corrects(&at.Outcome) || forgotten(a, at) {
		return false, false
	}
	ownTime := p.Budget > 0 && at.End-p.budgetFrom(a, a.Begin, at.Event) >= p.Budget && ownTimeout(at.Outcome.Class) == trace.Timeout
	asks := p.Reconcile && p.effect(&at.Outcome) == trace.EffectUnknown
	again, clear = p.repeats(at.Outcome), !ownTime && !asks
	if o, _, two := secondReading(at); two && (!o.Failed() || p.repeats(o) != again) {
		return false, false
	}
	return again, clear
}

// repeats reports whether the failure is worth retrying and safe to retry.
func (p *Policy) repeats(o trace.Outcome) bool {
	return p.retries(&o) && p.safe(&o)
}

// ownTimeout reads a cancelled attempt as the timeout that it is for code that
// ended it itself.
func ownTimeout(c trace.Class) trace.Class {
	if c == trace.Cancelled {
		return trace.Timeout
	}
	return c
}

// flagged words a flag that is not true.
func flagged(p *Policy, said bool, last *trace.Attempt) (text, advice string) {
	class := last.Outcome.Class
	switch {
	case !said:
		return fmt.Sprintf("the failure was handed on as final, and the policy retries %v", class),
			"set the flag by the class of the last failure; that the attempts are used up is for the count to say"
	case !p.safe(&last.Outcome):
		return fmt.Sprintf("the failure was handed on as retryable, and %s may have done its work (%v)", last.Tool, class),
			"say that the outcome is not known and what to look up; a second call may do it twice"
	}
	return fmt.Sprintf("the failure was handed on as retryable, and the policy does not retry %v", class),
		"set the flag by the class of the last failure, so that the model does not repeat a refused call"
}
