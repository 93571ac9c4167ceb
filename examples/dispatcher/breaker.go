package dispatcher

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	window   = 20               // the last calls that the breaker looks at
	least    = 10               // calls before it says anything
	cooldown = 30 * time.Second // how long it stays open
)

// A breaker refuses calls of a tool that has failed in half of its last calls.
// After the cooldown one probe goes through: its success closes the breaker,
// its failure opens it again. The zero breaker is closed.
type breaker struct {
	mu      sync.Mutex
	last    []bool // of the last calls, which failed
	open    bool
	since   time.Time // of the failure that opened it
	probing bool
	turn    int // counts changes of state: a late answer from before one says nothing of now
}

// enter asks for a call. Whoever is let through must tell leave how it went.
func (b *breaker) enter() (leave func(verdict), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		if b.probing || time.Since(b.since) < cooldown {
			return nil, errOpen
		}
		b.probing = true // in the same step as the look, so that there is one probe
	}
	turn := b.turn
	return func(v verdict) { b.leave(turn, v) }, nil
}

func (b *breaker) leave(turn int, v verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case turn != b.turn:
	case v == nothing:
		b.probing = false // the next call may probe
	case b.open && v == fine:
		b.change(false)
	case b.open:
		b.change(true)
	case b.fails(v == failed):
		b.change(true)
	}
}

func (b *breaker) change(open bool) {
	b.open, b.since, b.probing, b.last = open, time.Now(), false, nil
	b.turn++
}

// fails notes a call and reports whether that is too much.
func (b *breaker) fails(bad bool) bool {
	if b.last = append(b.last, bad); len(b.last) > window {
		b.last = b.last[1:]
	}
	count := 0
	for _, bad := range b.last {
		if bad {
			count++
		}
	}
	return len(b.last) >= least && 2*count >= len(b.last)
}

// A verdict is what the end of a call says of the tool.
type verdict int

const (
	fine    verdict = iota // it is there, though it may have refused
	failed                 // it is to blame
	nothing                // the caller has left
)

// judge blames the tool for failing and for taking too long, and neither for a
// caller who has left nor for arguments that are wrong.
func judge(ctx context.Context, err error) verdict {
	switch {
	case err == nil:
		return fine
	case ctx.Err() != nil && context.Cause(ctx) != errOverall:
		return nothing
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrNotFound), errors.Is(err, ErrForbidden):
		return fine
	}
	return failed
}
