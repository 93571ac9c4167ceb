package invariants

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Conforms is: after every answer the code does what the policy allows, and
// nothing else. It follows each series with the policy's automaton, so that
// giving up too early is found as surely as going on too long, and the waits
// are checked against their exact windows.
func Conforms(p Policy) Invariant {
	return rule("conforms", fmt.Sprintf("the attempts are those of policy %q", p.ID),
		func(v *Verdict, tr *trace.Trace, a *trace.Action) {
			if a.Ended && len(a.Attempts) == 0 && !a.Cancelled() && a.Deadline == 0 {
				v.Applied++
				v.report(a, "the action ended without an attempt", "call the tool at least once", a.EndEvent)
			}
			for i := range a.Series {
				walk(&p, a, &a.Series[i], func(s *step) bool {
					v.Applied++
					text, advice := s.judge(&p, tr)
					if text == "" {
						return true
					}
					v.report(a, text, advice, s.evidence()...)
					return false
				})
			}
		})
}

// WaitsInWindow is: after an answer without a hint, the next attempt comes
// within the window of the policy's backoff.
func WaitsInWindow(p Policy) Invariant {
	return seriesRule("waits-in-window", "the waits between attempts are those of the backoff",
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			walk(&p, a, s, func(s *step) bool {
				if s.next == nil || s.d.Do == Stop || s.d.Hinted {
					return true
				}
				v.Applied++
				if text, advice := s.timing(); text != "" {
					v.report(a, text, advice, s.evidence()...)
					return false
				}
				return true
			})
		})
}

// HintHonoured is: after an answer with a hint that the policy follows, the
// next attempt does not come before the hint allows it.
func HintHonoured(p Policy) Invariant {
	return seriesRule("hint-honoured", "the tool's own wait is honoured, or the action stops",
		func(v *Verdict, a *trace.Action, s *trace.Series) {
			walk(&p, a, s, func(s *step) bool {
				hint := s.at.Outcome.Hint
				if hint <= 0 || p.hint(s.at.Outcome) == 0 {
					return true
				}
				if s.next == nil {
					v.Applied++
					return true
				}
				if !s.d.Hinted && s.d.Reason != trace.ReasonHintTooLong {
					return true
				}
				v.Applied++
				if wait := s.wait(); wait < hint && (s.d.Do == Stop || wait < s.d.Lo) {
					v.report(a, fmt.Sprintf("%s asked for a wait of %v and was called again after %v", s.at.Tool, hint, wait),
						"read Retry-After in all its forms (seconds, HTTP-date, milliseconds) and wait at least that long, or stop", s.evidence()...)
					return false
				}
				return true
			})
		})
}

// A step is one answer, what the policy allows after it, and what followed.
type step struct {
	a    *trace.Action
	at   *trace.Attempt
	next *trace.Attempt // nil: the series ends here
	last bool           // at is the action's last attempt
	end  time.Duration  // instant of the answer that the caller went by
	d    Decision
}

// walk follows one series with the automaton until visit returns false.
// Attempts whose outcome the action did not live to see are passed over.
func walk(p *Policy, a *trace.Action, s *trace.Series, visit func(*step) bool) {
	series := p.Start(a.Begin, a.Deadline)
	if a.Cancelled() {
		series.Cancel(a.Cancel)
	}
	var st step
	for i := range s.Attempts {
		at := &s.Attempts[i]
		if !at.Seen || a.Ended && at.End > a.End || a.Ended && at.Event > a.EndEvent {
			return
		}
		series.Began(at.Begin)
		st = step{a: a, at: at, end: at.End, last: at.Event == a.Attempts[len(a.Attempts)-1].Event}
		if i+1 < len(s.Attempts) {
			st.next = &s.Attempts[i+1]
		}
		st.decide(&series)
		if !visit(&st) {
			return
		}
	}
}

// decide asks the automaton. Where a tool that ignored its context answered
// after all, the code may have gone by either the end of the context or the
// answer: the reading under which it conforms is taken.
func (s *step) decide(series *Series) {
	before := *series
	s.d = series.Next(s.at.Outcome, s.at.End)
	if s.at.Interrupted == 0 || s.at.AnswerEvent < 0 || s.fits() {
		return
	}
	late := *s
	other := before
	late.end = s.at.Answered
	late.d = other.Next(s.at.Answer, s.at.Answered)
	if late.followed() >= late.end && late.fits() {
		*s, *series = late, other
	}
}

// followed is the instant of what came next: an attempt or the action's end.
func (s *step) followed() time.Duration {
	if s.next != nil {
		return s.next.Begin
	}
	return s.a.End
}

// fits reports whether what followed is what the decision allows.
func (s *step) fits() bool {
	if s.next != nil {
		return s.d.Do != Stop && s.wait() >= s.d.Lo && s.wait() <= s.d.Hi
	}
	return s.d.Do != Go && (!s.a.Ended || !s.last || s.a.End >= s.d.EndLo && s.a.End <= s.d.EndHi)
}

func (s *step) wait() time.Duration { return s.next.Begin - s.end }

func (s *step) evidence() []int {
	if s.next != nil {
		return []int{s.at.AnswerEvent, s.next.Event}
	}
	return []int{s.at.AnswerEvent, s.a.EndEvent}
}

func (s *step) judge(p *Policy, tr *trace.Trace) (text, advice string) {
	if s.next != nil {
		if s.d.Do == Stop {
			return s.tooFar(p)
		}
		return s.timing()
	}
	if !s.a.Ended {
		return "", ""
	}
	if s.d.Do == Go {
		return s.tooEarly(p)
	}
	if s.last && !otherCalls(tr, s.a, s.end, s.a.End) {
		if text, advice = s.ending(); text != "" {
			return text, advice
		}
	}
	return s.reading()
}

