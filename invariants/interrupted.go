package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// InterruptedAuditable is: an action whose retries are in memory only does not
// go on after a restart, and does not vanish: the tool is not called, and the
// action ends as interrupted, or as what its last answer amounted to (article:
// testing agent tool-call retry behavior, "an auditable interrupted result
// instead of silently losing the action"). An action that died before its first
// attempt may be begun afresh: nothing of it can be written down yet. It does not
// apply where the policy's Restart is not [RestartInterrupts].
func InterruptedAuditable(p Policy) Invariant {
	return rareRule("interrupted-auditable", "after a restart the action ends as interrupted and calls nothing", restarted,
		func(sc scene, a *trace.Action) (v Verdict) {
			if p.Restart != RestartInterrupts {
				return v
			}
			v.Applied++
			crash := a.Restarts[0].CrashEvent
			for i := range a.Attempts {
				if at := &a.Attempts[i]; at.Event > crash && a.Attempts[0].Event < lastCrash(a, at.Event) {
					v.report(a, fmt.Sprintf("%s was called after the restart, and nothing of the action is said to outlive one", at.Tool),
						"end what was interrupted as interrupted, or persist the attempts and declare RestartResumes", crash, at.Event)
					return v
				}
			}
			if a.Ended && !p.auditable(&sc, a) {
				v.report(a, fmt.Sprintf("the action was interrupted by a restart and ends %s", called(a)),
					"write down that an action has begun before its first attempt, and give what is unfinished a result that says interrupted when the program begins", crash, a.EndEvent)
			}
			return v
		})
}

// lastCrash is the event of the action's last crash before an event.
func lastCrash(a *trace.Action, before int) (event int) {
	for _, r := range a.Restarts {
		if r.CrashEvent < before {
			event = r.CrashEvent
		}
	}
	return event
}

// auditable reports whether the end is one that a reader can follow.
func (p *Policy) auditable(sc *scene, a *trace.Action) bool {
	if (soft &^ reasonSet(trace.ReasonEscalated)).has(a.Reason) {
		return true
	}
	if a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess) {
		return true // whether it may say so is the business of HonestEnding
	}
	for i := range a.Series {
		for w := p.walk(*sc, a, &a.Series[i]); w.next(); {
			if w.last && (w.d.Allows(a.Reason) || a.Reason == 0 && w.d.Reason != trace.ReasonInterrupted) {
				return true
			}
		}
	}
	return false
}

// called says how an action ends.
func called(a *trace.Action) string {
	if a.Reason == 0 {
		return fmt.Sprintf("with %q, which does not tell of it", short([]byte(a.Error)))
	}
	return "as " + a.Reason.String()
}
