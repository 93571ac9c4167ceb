// Package pin pins what a library does beside what it is expected to do.
package pin

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Broken plays the schedule and asserts that the adapter breaks its policy:
// the first finding is that of the invariant, and its text contains the words.
func Broken(t *testing.T, a faultsim.Adapter, s faultsim.Schedule, invariant, words string) *trace.Trace {
	t.Helper()
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.NotEmpty(t, r.Findings, "the promise is kept after all: correct the policy and the documentation of these tests")
	assert.Equal(t, invariant, r.Findings[0].Invariant)
	assert.Contains(t, r.Findings[0].Text, words)
	return r.Trace
}

// Waits are the waits before the second attempt of the action, the third, and
// so on.
func Waits(a *trace.Action) []time.Duration {
	waits := []time.Duration{}
	for i := range a.Attempts[1:] {
		waits = append(waits, a.Attempts[i+1].Gap)
	}
	return waits
}
