package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// WaitsInWindow is: after an answer without a hint, the next attempt comes
// within the window of the policy's backoff (see [Backoff.Window]). A wait that a
// restart interrupts is the business of [SurvivesRestart]. The window
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
		if w.then == nil || w.d.Do == Stop || w.d.Hinted || len(w.crashes) > 0 {
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
// An attempt that began before the answer came could not know of it.
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
		if hint == 0 || len(w.crashes) > 0 || w.then != nil && !w.d.Hinted && w.d.Reason != trace.ReasonHintTooLong {
			continue
		}
		v.Applied++
		if w.then == nil {
			continue
		}
		if wait := w.wait(); wait >= 0 && wait < hint && (w.d.Do == Stop || wait < w.lo()) {
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
