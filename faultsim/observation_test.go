package faultsim

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// told is what the subject of these tests hands on.
type told struct {
	Error     string `json:"error"`
	Retryable bool   `json:"retryable"`
}

// telling is the home adapter with an observation of its failures.
func telling(observe func(result any, err error) any) Adapter {
	a := homeAdapter()
	a.Observation = &invariants.Observation{Code: "error", Retryable: "retryable"}
	a.Observe = observe
	return a
}

func tellRightly(_ any, err error) any {
	var none *told
	switch {
	case err == nil:
		return none
	case errors.Is(err, errForbidden):
		return &told{Error: "forbidden"}
	}
	return &told{Error: "unavailable", Retryable: true}
}

func TestObservationIsRecordedBeforeTheEnd(t *testing.T) {
	tr := Run(t, telling(tellRightly), One(Fail(trace.Forbidden)))
	a := tr.Actions()[0]
	require.Len(t, a.Observed, 1)
	require.Less(t, a.Observed[0], a.EndEvent)
	require.JSONEq(t, `{"error":"forbidden","retryable":false}`, string(tr.Events[a.Observed[0]].Result))
	require.Empty(t, Run(t, telling(tellRightly), One()).Actions()[0].Observed, "nothing failed, and a nil pointer is nothing")
}

func TestWithoutTheContractAnObservationIsOnlyRecorded(t *testing.T) {
	a := telling(func(any, error) any { return "ERROR: 500 " + invariants.CanarySecret })
	a.Observation = nil
	tr := Run(t, a, One(Fail(trace.Forbidden)))
	require.Len(t, tr.Actions()[0].Observed, 1)

	a.Observe = nil
	require.Empty(t, Run(t, a, One(Fail(trace.Forbidden))).Actions()[0].Observed)
}

// A tool of a model returns its failures as results: they are failures, and
// no false successes.
func TestAFailureHandedOnAsAValueIsAFailure(t *testing.T) {
	a := telling(func(result any, _ error) any {
		if v, ok := result.(*told); ok {
			return v
		}
		return nil
	})
	subject := a.Subject
	a.Subject = func(s *Stage) Action {
		action := subject(s)
		return func(ctx context.Context) (any, error) {
			if out, err := action(ctx); err == nil {
				return out, nil
			} else {
				return tellRightly(nil, err), nil
			}
		}
	}
	tr := Run(t, a, One(Fail(trace.Transient), Fail(trace.Forbidden)))
	require.Contains(t, tr.Timeline(), "the failure was handed on as a value")
	Check(t, a)
}

func TestAnAgentHandsOnWhileItsActionRuns(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool trace.Func[string, int]) (any, error) {
		out, err := tool(ctx, "Pune")
		if err != nil {
			s.Observe(ctx, told{Error: "unavailable"})
		}
		return out, err
	})
	a.Policy.MaxAttempts = 1
	a.Observation, a.Observe = &invariants.Observation{Retryable: "retryable"}, func(any, error) any { return nil }
	r := Trial(t, a, One(Fail(trace.Transient)))
	require.NoError(t, r.Err)
	require.Equal(t, []string{"observation-retryable"}, names(r.Findings))
}

func TestObserveThatPanicsIsAnErrorOfTheAdapter(t *testing.T) {
	r := Trial(t, telling(func(_ any, err error) any { return err.Error() }), One())
	require.ErrorContains(t, r.Err, `Observe of "forecast" panicked`)
	require.ErrorContains(t, r.Err, "it is asked after every action")
}

// Canaries are drawn where somebody looks for them, and change no other draw.
func TestCanariesAreDrawnForObservationsOnly(t *testing.T) {
	plain := drawn(t, 1000, func(*Adapter) {})
	planted := drawn(t, 1000, func(a *Adapter) { *a = withObservation(*a) })
	hot := 0
	for i := range plain {
		plain[i].Serial, planted[i].Serial = nil, nil // drawn behind the canaries
		require.NotContains(t, plain[i].String(), invariants.CanarySecret)
		text := planted[i].String()
		if strings.Contains(text, invariants.CanarySecret) {
			hot++
			back, err := Parse(text)
			require.NoError(t, err)
			require.Equal(t, text, back.String())
			continue
		}
		require.Equal(t, plain[i].String(), text)
	}
	require.Greater(t, hot, 250)
	require.Less(t, hot, 750)
}

func withObservation(a Adapter) Adapter {
	a.Observation, a.Observe = &invariants.Observation{Code: "error"}, tellRightly
	return a
}
