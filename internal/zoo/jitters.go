package zoo

import (
	"context"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects whose random numbers are handed in.
func jitters() []Specimen {
	return []Specimen{
		{"ticker-of-nought", "The jitter is between nought and the interval, and a ticker panics where it is nought.",
			testingRetries, "no-panic", inJitter(func(ctx context.Context, d time.Duration) error {
				t := time.NewTicker(d)
				defer t.Stop()
				select {
				case <-t.C:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}, full)},
		{"jitter-over-the-end", "The last step of the jitter is one too far: a tenth more than the interval.",
			testingRetries, "waits-in-window", inJitter(sleep, inSteps(11))},
	}
}

// inJitter plugs in the right loop around a sleep, with full jitter.
func inJitter(pause func(context.Context, time.Duration) error, spread func(j *faultsim.Jitter, d time.Duration) time.Duration) faultsim.Adapter {
	return built(jittered(attempts, invariants.FullJitter), failures(), func(s *faultsim.Stage) ask {
		j := s.Jitter()
		return func(ctx context.Context, call tool) (forecast, error) {
			for n := 1; ; n++ {
				if err := ctx.Err(); err != nil {
					return forecast{}, err
				}
				f, err := once(ctx, call, pune)
				if err == nil {
					return f, nil
				}
				if n == attempts || final(ctx, err) {
					return forecast{}, err
				}
				if err := pause(ctx, spread(j, interval(n))); err != nil {
					return forecast{}, err
				}
			}
		}
	})
}

func full(j *faultsim.Jitter, d time.Duration) time.Duration {
	return time.Duration(j.Int64N(int64(d)))
}

// inSteps spreads over so many tenths.
func inSteps(n int64) func(*faultsim.Jitter, time.Duration) time.Duration {
	return func(j *faultsim.Jitter, d time.Duration) time.Duration { return d * time.Duration(j.Int64N(n+1)) / 10 }
}
