package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// NothingLeft is: when an action has returned, nothing of it is still running.
func NothingLeft() Invariant {
	return trouble("nothing-left", "nothing is running after the action has returned", trace.KindLeak,
		"stop the timers and goroutines of the action, and wait for them, before it returns")
}

// Returns is: every action returns.
func Returns() Invariant {
	inv := trouble("returns", "every action returns", trace.KindHang,
		"give the attempt a timeout and wait on the context; a tool that never answers must not stall its caller")
	found := inv.Check
	inv.Check = func(tr *trace.Trace) Verdict {
		v := found(tr)
		for i := range v.Findings {
			f := &v.Findings[i]
			if limiter := openTurn(tr, f.Action, f.Events[0]); limiter != "" {
				f.Text += fmt.Sprintf(" and waits for its turn at %s", limiter)
				f.Advice = "give each place back on every way out, failures and panics included"
			}
		}
		return v
	}
	return inv
}

// openTurn is the limiter at which the action still waits for its turn at an
// event; empty: at none.
func openTurn(tr *trace.Trace, action string, at int) (limiter string) {
	open := map[int]string{}
	for i := range tr.Events[:at] {
		switch e := &tr.Events[i]; {
		case e.Kind == trace.KindCall && e.Role == trace.RoleTurn && e.Action == action:
			open[e.Call] = e.Tool
		case e.Kind == trace.KindAnswer:
			delete(open, e.Call)
		}
	}
	for _, name := range open {
		limiter = max(limiter, name)
	}
	return limiter
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