// tooFar words an attempt that the policy does not allow.
func (s *step) tooFar(p *Policy) (text, advice string) {
	n, tool := s.next.N, s.next.Tool
	switch s.d.Reason {
	case trace.ReasonSuccess:
		return fmt.Sprintf("%s was called again after it had answered", tool), "stop at the first success"
	case trace.ReasonExhausted:
		return fmt.Sprintf("attempt %d of %s, the policy allows %d", n, tool, p.MaxAttempts), "count attempts, the first included"
	case trace.ReasonHintTooLong:
		return fmt.Sprintf("attempt %d of %s came although it asked for a wait of %v, which is too long for the policy or the deadline", n, tool, s.at.Outcome.Hint),
			"stop and hand the hint to the caller"
	case trace.ReasonOutcomeUnknown:
		return fmt.Sprintf("%s was called again after %v, when it may have done its work and the action is not safe to repeat", tool, s.at.Outcome.Class),
			"send an idempotency key with every attempt, or ask the tool what became of the first"
	case trace.ReasonDeadline, trace.ReasonBudget, trace.ReasonCancelled:
		return fmt.Sprintf("attempt %d of %s came %v after the answer, although the action's time ended before (%v)", n, tool, s.wait(), s.d.Reason),
			"look at the time that is left before each wait"
	}
	return fmt.Sprintf("%s was called again after %v, which the policy does not retry", tool, s.at.Outcome.Class),
		"decide from the class of this answer alone"
}

// timing words a wait outside its window.
func (s *step) timing() (text, advice string) {
	switch wait := s.wait(); {
	case wait < 0:
		return fmt.Sprintf("attempt %d of %s began %v before attempt %d had answered", s.next.N, s.next.Tool, -wait, s.at.N),
			"one attempt at a time, unless hedging is declared"
	case wait < s.d.Lo:
		return fmt.Sprintf("attempt %d of %s came %v after the answer, the earliest is %v", s.next.N, s.next.Tool, wait, s.d.Lo),
			"look at the growth of the wait, at its jitter and at the unit of its numbers"
	case wait > s.d.Hi:
		return fmt.Sprintf("attempt %d of %s came %v after the answer, the latest is %v", s.next.N, s.next.Tool, wait, s.d.Hi),
			"look at the growth of the wait, at its cap and at whether the cap comes after the jitter"
	}
	return "", ""
}

// tooEarly words an end that leaves permitted attempts unused.
func (s *step) tooEarly(p *Policy) (text, advice string) {
	limit := fmt.Sprintf("the policy allows %d", p.MaxAttempts)
	if p.MaxAttempts == Unlimited {
		limit = "the policy goes on until the budget"
	}
	return fmt.Sprintf("%s was given up after %d attempts and %v, %s", s.at.Tool, s.at.N, s.at.Outcome.Class, limit),
		"see whether this class is really retried, whether the count is of attempts or of retries, and whether a timeout of one attempt is taken for the caller's"
}

// ending words an end at the wrong instant.
func (s *step) ending() (text, advice string) {
	switch {
	case s.a.End < s.d.EndLo:
		return fmt.Sprintf("the action ended %v before the %v that could end it", s.d.EndLo-s.a.End, s.d.Reason),
			"wait for the next attempt until something ends the wait"
	case s.a.End > s.d.EndHi:
		return fmt.Sprintf("the action ended %v too late (%v)", s.a.End-s.d.EndHi, s.d.Reason),
			"decide whether there is a next attempt before the wait, not after it"
	}
	return "", ""
}

// reading compares the reason that the program gives with the policy's.
func (s *step) reading() (text, advice string) {
	said := s.a.Reason
	if said == 0 || !s.last || said == s.d.Reason {
		return "", ""
	}
	if said == trace.ReasonSuccess || s.d.Reason == trace.ReasonSuccess {
		return "", "" // the honesty of a success is a rule of its own
	}
	if s.d.Do == Either && timeReasons.has(said) {
		return "", ""
	}
	return fmt.Sprintf("the program calls its end %v, the attempts amount to %v", said, s.d.Reason),
		"see how the adapter reads its own errors"
}

// A set of reasons.
type reasons uint32

const timeReasons = reasons(1<<trace.ReasonDeadline | 1<<trace.ReasonBudget | 1<<trace.ReasonHintTooLong | 1<<trace.ReasonCancelled)

func (s reasons) has(r trace.Reason) bool { return s&(1<<r) != 0 }

// Terminal is the terminal reason that the action's attempts amount to under
// the policy; zero where they do not end it.
func (p *Policy) Terminal(a *trace.Action) trace.Reason {
	var reason trace.Reason
	for i := range a.Series {
		walk(p, a, &a.Series[i], func(s *step) bool {
			if s.last {
				reason = 0
				if s.d.Do != Go {
					reason = s.d.Reason
				}
			}
			return true
		})
	}
	if len(a.Attempts) == 0 && a.Cancelled() {
		return trace.ReasonCancelled
	}
	return reason
}

// Invariants returns all that the contract implies. The narrow rules come
// first, so that the first finding names the fault; [Conforms] comes last.
func (p Policy) Invariants() []Invariant {
	list := []Invariant{NoPanic(), NoSpin()}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns(), NoRetryAfter(p.refused()...), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoFirstDelay(), HintHonoured(p), WaitsInWindow(p), noLastDelay(&p, true),
	)
	if p.MaxAttempts != Unlimited {
		list = append(list, MaxAttempts(p.MaxAttempts))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, HonestEnding(), OneTerminal(), NothingLeft(), Conforms(p))
}
