package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// waitingFor plugs in the right loop behind a limiter that lets a call through
// after the time.
func waitingFor(d time.Duration, gives bool) Adapter {
	a := homeAdapter()
	if gives { // no promise but to try again
		a.Policy.Attempt, a.Policy.Retry = 0, []trace.Class{trace.Transient}
	}
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
		turn := s.Turn("limiter", func(ctx context.Context) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		return func(ctx context.Context) (any, error) {
			if err := turn(ctx); err != nil {
				return nil, err
			}
			if gives {
				return tool(ctx, "Pune")
			}
			l := loop{attempts: 3, tool: tool}
			return l.run(ctx, "Pune")
		}
	}
	return a
}

// The time at the limiter is no delay before the first attempt; giving up after
// an admitted turn is giving up.
func TestATurnIsRecordedAndExcusesItsTimeOnly(t *testing.T) {
	s := One(Fail(trace.Transient))
	r := Trial(t, waitingFor(3*time.Second, false), s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	turn := r.Trace.Events[1]
	require.Equal(t, trace.RoleTurn, turn.Role)
	require.Equal(t, "limiter", turn.Tool)
	require.Equal(t, 3*time.Second, r.Trace.Actions()[0].Attempts[0].Begin)

	r = Trial(t, waitingFor(0, true), s)
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "conforms", r.Findings[0].Invariant)
	require.Contains(t, r.Findings[0].Text, "given up after attempt 1")

	s.Actions[0].Deadline = time.Second
	require.Empty(t, Trial(t, waitingFor(3*time.Second, false), s).Findings, "a caller whose time is over at the limiter calls nothing")

	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action { s.Turn("limiter", nil); return inner(s) }
	require.ErrorContains(t, Trial(t, a, One()).Err, "was given nil")
}
