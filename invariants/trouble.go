package invariants

import "github.com/rehearse-go/rehearse/trace"

// NothingLeft is: when an action has returned, nothing of it is still running.
func NothingLeft() Invariant {
	return trouble("nothing-left", "nothing is running after the action has returned", trace.KindLeak,
		"stop the timers and goroutines of the action, and wait for them, before it returns")
}

// Returns is: every action returns.
func Returns() Invariant {
	return trouble("returns", "every action returns", trace.KindHang,
		"give the attempt a timeout and wait on the context; a tool that never answers must not stall its caller")
}

// NoPanic is: no action panics.
func NoPanic() Invariant {
	return trouble("no-panic", "no action panics", trace.KindPanic,
		"turn what a tool can do, panics included, into an error of the action")
}

// NoSpin is: no action calls a tool without end at one instant.
func NoSpin() Invariant {
	return trouble("no-spin", "attempts do not follow each other without a wait and without end", trace.KindSpin,
		"bound the attempts, and wait between them")
}

func trouble(name, text string, kind trace.Kind, advice string) Invariant {
	return rule(name, text, func(tr *trace.Trace, a *trace.Action) (v Verdict) {
		v.Applied++
		for _, e := range a.Troubles {
			if tr.Events[e].Kind != kind {
				continue
			}
			said := tr.Events[e].Error
			if said == "" {
				said = "the trace shows a " + kind.String()
			}
			v.report(a, said, advice, e)
		}
		return v
	})
}
