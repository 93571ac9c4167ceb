package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// tooFar words an attempt that the policy does not allow.
func (s *step) tooFar(p *Policy) (text, advice string) {
	n, tool := s.then.N, s.then.Tool
	if s.d.spent {
		return overspent(p, tool, n)
	}
	switch s.d.Reason {
	case trace.ReasonSuccess:
		return fmt.Sprintf("%s was called again after it had answered", tool), "stop at the first success"
	case trace.ReasonExhausted:
		return fmt.Sprintf("attempt %d of %s, the policy allows %d", n, tool, p.MaxAttempts), "count attempts, the first included"
	case trace.ReasonHintTooLong:
		return fmt.Sprintf("attempt %d of %s came although it asked for a wait of %v, which is too long for the policy or the deadline", n, tool, s.went.Hint),
			"stop and hand the hint to the caller"
	case trace.ReasonOutcomeUnknown:
		return fmt.Sprintf("%s was called again after %v, when it may have done its work and the action is not safe to repeat", tool, s.went.Class),
			"send an idempotency key with every attempt, or ask the tool what became of the first"
	case trace.ReasonDeadline, trace.ReasonBudget, trace.ReasonCancelled:
		return fmt.Sprintf("attempt %d of %s came %v after the answer, although the action's time ended before (%v)", n, tool, s.wait(), s.d.Reason),
			"look at the time that is left before each wait"
	}
	return fmt.Sprintf("%s was called again after %v, which the policy does not retry", tool, s.went.Class),
		"decide from the class of this answer alone"
}

// timing words a wait outside its window.
func (s *step) timing() (text, advice string) {
	switch wait := s.wait(); {
	case wait < 0:
		return fmt.Sprintf("attempt %d of %s began %v before attempt %d had answered", s.then.N, s.then.Tool, -wait, s.at.N),
			"one attempt at a time, unless hedging is declared"
	case wait < s.lo():
		return fmt.Sprintf("attempt %d of %s came %v after the answer, the earliest is %v", s.then.N, s.then.Tool, wait, s.lo()),
			"look at the growth of the wait, at its jitter and at the unit of its numbers"
	case wait > plus(s.d.Hi, s.side):
		return fmt.Sprintf("attempt %d of %s came %v after the answer, the latest is %v", s.then.N, s.then.Tool, wait, s.d.Hi),
			"look at the growth of the wait, at its cap and at whether the cap comes after the jitter"
	}
	return "", ""
}

// tooEarly words an end that leaves permitted attempts unused.
func (s *step) tooEarly(p *Policy) (text, advice string) {
	limit := fmt.Sprintf("the policy allows %d", p.MaxAttempts)
	switch {
	case p.Most() != p.MaxAttempts:
		limit = fmt.Sprintf("the policy pays for %d", p.Most())
	case p.MaxAttempts == Unlimited:
		limit = "the policy goes on until the budget"
	}
	if p.mends(s.went.Class) {
		return fmt.Sprintf("%s was given up after attempt %d (%v), the policy calls for fresh credentials and another attempt", s.at.Tool, s.at.N, s.went.Class),
			"refresh the credentials once, and repeat the attempt with what that brought"
	}
	return fmt.Sprintf("%s was given up after attempt %d (%v), %s", s.at.Tool, s.at.N, s.went.Class, limit),
		"see whether this class is really retried, whether the count is of attempts or of retries, and whether a timeout of one attempt is taken for the caller's"
}

// ending words an end at the wrong instant.
func (s *step) ending() (text, advice string) {
	switch {
	case s.a.End < s.d.EndLo:
		return fmt.Sprintf("the action ended %v before the %v that could end it", s.d.EndLo-s.a.End, s.d.Reason),
			"wait for the next attempt until something ends the wait"
	case s.a.End > plus(s.d.EndHi, s.side):
		return fmt.Sprintf("the action ended %v too late (%v)", s.a.End-s.d.EndHi, s.d.Reason),
			"decide whether there is a next attempt before the wait, not after it"
	}
	return "", ""
}

// reading compares the reason that the program gives with the policy's.
func (s *step) reading() (text, advice string) {
	if s.agreed() {
		return "", ""
	}
	return fmt.Sprintf("the program calls its end %v, the attempts amount to %v", s.a.Reason, s.d.Reason),
		"see how the adapter reads its own errors"
}
