package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// NoEffectAfterEnd is: when an action returns, none of its calls is left at
// work that has its effect later (field case F076: "no tool is running and no
// effect happens after the run's terminal"). A call whose context had ended was
// told, and one that had been answered was seen: their late effects are the
// tool's affair. An answer whose body the action hands to its caller has had
// its effect before.
func NoEffectAfterEnd() Invariant {
	return rule("no-effect-after-end", "no call is left at work that has its effect after the action has returned",
		func(tr *trace.Trace, a *trace.Action) (v Verdict) {
			if !a.Ended {
				return v
			}
			for i := range a.Attempts {
				at := &a.Attempts[i]
				if at.Event > a.EndEvent || !atWork(at, a) {
					continue
				}
				v.Applied++
				if e := lateEffect(tr, a, at.Call); e >= 0 {
					v.report(a, fmt.Sprintf("%s was left at work when the action returned, and did it %v later", at.Tool, tr.Events[e].At-a.End),
						"cancel the calls beside the one that failed, and wait for them, before the action returns", at.Event, a.EndEvent, e)
					return v
				}
			}
			return v
		})
}

// atWork reports whether the attempt was under way behind the action's end, and
// nobody had told the tool to stop. One that a crash cut off nobody could tell.
func atWork(at *trace.Attempt, a *trace.Action) bool {
	return !at.Lost && (at.AnswerEvent < 0 || at.Answered > a.End) && (at.Interrupted == 0 || at.Interrupted > a.End)
}

// lateEffect is the event of an effect that the call had after the action's
// end; -1: it had none.
func lateEffect(tr *trace.Trace, a *trace.Action, call int) int {
	for _, e := range a.Effects {
		if tr.Events[e].Call == call && tr.Events[e].At > a.End {
			return e
		}
	}
	return -1
}
