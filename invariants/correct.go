package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Correct is what the code does about arguments that a tool rejects. The zero
// Correct is nothing: an invalid answer ends the action, which needs another
// input.
//
// With Once, one correction is allowed, and not called for: "one corrected call
// may be reasonable only when the schema or error supplies evidence" (Testing
// Agent Tool-Call Retry Behavior). The code looks at the tool's definition anew
// (a call of trace.RoleDefinitions), since the schema may have changed, and sends
// corrected arguments where the old value has a safe mapping. Ending at once is
// as good, for it may have none. The corrected call is an attempt like any other;
// it may come at once, or after the wait of the backoff. What a tool rejects
// after that ends the action.
type Correct struct {
	Once bool

	// FromError says that the words of the error are evidence enough, as where
	// they list the values that are allowed. False: the definition must have been
	// looked at, by this action or by another one.
	FromError bool

	// Fields are what a correction may change, add or take out: dotted paths in
	// the arguments, such as "unit"; over HTTP they begin with "body." or "query.".
	// Everything else, such as the city or the amount, stays. Empty: anything may
	// change.
	Fields []string
}

// corrects reports whether a correction may follow the outcome. A tool whose own
// word decides may call an invalid answer retryable, and then it is retried as it
// is; one that calls itself final is believed.
func (p *Policy) corrects(o *trace.Outcome) bool {
	return p.Correct.Once && o.Class == trace.Invalid && o.Items == "" && !p.retries(o) &&
		(p.Advice == AdviceIgnored || o.Advice != trace.AdviceStop)
}

// correct is the decision after an invalid answer: one correction, or the end.
func (s *Series) correct(o *trace.Outcome, at time.Duration) Decision {
	end := stop(trace.ReasonNeedsInput, at)
	end.also = s.overdue(at) | reasonSet(trace.ReasonRefused) | reasonSet(trace.ReasonEscalated)
	used := s.p.MaxAttempts != Unlimited && s.attempts >= s.p.MaxAttempts
	if used {
		end.also |= reasonSet(trace.ReasonExhausted)
	}
	if !s.affords() {
		end.also |= reasonSet(trace.ReasonBudget)
	}
	if s.unclear {
		end.also |= reasonSet(trace.ReasonOutcomeUnknown)
	}
	if s.corrected || used || !s.affords() {
		return end
	}
	s.corrected = true
	w := s.p.window(s.failures, s.waited, o)
	w.lo, w.hinted = 0, false
	d := s.fit(w, at, end.also|reasonSet(end.Reason))
	if d.Do == Go {
		d.Do, d.Reason, d.EndHi = Either, end.Reason, at
	}
	d.EndLo = at // whoever finds no safe mapping ends at once
	return d
}

func (v *validator) correct(p *Policy) {
	c := &p.Correct
	v.want(c.Once || !c.FromError && len(c.Fields) == 0, "Correct.Once", "is false while other fields say how arguments are corrected: set it, or clear them")
	v.want(!c.Once || !p.Retries(trace.Invalid), "Correct.Once", "is set, and Retry holds invalid too: arguments are corrected once or sent again as they are; take one out")
	v.want(!c.Once || p.MaxAttempts != 1, "Correct.Once", "is set, and MaxAttempts is 1, which leaves no room for the corrected call: allow a second attempt, or clear Correct")
	for _, field := range c.Fields {
		v.want(field != "", "Correct.Fields", "holds an empty path: name a field of the arguments, such as \"unit\"")
	}
}
