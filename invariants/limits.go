package invariants

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// RateLimit is: the tool is reached at most calls times in any window of per, by
// whomever and for whatever (field case F080: "admissions<=budget in any
// window"). It is for a limiter of the program's own; say its burst in calls. A
// limiter that counts in windows of its own lets twice as many through at their
// border, and is told so. Calls or per below 1 is a rule that nothing can break.
func RateLimit(tool string, calls int, per time.Duration) Invariant {
	const name = "rate-limit"
	return Invariant{Name: name, Rule: fmt.Sprintf("%s is reached at most %d times in any %v", tool, calls, per), Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		if calls < 1 || per <= 0 {
			return v
		}
		recent := make([]int, 0, min(calls, 64)) // the events of the latest calls, a ring once it is full
		for i := range tr.Events {
			e := &tr.Events[i]
			if e.Kind != trace.KindCall || e.Tool != tool {
				continue
			}
			v.Applied++
			if len(recent) < calls {
				recent = append(recent, i)
				continue
			}
			oldest := &recent[(v.Applied-1)%calls]
			if since := e.At - tr.Events[*oldest].At; since < per {
				v.report(&trace.Action{Name: e.Action}, fmt.Sprintf("%s was reached %d times within %v, allowed are %d in %v", tool, calls+1, since, calls, per),
					"count the calls of the last window and not those since the clock's last full one, and count again after a wait", *oldest, i)
				v.Findings[0].Invariant = name
				return v
			}
			*oldest = i
		}
		return v
	}}
}

// Concurrency is: at most n calls of the tool are under way at once, those of
// all actions together (field case F080: "held permits==live holders"). A call
// whose context has ended counts no more, and neither does one that begins and
// ends at the instant at which another does: which came first is chance. n below
// 1 is a rule that nothing can break.
func Concurrency(tool string, n int) Invariant {
	const name = "concurrency"
	return Invariant{Name: name, Rule: fmt.Sprintf("at most %d calls of %s are under way at once", n, tool), Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		if n < 1 {
			return v
		}
		open := map[int]int{} // call → event
		for i := range tr.Events {
			e := &tr.Events[i]
			if len(open) > n && e.At > tr.Events[i-1].At { // an instant is over, and they go on
				all := slices.Sorted(maps.Values(open))
				last := &tr.Events[all[len(all)-1]]
				v.report(&trace.Action{Name: last.Action}, fmt.Sprintf("%d calls of %s were under way at once, allowed are %d", len(open), tool, n),
					"take the place in the same breath as looking for it, and give it back once, on every way out", all...)
				v.Findings[0].Invariant = name
				return v
			}
			switch {
			case e.Tool != tool:
			case e.Kind == trace.KindAnswer, e.Kind == trace.KindInterrupt:
				delete(open, e.Call)
			case e.Kind == trace.KindCall:
				v.Applied++
				open[e.Call] = i
			}
		}
		return v
	}}
}
