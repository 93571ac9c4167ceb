package invariants

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Conforms is: after every answer the code does what the policy allows, and
// nothing else. It follows each series with the policy's automaton, so that
// giving up too early is found as surely as going on too long, and the waits
// are checked against their exact windows.
//
// An action during which an ambiguous call came is not judged: the call may
// have been the attempt that is missing. A policy that [Policy.Validate] refuses
// is a finding, and nothing is judged by it.
func Conforms(p Policy) Invariant {
	if err := p.Validate(); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return Invariant{Name: "conforms", Rule: "the policy makes sense", Check: func(*trace.Trace) Verdict {
			return broken("conforms", oneLine(first), "mend the policy first; Policy.Validate lists all that is wrong with it")
		}}
	}
	return conforms(p, nil)
}

// conforms is Conforms for code with a breaker; nil: it has none.
func conforms(p Policy, b *Breaker) Invariant {
	return sceneRule("conforms", fmt.Sprintf("the attempts are those of policy %q", p.ID),
		func(sc scene, a *trace.Action) Verdict {
			var v Verdict
			if sc.unsureOf(a) {
				return v
			}
			if a.Ended && len(a.Attempts) == 0 && !excusedFromCalling(&sc, a) && !settled(sc.tr.Actions(), a) {
				v.Applied++
				v.report(a, "the action ended without an attempt", "call the tool at least once", a.EndEvent)
			}
			for i := range a.Series {
				v.conform(&p, b, sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) conform(p *Policy, b *Breaker, sc scene, a *trace.Action, s *trace.Series) {
	w := p.walk(sc, a, s)
	for w.breaker = b; w.next(); {
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
	return timeUp(a) || writes(a.Restarts) > 0 || len(sc.between(a, a.Begin, a.End)) > 0
}

// judge words what is wrong with the step; empty: nothing.
func (w *walk) judge() (text, advice string) {
	switch {
	case w.then != nil && w.d.Do == Stop && w.wait() >= 0:
		return w.tooFar(w.p)
	case w.then != nil:
		return w.timing()
	case !w.a.Ended:
		return "", "" // the trace does not show what became of it
	case w.refused():
		return "", ""
	case w.d.Do == Go:
		if w.excused() {
			return "", ""
		}
		return w.tooEarly(w.p)
	case !w.last || !w.alone() || len(w.besides()) > 0:
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

// besides lists the calls that are no attempts since the action knew how this
// one went; after a crash in it, in all lives since.
func (w *walk) besides() []sideCall {
	since := w.end
	if len(w.crashes) > 0 {
		since = min(since, w.crashes[0].Crash)
	}
	return w.sc.between(w.a, since, w.a.End)
}

// excused reports whether a series may stop although attempts are left: the
// program asked what became of the attempt, or fetched credentials, and went
// by that; or a series that ran beside it decided the action's end.
func (w *walk) excused() bool {
	if len(w.besides()) > 0 {
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
	case reason == trace.ReasonSuccess && failedItems(a):
		return trace.ReasonPartial // the last request of a batch went through, an earlier one has lost items
	case reason != 0 || !a.Ended:
		return reason
	case a.Cancelled() && a.Cancel <= a.End:
		return trace.ReasonCancelled
	case a.Deadline != 0 && a.Deadline <= a.End:
		return trace.ReasonDeadline
	}
	return 0
}
