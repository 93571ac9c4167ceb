package matrix_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var (
	errDown = errors.New("the tool is down")
	errOpen = errors.New("the circuit is open")
)

// fused guards a tool by a breaker that opens at the first failure, for longer
// than a row lasts, and goes over to a fallback if it has one.
func fused(fallback string) faultsim.Adapter {
	down := faultsim.Errors{trace.Transient: errDown}
	fake := func(context.Context, args) (int, error) { return 19, nil }
	return faultsim.Adapter{
		Name: "fused",
		Policy: invariants.Policy{
			ID: "fused/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true,
			Backoff: invariants.Backoff{Base: time.Second},
		},
		Breaker: &invariants.Breaker{Tool: "tool", Consecutive: 1, Cooldown: time.Hour, Fallback: fallback},
		Reason: func(err error) trace.Reason {
			if errors.Is(err, errOpen) {
				return trace.ReasonBreakerOpen
			}
			return 0
		},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			call := faultsim.Tool(s, "tool", fake, down)
			instead := func(context.Context, args) (int, error) { return 0, errOpen }
			if fallback != "" {
				instead = faultsim.Tool(s, fallback, fake, down)
			}
			var open atomic.Bool
			return func(ctx context.Context) (any, error) {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if !open.Load() {
					out, err := call(ctx, args{City: "Pune"})
					if err == nil || ctx.Err() != nil {
						return out, err
					}
					open.Store(true)
				}
				return instead(ctx, args{City: "Pune"})
			}
		},
	}
}

// What a declared breaker refuses is not missed, whether the action ends as
// refused or its fallback answers.
func TestADeclaredBreakerMayRefuse(t *testing.T) {
	for _, fallback := range []string{"", "cache"} {
		a := fused(fallback)
		for _, p := range played(t, a) {
			require.Empty(t, p.Complaint, "%s, fallback %q\n%s", p.Row.Name, fallback, p.Schedule)
		}
		a.Breaker.Consecutive = 2
		complaints := 0
		for _, p := range played(t, a) {
			if p.Complaint != "" {
				complaints++
			}
		}
		require.NotZero(t, complaints, "a breaker that opens too early, fallback %q", fallback)
	}
}

func played(t *testing.T, a faultsim.Adapter) []matrix.Played {
	t.Helper()
	list, err := matrix.Play(t, a)
	require.NoError(t, err)
	return list
}
