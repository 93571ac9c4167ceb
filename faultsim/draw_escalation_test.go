package faultsim_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestAnEscalationNeedsAReasonAndARowThatFits(t *testing.T) {
	a := home(3)
	for n, want := range map[int]string{-1: "is -1", 3: "Reason is nil", 11: "a trial has 12 actions at most"} {
		a.EscalatesAfter = n
		_, err := faultsim.Explore(t, a)
		require.ErrorContains(t, err, want)
	}
	a.EscalatesAfter = 3
	a.Reason = func(error) trace.Reason { return 0 }
	many := faultsim.Schedules(t, a)
	long := 0
	for seed := range 100 {
		if len(many.Example(seed).Actions) > 4 {
			long++
		}
	}
	require.Greater(t, long, 10)
}
