package invariants

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// OneEffect is: the tool does the work of one series at most once, by the
// ledger of effects and not by what the caller could see (field cases F028,
// F031, F063). Each page of a sequence has a series, and an effect, of its own.
// Of a batch, each item is done at most once in an action (F059): one that was
// done while its caller saw a timeout counts as well as one whose success was
// told. An item that is sent again with another content is another work.
func OneEffect() Invariant {
	return rule("one-effect", "the tool does the work of one action at most once",
		func(tr *trace.Trace, a *trace.Action) (v Verdict) {
			if len(a.Effects) == 0 {
				return v
			}
			v.Applied = len(a.Series)
			if len(a.Effects) == 1 {
				return v
			}
			if v.items(tr, a); len(v.Findings) > 0 {
				return v
			}
			done := ledgerOf(tr, a)
			for i := range a.Series {
				if twice := done.of(&a.Series[i]); len(twice) > 1 {
					v.report(a, fmt.Sprintf("%s did its work %d times for one action", a.Series[i].Tool, len(twice)),
						"after an outcome that is not known, repeat only with the same key, or ask the tool what became of it", twice...)
				}
			}
			return v
		})
}

// A ledger lists the effects of one action by the call that had them.
type ledger []entry

type entry struct{ call, event int }

func ledgerOf(tr *trace.Trace, a *trace.Action) ledger {
	l := make(ledger, len(a.Effects))
	for i, e := range a.Effects {
		l[i] = entry{tr.Events[e].Call, e}
	}
	// Of a batch each item is done by itself.
	l = slices.DeleteFunc(l, func(e entry) bool { return tr.Events[e.event].Outcome.Items != "" })
	slices.SortStableFunc(l, func(x, y entry) int { return x.call - y.call })
	return l
}

// of lists the effect events of the series' attempts.
func (l ledger) of(s *trace.Series) []int {
	var done []int
	for i := range s.Attempts {
		call := s.Attempts[i].Call
		n, _ := slices.BinarySearchFunc(l, call, func(e entry, call int) int { return e.call - call })
		for ; n < len(l) && l[n].call == call; n++ {
			done = append(done, l[n].event)
		}
	}
	return done
}
