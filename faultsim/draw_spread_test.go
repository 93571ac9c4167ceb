package faultsim_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/stretchr/testify/require"
)

func TestSpreadingNeedsAWindowThatTellsCallersApart(t *testing.T) {
	a := home(3)
	a.Spreads = true
	a.Policy.Backoff = invariants.Backoff{Base: time.Second}
	_, err := faultsim.Explore(t, a)
	require.ErrorContains(t, err, "has no jitter that could spread anything")
	a.Policy.Backoff = invariants.Backoff{Base: time.Millisecond, Jitter: invariants.FullJitter}
	_, err = faultsim.Explore(t, a)
	require.ErrorContains(t, err, "the widest window of the backoff is 2ms, so that 8 callers may wait the same by chance")
}
