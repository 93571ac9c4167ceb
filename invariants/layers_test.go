package invariants_test

import (
	"fmt"
	"testing"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// stacked is an action whose attempts come from the layers.
func stacked(paths ...string) *trace.Trace {
	s := begin()
	for range paths {
		s.Call("w", pune).Answer(transient)
	}
	tr := s.Fail("503").Trace()
	n := 0
	for i := range tr.Events {
		if tr.Events[i].Kind == trace.KindCall {
			tr.Events[i].Layer = paths[n]
			n++
		}
	}
	return tr
}

func TestPhysicalAttemptsShowsHowLayersMultiply(t *testing.T) {
	two := []string{"app/sdk", "app/sdk", "app/sdk#2", "app/sdk#2"}
	for _, c := range []struct {
		name  string
		max   int
		tr    *trace.Trace
		found string // empty: kept
	}{
		{"F050: app and SDK", 3, stacked(two...), "4 physical attempts = app 2 × sdk 2, at most 3 are allowed"},
		{"F050: declared on purpose", 4, stacked(two...), ""},
		{"the app entered twice", 3, stacked("app/sdk", "app/sdk", "app#2/sdk", "app#2/sdk"), "4 physical attempts = 2 × app 1 × sdk 2"},
		{"not even", 2, stacked("app/sdk", "app/sdk", "app/sdk#2"), "3 physical attempts of app 2 × sdk 2"},
		{"two clients", 2, stacked("app/sdk", "app/search", "app/search"), "3 physical attempts = app/sdk 1 + app/search 2"},
		{"no layers", 2, stacked("", "", ""), "3 physical attempts = w 3"},
		{"one of them without", 2, stacked("app", "", ""), "3 physical attempts = app 1 + w 2"},
		{"another tool counts too", 1, begin().Call("x", pune).Answer(transient).Call("y", pune).Answer(ok).End().Trace(), "2 physical attempts = x 1 + y 1"},
		{"credentials are none", 1, begin().Auth("token").Answer(ok).Call("y", pune).Answer(ok).End().Trace(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(c.tr, PhysicalAttempts(c.max))
			require.NotZero(t, Applied(c.tr, PhysicalAttempts(c.max))["physical-attempts"])
			if c.found == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Text, c.found)
			require.NotEmpty(t, found[0].Events)
		})
	}
	require.Zero(t, Applied(begin().Trace(), PhysicalAttempts(1))["physical-attempts"], "no attempt")
	require.Zero(t, Applied(stacked("a"), PhysicalAttempts(0))["physical-attempts"], "no bound")
}

// Three tries in each of three layers are 27 requests, and one layer that owns
// the retries has three.
func TestThreeLayersOfThreeMakeTwentySevenRequests(t *testing.T) {
	nth := func(layer string, n int) string {
		if n == 0 {
			return layer
		}
		return fmt.Sprint(layer, "#", n+1)
	}
	var paths []string
	for adapter := range 3 {
		for client := range 3 {
			for range 3 {
				paths = append(paths, "agent/"+nth("adapter", adapter)+"/"+nth("client", client))
			}
		}
	}
	require.Len(t, paths, 27)
	found := Find(stacked(paths...), PhysicalAttempts(3))
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "27 physical attempts = agent 3 × adapter 3 × client 3")
	require.Empty(t, Find(stacked(paths[:3]...), PhysicalAttempts(3)))
}

func TestAttributedWantsALayerOfEveryAttempt(t *testing.T) {
	found := Find(stacked("app/sdk", ""), Attributed())
	require.Len(t, found, 1)
	require.Equal(t, "attributed", found[0].Invariant)
	require.Contains(t, found[0].Text, "attempt 2 of w names no layer")
	require.Empty(t, Find(stacked("app/sdk", "app"), Attributed()))
	require.Equal(t, 2, Applied(stacked("app/sdk", "app"), Attributed())["attributed"])
	require.Zero(t, Applied(stacked("", ""), Attributed())["attributed"], "no layers are declared")
}
