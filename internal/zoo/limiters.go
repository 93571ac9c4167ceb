package zoo

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects with a limiter of their own.
func limiters() []Specimen {
	return []Specimen{
		{"window-of-the-clock", "The limiter counts in windows of the clock, and at their border lets twice as many through.",
			"F080", "rate-limit", pacing(fixedWindow)},
		{"place-given-back-twice", "The failing path gives its place back, and so does the deferred call.",
			"F080", "concurrency", placing(givesBackTwice)},
		{"place-taken-after-the-look", "A free place is seen, a connection is made, and then the place is taken, by all who saw it.",
			"F080", "concurrency", placing(looksFirst)},
	}
}

const pace = 80 * time.Millisecond // one call in so long

// A meter lets one call through in a window, and says how long the others wait.
type meter = func(last, now time.Time) time.Duration

func slidingWindow(last, now time.Time) time.Duration { return pace - now.Sub(last) }

func fixedWindow(last, now time.Time) time.Duration {
	if end := last.Truncate(pace).Add(pace); now.Before(end) {
		return end.Sub(now)
	}
	return 0
}

// A pacer is a limiter.
type pacer struct {
	mu    sync.Mutex
	last  time.Time
	meter meter
}

func (p *pacer) wait(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mu.Lock()
		now := time.Now()
		left := p.meter(p.last, now)
		if left <= 0 {
			p.last = now
		}
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

// pacing plugs in the right loop behind a limiter.
func pacing(m meter) faultsim.Adapter {
	a := built(policy(), failures(), func(s *faultsim.Stage) ask {
		turn := s.Turn("limiter", (&pacer{meter: m}).wait)
		return func(ctx context.Context, call tool) (forecast, error) {
			wait := base
			for n := 1; ; n++ {
				if err := turn(ctx); err != nil {
					return forecast{}, err
				}
				f, err := once(ctx, call, pune)
				if err == nil {
					return f, nil
				}
				if n == attempts || final(ctx, err) {
					return forecast{}, err
				}
				if err := sleep(ctx, wait); err != nil {
					return forecast{}, err
				}
				wait *= 2
			}
		}
	})
	a.Invariants = []invariants.Invariant{invariants.RateLimit("weather", 1, pace)}
	return a
}

// A gate lets one action at a time through.
type gate struct {
	enter func(context.Context) error
	leave func(error) // with the error that the action ends with
}

// onePlace is a channel that holds a place; its waiters come in their order.
func onePlace() (chan struct{}, gate) {
	places := make(chan struct{}, attempts+1)
	places <- struct{}{}
	return places, gate{
		func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			select {
			case <-places:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		func(error) { places <- struct{}{} },
	}
}

func givesBack() gate {
	_, g := onePlace()
	return g
}

// givesBackTwice does so in the middle of the failing path, and at its end.
func givesBackTwice() gate {
	places, g := onePlace()
	g.leave = func(err error) {
		if err != nil {
			select {
			case places <- struct{}{}:
			default:
			}
		}
		places <- struct{}{}
	}
	return g
}

// looksFirst makes a connection between the look at the places and the taking.
func looksFirst() gate {
	places, g := onePlace()
	take := g.enter
	free := 1 // as far as is known
	var mu sync.Mutex
	g.enter = func(ctx context.Context) error {
		mu.Lock()
		seen := free > 0
		mu.Unlock()
		if !seen {
			return take(ctx)
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		mu.Lock()
		free--
		mu.Unlock()
		select {
		case <-places:
		default: // it was seen, so it is there
		}
		return nil
	}
	return g
}

// placing plugs in the right loop behind a gate.
func placing(make func() gate) faultsim.Adapter {
	a := built(policy(), failures(), func(s *faultsim.Stage) ask {
		g := make()
		turn := s.Turn("gate", g.enter)
		return func(ctx context.Context, call tool) (f forecast, err error) {
			if err := turn(ctx); err != nil {
				return forecast{}, err
			}
			defer func() { g.leave(err) }()
			return patient(ctx, call)
		}
	})
	a.Invariants = []invariants.Invariant{invariants.Concurrency("weather", 1)}
	return a
}
