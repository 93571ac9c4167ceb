package scripted_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A test that a person writes shares a recorder with the double and writes
// down what the code hands on.
func TestAnObservationIsHeldToAScriptedTool(t *testing.T) {
	policy := invariants.Policy{ID: "search/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true}
	told := invariants.Observation{Message: "message", Retryable: "retryable", Attempts: "attempts"}
	for message, broken := range map[string][]string{
		"The search does not answer.":        nil,
		"lost " + invariants.CanaryHost:      {"observation-secret"},
		"panic\ngoroutine 1 [running]:\nf()": {"observation-stack"},
	} {
		r := &trace.Recorder{Clear: true}
		search := scripted.NewTool[string, int](t, "search").Into(r).
			Fail(trace.Transient, errors.New("cannot reach "+invariants.CanaryHost)).Times(2)
		_, err := trace.Do(t.Context(), r, "ask", func(ctx context.Context) (int, error) {
			n, err := search.Call(ctx, "go")
			if err != nil {
				n, err = search.Call(ctx, "go")
			}
			r.Observe(ctx, map[string]any{"message": message, "retryable": true, "attempts": 2})
			return n, err
		})
		require.Error(t, err)
		var names []string
		for _, f := range invariants.Find(r.Trace(), told.Invariants(policy)...) {
			names = append(names, f.Invariant)
		}
		require.Equal(t, broken, names)
	}
}
