package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// SurvivesRestart is: an action whose retries are persisted goes on after a
// restart as if there had been none. It keeps the number of its attempts, the
// instant of the next one, its key and its arguments, and it is not given up
// (article: testing agent tool-call retry behavior, "the restored job must retain
// its attempt count, next eligible time, idempotency key, and original
// constraints"; field cases F033, F035, F063). It does not apply where the
// policy's Restart is not [RestartResumes].
func SurvivesRestart(p Policy) Invariant {
	return rareRule("survives-restart", "after a restart the action goes on where it was", restarted,
		func(sc scene, a *trace.Action) (v Verdict) {
			if p.Restart != RestartResumes {
				return v
			}
			for i := range a.Series {
				s := &a.Series[i]
				if v.kept(a, s); len(v.Findings) == 0 {
					v.resumes(&p, sc, a, s)
				}
				if len(v.Findings) == 0 {
					v.counted(p.Of(s.Tool), a, s)
				}
				if len(v.Findings) > 0 {
					return v
				}
			}
			return v
		})
}

// kept compares the key and the arguments on both sides of each crash. What
// changes without a crash as well is not the restart's fault.
func (v *Verdict) kept(a *trace.Action, s *trace.Series) {
	drift, keys := false, false
	for i := 1; i < len(s.Attempts); i++ {
		before, at := &s.Attempts[i-1], &s.Attempts[i]
		otherKey, otherArgs := at.Key != before.Key, !trace.SameArgs(at.Args, before.Args)
		if len(crashesSince(a, before.Event, at.Event)) == 0 {
			drift, keys = drift || otherArgs, keys || otherKey
			continue
		}
		v.Applied++
		switch {
		case otherKey && !keys:
			v.report(a, fmt.Sprintf("after the restart %s was called with %s, before it with %s", at.Tool, keyText(at.Key), keyText(before.Key)),
				"make the key once for the action, and write it down before the first attempt: to the tool a new key is a new action", before.Event, at.Event)
			return
		case otherArgs && !drift && before.Items == "":
			v.report(a, fmt.Sprintf("after the restart %s was called with %s, before it with %s", at.Tool, short(at.Args), short(before.Args)),
				"write the request down with the action, and do not make it anew from what is current", before.Event, at.Event)
			return
		}
	}
}

// counted finds a counter that begins anew.
func (v *Verdict) counted(p *Policy, a *trace.Action, s *trace.Series) {
	last := &s.Attempts[len(s.Attempts)-1]
	n := len(crashesSince(a, s.Attempts[0].Event, last.Event))
	if n == 0 || p.MaxAttempts == Unlimited {
		return
	}
	v.Applied++
	if made := len(s.Attempts) - p.spared(s.Attempts); made > p.MaxAttempts {
		v.report(a, fmt.Sprintf("%d attempts of %s over %s, at most %d are allowed in all", made, s.Tool, counted(n, "restart"), p.MaxAttempts),
			"write the count down before each attempt: a counter that begins anew with the process bounds nothing", last.Event)
	}
}

// resumes looks at what follows each crash.
func (v *Verdict) resumes(p *Policy, sc scene, a *trace.Action, s *trace.Series) {
	for w := p.walk(sc, a, s); w.next(); {
		if len(w.crashes) == 0 {
			continue
		}
		v.Applied++
		if text, advice := w.survives(); text != "" {
			answer, after := w.evidence()
			v.report(a, text, advice, answer, w.crashes[len(w.crashes)-1].UpEvent, after)
			return
		}
	}
}

// survives words what the restart made of the step; empty: nothing wrong.
func (w *walk) survives() (text, advice string) {
	switch {
	case w.then == nil && w.a.Ended && w.d.Do == Go && !w.excused() && endedDraining(w.a) == nil: // see [DrainHandsBack]
		return fmt.Sprintf("the action was given up by the restart, after attempt %d of %s, and more were allowed", w.at.N, w.at.Tool),
			"look through what is unfinished when the program begins, and go on with it"
	case w.then != nil && w.d.Do == Stop && w.d.Reason == trace.ReasonSuccess:
		return fmt.Sprintf("after the restart %s was called again, which had answered before it", w.at.Tool),
			"write each result down as soon as there is one, and look for it before the call"
	case w.then == nil || w.d.Do == Stop:
		return "", ""
	case w.wait() < w.lo():
		return fmt.Sprintf("after the restart attempt %d of %s came %v after the answer before it, the earliest is %v", w.then.N, w.then.Tool, w.wait(), w.lo()),
			"write down the instant of the next attempt, and wait for it after a restart too"
	case w.wait() > plus(w.d.Hi, w.side):
		return fmt.Sprintf("after the restart attempt %d of %s came %v after the answer before it, the latest is %v", w.then.N, w.then.Tool, w.wait(), w.d.Hi),
			"write down the instant of the next attempt and not the length of the wait, which a restart begins anew"
	}
	return "", ""
}
