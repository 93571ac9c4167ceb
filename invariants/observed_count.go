package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// attempts is: the count is that of the attempts.
func (o Observation) attempts() Invariant {
	return Invariant{Name: "observation-attempts", Rule: "the attempt count that is handed on is the true one", Check: func(tr *trace.Trace) Verdict {
		sc := lookAt(tr)
		return each("observation-attempts", "", func(h *handed) (v Verdict) {
			value, _ := h.at(o.Attempts)
			said, ok := whole(value)
			if !ok || sc.unsureOf(h.a) {
				return v
			}
			v.Applied++
			if made := h.made(); !h.counts(said, made) {
				v.report(h.a, fmt.Sprintf("the count that was handed on is %d, there were %s", said, counted(made, "attempt")),
					"count executions, the first included, where they are made", lastAnswer(h.a), h.event)
			}
			return v
		}).Check(tr)
	}}
}

// made counts the attempts that began before the observation.
func (h *handed) made() int {
	n := 0
	for i := range h.a.Attempts {
		if h.a.Attempts[i].Event < h.event {
			n++
		}
	}
	return n
}

// counts reports whether n is the number of attempts, of all or of one of
// several series: an observation may speak of the tool that failed.
func (h *handed) counts(n, made int) bool {
	if n >= made-drainedBefore(h.a, h.event) && n <= made+writes(h.a.Restarts) {
		return true
	}
	for i := range h.a.Series {
		if last := h.lastOf(&h.a.Series[i]); len(h.a.Series) > 1 && last != nil && last.N == n {
			return true
		}
	}
	return false
}
