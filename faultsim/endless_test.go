package faultsim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// patience is an agent that asks every second, with the wait that law gives.
func patience(law func(n int) time.Duration) Adapter {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		over := time.Now().Add(2 * time.Hour)
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			out, err := tool(ctx, "Pune")
			if err == nil || !errors.Is(err, errBusy) || time.Until(over) <= law(n) {
				return out, err
			}
			select {
			case <-time.After(law(n)):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	})
	a.Policy = invariants.Policy{
		ID: "patient/v1", MaxAttempts: invariants.Unlimited, Budget: 2 * time.Hour, Repeatable: true,
		Retry: []trace.Class{trace.Transient}, Backoff: invariants.Backoff{Base: time.Second, Factor: 1}, Late: invariants.LateWait,
	}
	return a
}

// An hour of failures is neither a spin nor too much to judge.
func TestThousandsOfAttemptsAreNoSpin(t *testing.T) {
	faults := make([]Fault, thousands)
	for i := range faults {
		faults[i] = Fail(trace.Transient)
	}
	tr := Run(t, patience(func(int) time.Duration { return time.Second }), One(faults...))
	require.Len(t, tr.Actions()[0].Attempts, thousands+1)

	r := Trial(t, patience(func(int) time.Duration { return 0 }), One(faults...))
	require.NoError(t, r.Err)
	require.Equal(t, "no-spin", r.Findings[0].Invariant)
}

func TestAStreakOfThousandsIsDrawnAndMadeShort(t *testing.T) {
	a := patience(func(n int) time.Duration { // a counter of 10 bits
		if n%1024 == 0 {
			return 0
		}
		return time.Second
	})
	o, err := Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, "waits-in-window", o.Invariant())
	require.Equal(t, thousands, len(o.Drawn.Actions[0].Faults["weather"]))
	require.Less(t, len(o.Schedule.Actions[0].Faults["weather"]), 1100)
}
