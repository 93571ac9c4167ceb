package faultsim

import (
	"context"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A queue lets one call of a tool at a time through, in the order of arrival.
// The stage's lock guards it.
type queue struct {
	busy    bool
	waiting []chan struct{} // the one that is closed has its turn
}

// serves reports whether the schedule lets the tool serve one call at a time.
func (s *Stage) serves(t *tool) bool {
	return slices.ContainsFunc(s.climate.s.Serial, func(name string) bool { return s.lookup(name) == t })
}

// enter waits until the tool is free, and returns 0; or until ctx ends, and
// returns how its end reads. A call that was let in must leave; one that never
// answers, whatever comes, waits for no turn.
func (s *Stage) enter(t *tool, f *Fault, ctx context.Context) trace.Class {
	if len(s.climate.s.Serial) == 0 || f.Hang && f.Deaf {
		return 0
	}
	s.mu.Lock()
	if !s.serves(t) {
		s.mu.Unlock()
		return 0
	}
	if !t.queue.busy {
		t.queue.busy = true
		s.mu.Unlock()
		return 0
	}
	arrived, mine := time.Since(epoch), make(chan struct{})
	t.queue.waiting = append(t.queue.waiting, mine)
	s.mu.Unlock()
	select {
	case <-mine:
	case <-ctx.Done():
	}
	if ctx.Err() == nil && inStep(ctx, arrived) {
		return 0
	}
	<-ctx.Done()
	if s.withdraws(t, mine) {
		s.leave(t) // the turn has come already
	}
	return double.Ended(ctx)
}

// inStep waits until the clock shows the second nanosecond, of ten, behind the one
// at which the call arrived, and reports whether ctx is still alive then. Calls
// that waited for one another would otherwise go on at one instant, and chance
// would order what follows; at the nanosecond of its arrival a call would meet the
// timers that its program set then. See odd.
func inStep(ctx context.Context, arrived time.Duration) bool {
	wait := ((arrived+2-time.Since(epoch))%10 + 10) % 10
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false // at the very instant of its end, chance would decide
	}
	return double.Timing{Latency: wait}.Play(ctx, nil, trace.Pending{}) == 0
}

// withdraws takes a call out of the queue, and reports whether it had its turn.
func (s *Stage) withdraws(t *tool, mine chan struct{}) (had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(t.queue.waiting)
	t.queue.waiting = slices.DeleteFunc(t.queue.waiting, func(c chan struct{}) bool { return c == mine })
	return len(t.queue.waiting) == before
}

// leave lets the next call in.
func (s *Stage) leave(t *tool) {
	if len(s.climate.s.Serial) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.serves(t):
	case len(t.queue.waiting) == 0:
		t.queue.busy = false
	default:
		close(t.queue.waiting[0])
		t.queue.waiting = t.queue.waiting[1:]
	}
}
