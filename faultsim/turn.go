package faultsim

import (
	"context"

	"github.com/rehearse-go/rehearse/trace"
)

// Turn puts the program's own limiter into the trace: wait is its function that
// blocks until a call may be made, and the one that Turn returns does the same
// and is recorded, as a call of trace.RoleTurn with the time that it took. So the
// time that an attempt waits for its turn is no part of its backoff, and no delay
// before the first one. The limiter's promise is judged over what reaches the
// tool: hand [invariants.RateLimit] or [invariants.Concurrency] to the adapter.
//
//	limited := agent.New(tool, s.Turn("limiter", limiter.Wait))
func (s *Stage) Turn(name string, wait func(context.Context) error) func(context.Context) error {
	var f trace.Func[struct{}, struct{}]
	if wait != nil {
		f = func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, wait(ctx) }
	}
	turn := Aside(s, name, trace.RoleTurn, f)
	return func(ctx context.Context) error {
		_, err := turn(ctx, struct{}{})
		return err
	}
}
