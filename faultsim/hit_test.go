package faultsim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
)

// serving is an agent that answers as hit says, without a call.
func hitting(hit func(ctx context.Context, s *Stage) (any, error)) Adapter {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) { return hit(ctx, s) })
	a.Cache = new(invariants.Cache)
	return a
}

func TestAHitIsEvidenceOfASuccess(t *testing.T) {
	a := hitting(func(ctx context.Context, s *Stage) (any, error) {
		s.Hit(ctx, "weather", "Pune", 19, nil)
		return 19, nil
	})
	tr := Run(t, a, One())
	require.Len(t, tr.Actions()[0].Hits, 1)
	require.Empty(t, tr.Actions()[0].Attempts)

	r := Trial(t, hitting(func(ctx context.Context, s *Stage) (any, error) {
		s.Hit(ctx, "weather", "Pune", 19, nil)
		return 20, nil
	}), One())
	require.NoError(t, r.Err)
	require.Equal(t, "honest-ending", r.Findings[0].Invariant)
}

func TestHitsWithoutEndAreASpin(t *testing.T) {
	r := Trial(t, hitting(func(ctx context.Context, s *Stage) (any, error) {
		for {
			s.Hit(ctx, "weather", "Pune", nil, errors.New("busy"))
		}
	}), One())
	require.NoError(t, r.Err)
	require.Equal(t, "cached-failure", r.Findings[0].Invariant)
	require.Equal(t, "no-spin", r.Findings[1].Invariant)
}

func TestMisuseOfHitsIsAClearError(t *testing.T) {
	trial := func(hit func(ctx context.Context, s *Stage), cache invariants.Cache) error {
		a := hitting(func(ctx context.Context, s *Stage) (any, error) { hit(ctx, s); return nil, nil })
		a.Cache = &cache
		return Trial(t, a, One()).Err
	}
	none := func(context.Context, *Stage) {}
	for want, err := range map[string]error{
		`Stage.Hit speaks of tool "wheather", the stage has "weather": correct the name`: trial(func(ctx context.Context, s *Stage) { s.Hit(ctx, "wheather", nil, nil, nil) }, invariants.Cache{}),
		`Stage.Hit of "weather" was given a nil context: hand the caller's context on`:   trial(func(ctx context.Context, s *Stage) { s.Hit(nil, "weather", nil, nil, nil) }, invariants.Cache{}), //nolint:staticcheck // what is tested
		`cache: Tool is "wheather", the stage has "weather": correct the name`:           trial(none, invariants.Cache{Tool: "wheather"}),
		`cache: TTL is -1s: say 0 where answers are kept for good`:                       trial(none, invariants.Cache{TTL: -time.Second}),
		`cache: TTL or FailureTTL is 8760h0m0s: a trial plays half a year at most`:       trial(none, invariants.Cache{TTL: longestTime}),
	} {
		require.ErrorContains(t, err, want)
	}
}

// What a cache keeps is asked for by further actions, behind those that are
// drawn for any adapter.
func TestLookupsChangeNoOtherDraw(t *testing.T) {
	plain := homeAdapter()
	a := plain
	a.Cache = &invariants.Cache{TTL: time.Minute, FailureTTL: time.Second}
	tools, err := inspect(t, &plain)
	require.NoError(t, err)
	with, without := stormy(&a, tools), stormy(&plain, tools)
	pauses := map[time.Duration]bool{}
	for seed := 1; seed < 500; seed++ {
		s, want := with.Example(seed), without.Example(seed)
		require.GreaterOrEqual(t, len(s.Actions), len(want.Actions))
		for i := range s.Actions {
			pauses[s.Actions[i].After] = true
			s.Actions[i].After = 0
		}
		s.Actions = s.Actions[:len(want.Actions)]
		require.Equal(t, want, s)
	}
	for _, pause := range []time.Duration{0, time.Second, 2 * time.Second, time.Minute - time.Second, time.Minute, time.Minute + time.Second, 2 * time.Minute} {
		require.Contains(t, pauses, pause)
	}
}
