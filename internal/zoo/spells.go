package zoo

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects that remember how the tool was and not when.
func spells() []Specimen {
	return []Specimen{
		{"outage-held-for-ever", "An action that failed marks the service as down, and nothing looks whether it is up again.",
			threeLayer, "conforms", built(policy(), failures(), func(*faultsim.Stage) ask { return new(memory).forecast })},
		{"window-not-waited-for", "A throttled call is made again at the next step of the backoff, long before the window ends.",
			handling, "hint-honoured", agents(policy(), throttling(), unhinted(retryable))},
	}
}

var errHeldDown = errors.New("weather: known to be down")

// A memory of the last failure is shared by the actions.
type memory struct {
	down    atomic.Bool
	forgets bool // it asks again in spite of it
}

func (m *memory) forecast(ctx context.Context, call tool) (forecast, error) {
	if m.down.Load() && !m.forgets {
		return forecast{}, errHeldDown
	}
	f, err := patient(ctx, call)
	m.down.Store(err != nil && retryable(err))
	return f, err
}

// unhinted is judging without an eye for the tool's own wait.
func unhinted(retry func(error) bool) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		wait := base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			if n == attempts || ctx.Err() != nil || !retry(err) {
				return forecast{}, err
			}
			if err := sleep(ctx, wait); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
	}
}
