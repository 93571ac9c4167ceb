package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// ReconciledFirst is: after an outcome that is not known, the tool is asked
// what became of the attempt, and has answered, before it is called again. It
// is for transfers of funds and their like, where a key alone is not trusted:
// "strong idempotency and authoritative status check" (article: testing agent
// tool-call retry behavior; field cases F028, F031). It does not apply to
// outcomes that say what happened.
func ReconciledFirst(p Policy) Invariant {
	return sceneRule("reconciled-first", "a tool that may have done its work is asked before it is called again",
		func(sc scene, a *trace.Action) (v Verdict) {
			if sc.unsureOf(a) {
				return v
			}
			for i := range a.Series {
				v.reconciling(&p, &sc, a, &a.Series[i])
			}
			return v
		})
}

func (v *Verdict) reconciling(p *Policy, sc *scene, a *trace.Action, s *trace.Series) {
	for i := range s.Attempts[1:] {
		before, at := &s.Attempts[i], &s.Attempts[i+1]
		if !before.Lost && (!before.Seen || p.effect(&before.Outcome) != trace.EffectUnknown) {
			continue
		}
		after := before.Outcome.Class.String()
		if before.Lost {
			after = "a restart in its middle"
		}
		v.Applied++
		if !asked(sc, a, before, at) {
			v.report(a, fmt.Sprintf("%s was called again after %s without asking first what became of it", at.Tool, after),
				"look the attempt up by its key, and repeat it only where the tool says that it was not done", max(before.AnswerEvent, before.Event), at.Event)
			return
		}
	}
}

// asked reports whether a reconciliation was answered between the attempts.
func asked(sc *scene, a *trace.Action, before, at *trace.Attempt) bool {
	for _, c := range sc.between(a, before.End, at.Begin) {
		if c.role == trace.RoleReconcile && c.ok && c.to <= at.Begin {
			return true
		}
	}
	return false
}
