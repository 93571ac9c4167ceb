package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// metrics is: the records are as many as the retries. A retry that was counted
// when it was decided, and did not come because the action's time ended in the
// wait or a breaker refused it, may be among them (article: three-layer defence).
func (k Sink) metrics(p Policy) Invariant {
	return sceneRule("metrics-true", fmt.Sprintf("%s has one record for each retry", k.Name),
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Ended || len(a.Attempts) == 0 || sc.unsureOf(a) {
				return v
			}
			v.Applied++
			retries, allowed := retriesOf(a), 0
			if timeUp(a) || p.Budget > 0 && a.Error != "" || a.Reason == trace.ReasonBreakerOpen {
				allowed = 1
			}
			all := k.written(&sc, a)
			if n := len(all); n < retries || n > retries+allowed {
				v.report(a, fmt.Sprintf("%s has %s, the retries were %d of %s", k.Name, counted(n, "record"), retries, counted(len(a.Attempts), "attempt")),
					"count where a retry is made, once and in one layer: the first attempt is none, and the last one is", append(eventsOf(all), a.EndEvent)...)
			}
			return v
		})
}

// retriesOf counts the attempts that follow a failure of their series, before the
// action's end.
func retriesOf(a *trace.Action) (n int) {
	for i := range a.Series {
		for j := 1; j < len(a.Series[i].Attempts); j++ {
			before, at := &a.Series[i].Attempts[j-1], &a.Series[i].Attempts[j]
			if at.Event < a.EndEvent && !(before.Seen && !before.Outcome.Failed()) {
				n++
			}
		}
	}
	return n
}

// written lists the records of the action, those that another goroutine writes
// after its end included.
func (k *Sink) written(sc *scene, a *trace.Action) (list []sideCall) {
	for _, c := range sc.between(a, a.Begin, never) {
		if c.tool == k.Name && c.observes() {
			list = append(list, c)
		}
	}
	return list
}

func eventsOf(calls []sideCall) (list []int) {
	for i := range calls {
		list = append(list, calls[i].event)
	}
	return list
}

// ends is: each action that has ended has one end on record, or has tried to
// write it (field cases F040, F044). A record that failed may be tried again.
func (k Sink) ends() Invariant {
	return sceneRule("ends-recorded", fmt.Sprintf("%s has one end of each action", k.Name),
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Ended || sc.unsureOf(a) {
				return v
			}
			v.Applied++
			all := k.written(&sc, a)
			var kept []int
			for _, c := range all {
				if c.ok {
					kept = append(kept, c.event)
				}
			}
			switch {
			case len(all) == 0:
				v.report(a, fmt.Sprintf("the action ended, and %s has no record of it", k.Name),
					"record the end on every way out of the action, that of a cancel included", a.EndEvent)
			case len(kept) > 1:
				v.report(a, fmt.Sprintf("%s has %d ends of one action", k.Name, len(kept)),
					"let the first end win: write it in one place, and only where none is on record", append(kept, a.EndEvent)...)
			}
			return v
		})
}
