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
			"F080", "concurrency", placing((*gate).twice, 0)},
		{"place-taken-after-the-look", "A free place is seen, a connection is made, and then the place is taken, by all who saw it.",
			"F080", "concurrency", placing((*gate).once, time.Millisecond)},
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

// A gate has one place, and a bell for those who wait.
type gate struct {
	mu      sync.Mutex
	free    int
	bell    chan struct{}
	connect time.Duration // passes between the look and the taking
}

func (g *gate) enter(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		g.mu.Lock()
		bell := g.bell
		free := g.free > 0
		if free && g.connect == 0 {
			g.free--
		}
		g.mu.Unlock()
		if free && g.connect > 0 {
			if err := sleep(ctx, g.connect); err != nil {
				return err
			}
			g.mu.Lock()
			g.free--
			g.mu.Unlock()
		}
		if free {
			return nil
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free++
	close(g.bell)
	g.bell = make(chan struct{})
}

func (g *gate) once(_ error) { g.leave() }

// twice is what a path does that gives back in the middle and at the end.
func (g *gate) twice(err error) {
	if err != nil {
		g.leave()
	}
	g.leave()
}

// placing plugs in the right loop behind a gate.
func placing(leave func(*gate, error), connect time.Duration) faultsim.Adapter {
	a := built(policy(), failures(), func(s *faultsim.Stage) ask {
		g := &gate{free: 1, bell: make(chan struct{}), connect: connect}
		turn := s.Turn("gate", g.enter)
		return func(ctx context.Context, call tool) (f forecast, err error) {
			if err := turn(ctx); err != nil {
				return forecast{}, err
			}
			defer func() { leave(g, err) }()
			return patient(ctx, call)
		}
	})
	a.Invariants = []invariants.Invariant{invariants.Concurrency("weather", 1)}
	return a
}
