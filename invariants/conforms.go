package invariants

import (
	"fmt"
	"slices"
	"time"

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
func Conforms(p Policy) Invariant { return conforms(Contract{Policy: p}) }

// conforms is Conforms for code with what else is declared.
func conforms(c Contract) Invariant {
	p := &c.Policy
	if err := p.Validate(); err != nil {
		return unsound("conforms", err)
	}
	return sceneRule("conforms", fmt.Sprintf("the attempts are those of policy %q", p.ID),
		func(sc scene, a *trace.Action) Verdict {
			var v Verdict
			if sc.unsureOf(a) {
				return v
			}
			if a.Ended && len(a.Attempts) == 0 && len(a.Hits) == 0 && !excusedFromCalling(&sc, a) && !settled(sc.tr.Actions(), a) && !(c.Allowance != nil && a.Reason == trace.ReasonBudget) {
				v.Applied++
				v.report(a, "the action ended without an attempt", "call the tool at least once", a.EndEvent)
			}
			for i := range a.Series {
				w := p.walk(sc, a, &a.Series[i])
				w.behind(&c)
				v.conform(&w)
			}
			return v
		})
}

func (v *Verdict) conform(w *walk) {
	for w.next() {
		v.Applied++
		if text, advice := w.judge(); text != "" {
			answer, after := w.evidence()
			v.report(w.a, text, advice, answer, after)
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
	return timeUp(a) || writes(a.Restarts) > 0 || sc.excuses(a, a.Begin, a.End, -1)
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
		return w.goesOn()
	case !w.last || !w.alone() || w.chunked() || w.besides():
		return "", ""
	}
	if text, advice = w.ending(); text == "" {
		text, advice = w.reading()
	}
	if text != "" && w.outwaited() {
		return "", ""
	}
	return text, advice
}

// outwaited reports whether a series that ran beside this one was still waiting, as
// its policy lets it, when this one had its answer. The action ends with that wait
// then, such as at a cancel.
func (w *walk) outwaited() bool {
	for i := range w.a.Series {
		s := &w.a.Series[i]
		if s.Attempts[0].Event == w.s.Attempts[0].Event {
			continue
		}
		other := w.all.walk(w.sc, w.a, s)
		for other.next() {
		}
		if other.at != nil && other.then == nil && other.d.Do != Go && other.d.EndHi > w.d.EndHi && other.d.EndHi >= w.a.End {
			return true
		}
	}
	return false
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

// besides reports whether a call that is no attempt can have decided the action's
// end since it knew how this one went; after a crash in it, in all lives since.
func (w *walk) besides() bool {
	since, after := w.end, w.at.AnswerEvent
	if len(w.crashes) > 0 {
		since, after = min(since, w.crashes[0].Crash), -1
	}
	return w.sc.excuses(w.a, since, w.a.End, after)
}

// excused reports whether a series may stop although attempts are left: the
// program asked what became of the attempt, or fetched credentials, and went
// by that, or its limiter did not let it through; or a series that ran beside it decided the action's end.
func (w *walk) excused() bool {
	if w.p.mends(w.went.Class) && !timeUp(w.a) {
		return w.unfresh()
	}
	if w.besides() || w.servedInstead() {
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

// servedInstead reports whether a success that was answered without a call took
// the place of the next attempt.
func (w *walk) servedInstead() bool {
	for _, i := range w.a.Hits {
		e := &w.sc.tr.Events[i]
		if i < w.a.EndEvent && e.At >= w.end && e.Tool == w.s.Tool && e.Outcome.Class == trace.OK {
			return true
		}
	}
	return false
}

// unfresh reports whether fresh credentials could not be had, so that there is
// nothing to repeat the attempt with. Where refreshes are shared it may be
// another caller's that failed.
func (w *walk) unfresh() bool {
	for name, calls := range w.sc.side {
		for _, c := range calls {
			if c.role == trace.RoleAuth && !c.ok && c.from <= w.a.End && c.to >= w.end && (name == w.a.Name || w.p.Refresh.Shared) {
				return true
			}
		}
	}
	return false
}

// Terminal is the terminal reason that the action's attempts amount to under
// the policy; zero where they do not end it. Where several reasons are true
// (see [Decision.Allows]) it is the first that a careful program would give.
func (p *Policy) Terminal(a *trace.Action) trace.Reason {
	var reason trace.Reason
	latest, seen := time.Duration(-1), false
	for i := range a.Series {
		for w := p.walk(scene{}, a, &a.Series[i]); w.next(); {
			if seen = seen || w.last; w.then != nil || w.end < latest {
				continue // of series side by side, the one that ended last ended the action
			}
			if latest, reason = w.end, 0; w.d.Do != Go {
				reason = w.d.Reason
			}
		}
	}
	if !seen {
		reason = 0
	}
	if reason == trace.ReasonSuccess && a.Cause > 0 {
		reason = p.endOf(a, a.Cause)
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

// endOf is the terminal reason of the series in which the call is: an action that
// keeps its error has not ended with the success of a series beside it.
func (p *Policy) endOf(a *trace.Action, call int) (reason trace.Reason) {
	for i := range a.Series {
		s := &a.Series[i]
		if !slices.ContainsFunc(s.Attempts, func(at trace.Attempt) bool { return at.Call == call }) {
			continue
		}
		w := p.walk(scene{}, a, s)
		for w.next() {
		}
		if w.at != nil && w.d.Do != Go {
			return w.d.Reason
		}
	}
	return 0
}
