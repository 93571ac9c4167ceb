package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A trace says by itself what it was judged by: the policy, and what is declared
// beside it.
func TestATraceCarriesWhatIsDeclaredBesideThePolicy(t *testing.T) {
	a := Adapter{
		Name: "forecast", Policy: invariants.Policy{ID: "weather/v1", MaxAttempts: 1},
		Subject: func(s *Stage) Action {
			call := Tool[string, int](s, "weather", nil, nil)
			return func(ctx context.Context) (any, error) { return call(ctx, "Pune") }
		},
	}
	plain := Trial(t, a, One())
	require.NoError(t, plain.Err)
	require.Nil(t, plain.Trace.Beside)

	a.Breaker = &invariants.Breaker{Consecutive: 5, Cooldown: 30 * time.Second}
	a.Reason = func(error) trace.Reason { return 0 }
	guarded := Trial(t, a, One())
	require.NoError(t, guarded.Err)
	require.JSONEq(t, `{"id":"weather/v1","maxAttempts":1}`, string(guarded.Trace.Policy))
	require.JSONEq(t, `{"breakers":[{"consecutive":5,"cooldown":"30s"}]}`, string(guarded.Trace.Beside))
}
