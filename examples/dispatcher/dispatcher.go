// Package dispatcher calls the tools of a model and defends it in three
// layers, each against failures of another length:
//
//   - a blip: attempts with full jitter between them, each under a time limit
//     of its own and all of them under a common one (this file);
//   - an outage: a circuit breaker for each tool, which refuses calls while
//     they have no chance (breaker.go);
//   - what is left: a short structured error that tells the model what happened
//     and what it can do instead (error.go), and an end of the turn where it
//     keeps failing (turn.go).
//
// The layers need each other. Attempts without a breaker hammer a dead tool, a
// breaker without attempts opens for blips, and a model that is told nothing
// calls again or makes an answer up.
package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	attempts = 3 // the first included
	base     = 500 * time.Millisecond
	limit    = 5 * time.Second  // of one attempt
	overall  = 12 * time.Second // of all attempts and waits
)

// A Func is a tool: arguments and answer are JSON, as the model writes and reads them.
type Func func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

// A Tool is a function that a model may call.
type Tool struct {
	Do Func

	// Repeatable says that a second execution is harmless: a read, or a write
	// that carries an idempotency key. False: there is one attempt, since a
	// failure does not tell whether the work was done.
	Repeatable bool

	// Instead is what the model can do while the tool does not answer, as a
	// sentence for it. Empty: go on without.
	Instead string
}

// A Dispatcher calls tools by their names. It lives as long as the process: its
// breakers learn from the calls of all turns.
type Dispatcher struct{ tools map[string]*guarded }

// A guarded tool has a breaker in front of it.
type guarded struct {
	Tool
	name    string
	breaker breaker
}

// New returns a dispatcher for the tools.
func New(tools map[string]Tool) *Dispatcher {
	d := &Dispatcher{tools: make(map[string]*guarded, len(tools))}
	for name, tool := range tools {
		d.tools[name] = &guarded{Tool: tool, name: name}
	}
	return d
}

// errOverall is the cause of a context that has ended because the dispatcher's
// own time is over, and not its caller's.
var errOverall = errors.New("dispatcher: the time for all attempts is over")

// Call calls the named tool. Its error is an [*Error].
func (d *Dispatcher) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	tool, ok := d.tools[name]
	if !ok {
		return nil, failure(name, &Tool{}, errNoTool, 0)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, overall, errOverall)
	defer cancel()
	return tool.call(ctx, args)
}

// call is the layer of attempts. The breaker is asked before each of them.
func (g *guarded) call(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, failure(g.name, &g.Tool, err, 0)
	}
	wait := base
	for n := 1; ; n++ {
		leave, open := g.breaker.enter()
		if open != nil {
			return nil, failure(g.name, &g.Tool, open, n-1)
		}
		out, err := g.once(ctx, args, leave)
		if err == nil {
			return out, nil
		}
		pause := max(rand.N(wait), asked(err))
		if n == g.attempts() || !passing(err) || !fits(ctx, pause) || sleep(ctx, pause) != nil {
			return nil, failure(g.name, &g.Tool, err, n)
		}
		wait *= 2
	}
}

// once is one attempt. The breaker learns how it went on every way out, also
// where the tool panics: a probe that never settles would keep it open.
func (g *guarded) once(ctx context.Context, args json.RawMessage, leave func(verdict)) (out json.RawMessage, err error) {
	says := failed
	defer func() { leave(says) }()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err = g.Do(limited, args)
	says = judge(ctx, err)
	return out, err
}

func (g *guarded) attempts() int {
	if g.Repeatable {
		return attempts
	}
	return 1
}

// fits reports whether there is time left behind the wait. A wait that leads
// nowhere only keeps the model from its answer.
func fits(ctx context.Context, wait time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	end, limited := ctx.Deadline()
	return !limited || wait < time.Until(end)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
