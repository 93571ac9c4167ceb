package faultsim_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A property of the user's own, over the same schedules: after a refusal the
// caller gets the tool's own error.
func TestSchedulesDriveAPropertyOfOnesOwn(t *testing.T) {
	a := home(3)
	gen := faultsim.Schedules(t, a)
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := gen.Draw(rt, "schedule")
		r := faultsim.Trial(t, a, s)
		require.NoError(rt, r.Err)
		invariants.Verify(rt, r.Trace, invariants.WhereItApplies(invariants.NoRetryAfter(trace.Forbidden)))
		for _, act := range r.Trace.Actions() {
			if n := len(act.Attempts); n > 0 && act.Attempts[n-1].Outcome.Class == trace.Forbidden {
				require.Equal(rt, r.Trace.Events[act.Attempts[n-1].AnswerEvent].Error, act.Error)
				refused++
			}
		}
	})
	require.NotZero(t, refused)
}
