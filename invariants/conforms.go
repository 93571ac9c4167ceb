package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// Conforms is: after every answer the code does what the policy allows, and
// nothing else. It follows each series with the policy's automaton, so that
// giving up too early is found as surely as going on too long, and the waits
// are checked against their exact windows.
//
// An action during which an ambiguous call came is not judged: the call may
// have been the attempt that is missing.
func Conforms(p Policy) Invariant {
	return sceneRule("conforms", fmt.Sprintf("the attempts are those of policy %q", p.ID),
		func(sc scene, a *trace.Action) Verdict {
			var v Verdict
			if sc.unsureOf(a) {
				return v
			}
			if a.Ended && len(a.Attempts) == 0 && !excusedFromCalling(&sc, a) {
				v.Applied++
				v.report(a, "the action ended without an attempt", "call the tool at least once", a.EndEvent)
			}
			for i := range a.Series {
				v.conform(&p, sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) conform(p *Policy, sc scene, a *trace.Action, s *trace.Series) {
	for w := p.walk(sc, a, s); w.next(); {
		v.Applied++
		if text, advice := w.judge(); text != "" {
			answer, after := w.evidence()
			v.report(a, text, advice, answer, after)
			return
		}
	}
}

// excusedFromCalling reports whether an action may end without an attempt: its
// time was over, credentials could not be had, or it says what forbade it.
func excusedFromCalling(sc *scene, a *trace.Action) bool {
	switch a.Reason {
	case trace.ReasonNeedsInput, trace.ReasonBreakerOpen, trace.ReasonInterrupted, trace.ReasonEscalated:
		return true
	}
	return timeUp(a) || len(sc.between(a, a.Begin, a.End)) > 0
}

// WaitsInWindow is: after an answer without a hint, the next attempt comes
// within the window of the policy's backoff (see [Backoff.Window]). The window
// is checked and never one value (AWS Architecture Blog, "Exponential Backoff
// And Jitter").
func WaitsInWindow(p Policy) Invariant {
	return sceneRule("waits-in-window", "the waits between attempts are those of the backoff",
		func(sc scene, a *trace.Action) Verdict {
			var v Verdict
			if sc.unsureOf(a) {
				return v
			}
			for i := range a.Series {
				v.waits(&p, sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) waits(p *Policy, sc scene, a *trace.Action, s *trace.Series) {
	for w := p.walk(sc, a, s); w.next(); {
		if w.then == nil || w.d.Do == Stop || w.d.Hinted {
			continue
		}
		v.Applied++
		if text, advice := w.timing(); text != "" {
			answer, after := w.evidence()
			v.report(a, text, advice, answer, after)
			return
		}
	}
}

// HintHonoured is: after an answer with a hint that the policy follows
// (Retry-After, RFC 9110 section 10.2.3), the next attempt does not come
// before the hint allows it; stopping honours it too. Field cases F009, F010.
func HintHonoured(p Policy) Invariant {
	return sceneRule("hint-honoured", "the tool's own wait is honoured, or the action stops",
		func(sc scene, a *trace.Action) Verdict {
			var v Verdict
			if sc.unsureOf(a) {
				return v
			}
			for i := range a.Series {
				v.hints(&p, sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) hints(p *Policy, sc scene, a *trace.Action, s *trace.Series) {
	if !hinted(s) {
		return
	}
	for w := p.walk(sc, a, s); w.next(); {
		hint := p.hint(&w.went)
		if hint == 0 || w.then != nil && !w.d.Hinted && w.d.Reason != trace.ReasonHintTooLong {
			continue
		}
		v.Applied++
		if w.then == nil {
			continue
		}
		if wait := w.wait(); wait < hint && (w.d.Do == Stop || wait < w.lo()) {
			answer, after := w.evidence()
			v.report(a, fmt.Sprintf("%s asked for a wait of %v and was called again after %v", w.at.Tool, hint, wait),
				"read Retry-After in all its forms (seconds, HTTP-date, milliseconds) and wait at least that long, or stop", answer, after)
			return
		}
	}
}

// hinted reports whether the tool asked for a wait at all.
func hinted(s *trace.Series) bool {
	for i := range s.Attempts {
		if s.Attempts[i].Outcome.Hint > 0 || s.Attempts[i].Answer.Hint > 0 {
			return true
		}
	}
	return false
}

func (w *walk) judge() (text, advice string) {
	switch {
	case w.then != nil && w.d.Do == Stop:
		return w.tooFar(w.p)
	case w.then != nil:
		return w.timing()
	case !w.a.Ended:
		return "", "" // the trace does not show what became of it
	case w.d.Do == Go:
		if w.excused() {
			return "", ""
		}
		return w.tooEarly(w.p)
	case !w.last || !w.alone() || len(w.sc.between(w.a, w.end, w.a.End)) > 0:
		return "", ""
	}
	if text, advice = w.ending(); text != "" {
		return text, advice
	}
	return w.reading()
}

// alone reports whether no other attempt of the action was under way when this
// one ended, so that the action's end follows from it.
func (s *step) alone() bool {
	if len(s.a.Series) == 1 {
		return true
	}
	for i := range s.a.Attempts {
		if at := &s.a.Attempts[i]; !at.Seen || at.End > s.end {
			return false
		}
	}
	return true
}

// excused reports whether a series may stop although attempts are left: the
// program asked what became of the attempt, or fetched credentials, and went
// by that; or a series that ran beside it decided the action's end.
func (w *walk) excused() bool {
	if len(w.sc.between(w.a, w.end, w.a.End)) > 0 {
		return true
	}
	for i := range w.a.Series {
		attempts := w.a.Series[i].Attempts
		first, last := &attempts[0], &attempts[len(attempts)-1]
		if first.Event == w.s.Attempts[0].Event || !last.Seen {
			continue
		}
		beside := first.Begin < w.end || first.Begin == w.end && first.Event < w.at.AnswerEvent
		if beside && last.End >= w.end && last.End-w.end <= w.d.Hi {
			return true
		}
	}
	return false
}

// tooFar words an attempt that the policy does not allow.
func (s *step) tooFar(p *Policy) (text, advice string) {
	n, tool := s.then.N, s.then.Tool
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
	if p.MaxAttempts == Unlimited {
		limit = "the policy goes on until the budget"
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
	case s.a.End > s.d.EndHi:
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

// Terminal is the terminal reason that the action's attempts amount to under
// the policy; zero where they do not end it. Where several reasons are true
// (see [Decision.Allows]) it is the first that a careful program would give.
func (p *Policy) Terminal(a *trace.Action) trace.Reason {
	var reason trace.Reason
	for i := range a.Series {
		for w := p.walk(scene{}, a, &a.Series[i]); w.next(); {
			if w.last && w.then == nil && w.d.Do != Go {
				reason = w.d.Reason
			}
		}
	}
	switch {
	case reason != 0 || !a.Ended:
		return reason
	case a.Cancelled() && a.Cancel <= a.End:
		return trace.ReasonCancelled
	case a.Deadline != 0 && a.Deadline <= a.End:
		return trace.ReasonDeadline
	}
	return 0
}
