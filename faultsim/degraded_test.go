package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// old is an answer kept from before.
type old struct{ Celsius int }

// A result that says of itself that it is no answer claims no success, and one
// that does not is judged as ever.
func TestADegradedResultClaimsNoSuccess(t *testing.T) {
	a := Adapter{
		Name:   "forecast",
		Policy: invariants.Policy{ID: "once/v1", MaxAttempts: 1, Attempt: time.Second, Retry: []trace.Class{trace.Transient}, Repeatable: true},
		Subject: func(s *Stage) Action {
			call := Tool(s, "weather", func(context.Context, struct{}) (int, error) { return 19, nil }, Errors{trace.Transient: errBusy})
			return func(ctx context.Context) (any, error) {
				one, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				n, err := call(one, struct{}{})
				if err != nil && ctx.Err() == nil {
					return old{18}, nil
				}
				return n, err
			}
		},
	}
	r := Trial(t, a, One(Fail(trace.Transient)))
	require.NoError(t, r.Err)
	require.Equal(t, "honest-ending", r.Findings[0].Invariant)

	a.Degraded = func(result any) trace.Reason {
		if _, ok := result.(old); ok {
			return trace.ReasonEscalated
		}
		return 0
	}
	r = Trial(t, a, One(Fail(trace.Transient)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.Equal(t, trace.ReasonEscalated, r.Trace.Actions()[0].Reason)

	r = Trial(t, a, One())
	require.Empty(t, r.Findings)
	require.Equal(t, trace.ReasonSuccess, r.Trace.Actions()[0].Reason)

	// It is no reason for one that is not true.
	a.Degraded = func(any) trace.Reason { return trace.ReasonDeadline }
	r = Trial(t, a, One(Fail(trace.Transient)))
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "conforms", r.Findings[0].Invariant)
}

// Breakers of several tools are one list, each with its tool.
func TestBreakersNameTheirTools(t *testing.T) {
	b := func(tool string) invariants.Breaker {
		return invariants.Breaker{Tool: tool, Consecutive: 3, Cooldown: time.Second}
	}
	one := b("geo")
	for _, c := range []struct {
		change func(*Adapter)
		says   string
	}{
		{func(a *Adapter) { a.Breakers = []invariants.Breaker{b("geo"), b("")} }, `Breakers[1] has the Tool "": name the tool that it guards, each once`},
		{func(a *Adapter) { a.Breakers = []invariants.Breaker{b("geo"), b("geo")} }, `Breakers[1] has the Tool "geo"`},
		{func(a *Adapter) { a.Breaker, a.Breakers = &one, []invariants.Breaker{b("weather")} }, "put them into one list"},
		{func(a *Adapter) { a.Breakers = []invariants.Breaker{b("geo"), b("wether")} }, `breaker: Tool is "wether", the stage has "geo", "weather"`},
		{func(a *Adapter) { a.Breakers = []invariants.Breaker{b("geo")}; a.Reason = nil }, "Reason is nil"},
	} {
		a := Adapter{
			Name:   "forecast",
			Policy: invariants.Policy{ID: "once/v1", MaxAttempts: 1},
			Reason: func(error) trace.Reason { return 0 },
			Subject: func(s *Stage) Action {
				Tool[struct{}, int](s, "geo", nil, nil)
				Tool[struct{}, int](s, "weather", nil, nil)
				return func(context.Context) (any, error) { return nil, nil }
			},
		}
		c.change(&a)
		require.ErrorContains(t, Trial(t, a, Schedule{}).Err, c.says)
	}
}
