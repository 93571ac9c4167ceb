package zoo

import (
	"context"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects with an observer that fails: it must change neither the outcome nor
// the attempts.
func hooks() []Specimen {
	return []Specimen{
		{"hook-panics-in-the-loop", "The counter of retries has no map to count in, and its panic ends the action.",
			"F083", "no-panic", hooked(func(count func()) { count() })},
	}
}

// tally counts retries by tool. Nobody has made its map.
type tally struct {
	mu      sync.Mutex
	retries map[string]int
}

func (c *tally) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retries["weather"]++
}

// hooked plugs in an agent that tells a broken counter of each failed attempt.
func hooked(tell func(count func())) faultsim.Adapter {
	return built(policy(), throttling(), func(*faultsim.Stage) ask {
		counter := new(tally)
		return func(ctx context.Context, call tool) (forecast, error) {
			return patient(ctx, func(ctx context.Context, q query) (forecast, error) {
				f, err := call(ctx, q)
				if err != nil {
					tell(counter.count)
				}
				return f, err
			})
		}
	})
}

// apart keeps a panic of the observer from the action.
func apart(count func()) {
	defer func() { _ = recover() }()
	count()
}
