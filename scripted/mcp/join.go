package mcp

import (
	"context"
	"sync"
	"time"
)

// A joined context is that of a handler which serves a caller of the same
// process: values and deadline are the caller's as well, and it ends when the
// handler's does. It then reads as the caller's own end, if that was what the
// client has told.
type joined struct {
	context.Context // of the handler
	caller          context.Context
	done            chan struct{}
	stop            func() bool

	mu  sync.Mutex
	err error
}

// join joins the two; leave must be called when the handler returns.
func join(handler, caller context.Context) *joined {
	j := &joined{Context: handler, caller: caller, done: make(chan struct{})}
	j.stop = context.AfterFunc(handler, j.end)
	return j
}

func (j *joined) leave() { j.stop() }

func (j *joined) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err = j.caller.Err(); j.err == nil {
		j.err = j.Context.Err()
	}
	close(j.done)
}

func (j *joined) Done() <-chan struct{} { return j.done }

func (j *joined) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Deadline is the caller's: MCP does not tell it, and a tool may not act on it.
// Whoever records the call wants to know it.
func (j *joined) Deadline() (time.Time, bool) { return j.caller.Deadline() }

// Value asks the handler first: what the SDK keeps in the caller's context is of
// another connection.
func (j *joined) Value(key any) any {
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.caller.Value(key)
}
