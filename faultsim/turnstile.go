package faultsim

import (
	"sync"
	"testing/synctest"

	"github.com/rehearse-go/rehearse/trace"
)

// A turnstile lets calls that are answered at the instant at which they came go on
// one at a time, each once everything else of the trial has got as far as it can. So
// calls that a program makes side by side are all there before the first of them is
// answered, and none looks like a retry of another; and what one answer brings about
// has happened before the next one comes. Virtual time does not move.
type turnstile struct {
	mu      sync.Mutex // never held while anything waits
	taken   bool
	waiting []chan struct{} // the one that is closed has its turn
}

// pass waits for the turn of a call.
func (g *turnstile) pass() {
	g.take()
	defer g.leave()
	idle()
}

func (g *turnstile) take() {
	g.mu.Lock()
	if !g.taken {
		g.taken = true
		g.mu.Unlock()
		return
	}
	mine := make(chan struct{})
	g.waiting = append(g.waiting, mine)
	g.mu.Unlock()
	<-mine
}

// leave lets the next call have its turn: it waits for what this one does now.
func (g *turnstile) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.taken = false
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}

// idle waits until all other goroutines of the bubble are blocked. It does not where
// the program has a wait of that kind under way, or calls from outside the bubble:
// synctest lets one goroutine wait at a time.
func idle() {
	defer func() { _ = recover() }()
	synctest.Wait()
}

// gathers lets all that comes at this instant come before the call is answered,
// unless the answer takes time anyway.
func (s *Stage) gathers(f *Fault) {
	if f.Latency <= 0 && !f.Hang && f.class() != trace.OK {
		s.turnstile.pass()
	}
}
