package faultsim

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// A life is the time of one process of the code under test: it ends with a
// crash, or when the process has been told to stop. Nothing in Go can end the goroutines of a crashed process, so they are
// cut off from the stage instead: whatever they ask of it blocks, and is written
// down nowhere, until the trial closes.
type life struct {
	dead atomic.Bool
	over chan struct{} // closed by its end
	told bool          // to stop

	draining context.Context // ends when it is told
	tell     context.CancelFunc
}

func newLife() *life {
	l := &life{over: make(chan struct{})}
	l.draining, l.tell = context.WithCancel(context.Background())
	return l
}

// gone reports whether the process that holds this stage has crashed.
func (s *Stage) gone() bool { return s.life != nil && s.life.dead.Load() }

// errCrashed is what calls of a crashed process return when the trial closes.
// Nobody who counts sees it.
var errCrashed = errors.New("faultsim: the process has crashed")

// mostAfterlife is how often a crashed process may call the stage in vain
// before its goroutine is ended: a loop would never find out.
const mostAfterlife = 1000

// buried blocks a call of a crashed process until the trial closes.
func (s *Stage) buried() error {
	s.mu.Lock()
	released := s.released
	s.mu.Unlock()
	<-released
	if s.afterlife.Add(1) > mostAfterlife {
		runtime.Goexit()
	}
	return errCrashed
}

// crash ends the process in which the action runs, and reports whether it has:
// not where it has none, or where the action has just ended. s.mu is held.
func (s *Stage) crash(a *act, write int, where string) bool {
	if s.life == nil || s.gone() || a.ended {
		return false
	}
	s.bury(s.life)
	a.op.Crash(write, where)
	a.errs = nil // the next process has not seen them
	return true
}

// bury cuts the process off from the stage. s.mu is held.
func (h *house) bury(l *life) {
	l.dead.Store(true)
	if h.released == nil {
		h.released = make(chan struct{})
	}
	close(l.over)
}

// crashAfter plans a crash of the process that has made the call.
func (a *act) crashAfter(s *Stage, d time.Duration) {
	a.timers = append(a.timers, time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.crash(a, 0, "")
	}))
}

// mortally returns the sleeper of a process that can crash.
func (s *Stage) mortally(sleep func(context.Context, time.Duration) error) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		if s.gone() {
			return s.buried()
		}
		err := sleep(ctx, d)
		if s.gone() {
			return s.buried()
		}
		return err
	}
}

// release lets the goroutines of crashed processes go.
func (s *Stage) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released != nil {
		close(s.released)
	}
}
