package invariants

import (
	"sync"

	"github.com/rehearse-go/rehearse/trace"
)

// lately keeps what was made of the latest few traces: the rules of one list look at
// the same trace one after another, in as many goroutines as trials run at once. A
// trace that has been handed out does not change, so that the same one gives the same.
func lately[T any](of func(*trace.Trace) T) func(*trace.Trace) T {
	const few = 4
	var mu sync.Mutex
	var kept [few]struct {
		tr   *trace.Trace
		made T
	}
	next := 0
	return func(tr *trace.Trace) T {
		mu.Lock()
		for i := range kept {
			if kept[i].tr == tr {
				defer mu.Unlock()
				return kept[i].made
			}
		}
		mu.Unlock()
		made := of(tr)
		mu.Lock()
		defer mu.Unlock()
		kept[next].tr, kept[next].made = tr, made
		next = (next + 1) % few
		return made
	}
}
