package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// turnedAway follows refusals where there are several breakers. Which of them
// refused an action is not told, so that the refusal is due where it is at one.
type turnedAway struct {
	by    map[int][]string // for each action by its index, the breakers that could not have refused it, in words
	moves []*move          // in the order in which they were first seen
}

// saw notes a refusal that the watch's breaker could not have made. Its states
// stay as they are, since another one may have made it.
func (t *turnedAway) saw(w *watch, m *move) {
	if slices.ContainsFunc(w.states, func(c circuit) bool {
		_, promised := w.promise(c, m)
		return promised || c.refuses(w.b, m.at)
	}) || w.refusedEarlier(m) {
		return
	}
	if len(t.by[m.action]) == 0 {
		t.moves = append(t.moves, m)
	}
	t.by[m.action] = append(t.by[m.action], fmt.Sprintf("that of %s %s", w.tool, w.states[0].why(w.b, m.at)))
}

// verdict reports the first refusal that none of so many breakers could have made.
func (t *turnedAway) verdict(tr *trace.Trace, breakers int) (v Verdict) {
	for i := range tr.Actions() {
		a := &tr.Actions()[i]
		if a.Ended && a.Reason == trace.ReasonBreakerOpen {
			v.Applied++
		}
	}
	for _, m := range t.moves {
		if words := t.by[m.action]; len(words) == breakers {
			a := &tr.Actions()[m.action]
			v.report(a, "the action was refused although no breaker refuses: "+strings.Join(words, ", and "),
				"give each tool a breaker of its own, so that the failures of one close no door to another; and count what its threshold counts", a.EndEvent)
			return v
		}
	}
	return v
}
