package scripted

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Sleeper stands in for the sleep of code that has it injected, and writes
// down every wait that was asked for. The zero value returns at once, so that
// a test of the delays takes no time. Its method Sleep is a [trace.SleepFunc].
//
// The fields must not be changed once it is in use. All methods may be called
// by several goroutines at once.
type Sleeper struct {
	// Really makes Sleep wait. In a synctest bubble that time is virtual.
	Really bool

	// Clock is the clock on which it waits. Nil is real time.
	Clock clock.Clock

	// Recorder gets each wait as an event. Nil: none does.
	Recorder *trace.Recorder

	mu    sync.Mutex
	waits []time.Duration
}

// Sleep writes down d and waits as the fields say. Its error is that of ctx,
// where ctx ends first or has ended: a wait that is cut short, or asked for too
// late, is written down with the whole d all the same.
func (s *Sleeper) Sleep(ctx context.Context, d time.Duration) error {
	s.note(ctx, d)
	if !s.Really {
		return ctx.Err()
	}
	if (double.Timing{Latency: d}).Play(ctx, s.Clock, trace.Pending{}) != 0 {
		return ctx.Err()
	}
	return nil
}

func (s *Sleeper) note(ctx context.Context, d time.Duration) {
	s.mu.Lock()
	s.waits = append(s.waits, d)
	s.mu.Unlock()
	if s.Recorder != nil {
		s.Recorder.Wait(ctx, d)
	}
}

// Waits returns the waits that were asked for, in order.
func (s *Sleeper) Waits() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.waits)
}
