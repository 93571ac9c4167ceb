package faultsim_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestPoliciesOfToolsAreForOtherToolsOnTheStage(t *testing.T) {
	for tool, want := range map[string]string{
		"wether":  `Policy.Tools names "wether", the stage has "weather"`,
		"weather": `Policy.Tools names "weather", which is the main tool`,
	} {
		a := home(3)
		a.Policy.Tools = map[string]invariants.Policy{tool: {ID: "x", MaxAttempts: 1}}
		require.ErrorContains(t, faultsim.Trial(t, a, faultsim.One()).Err, want)
	}
	a := home(3)
	a.Policy.Tools = map[string]invariants.Policy{"wether": {ID: "x", Retry: []trace.Class{trace.Reset}}}
	_, err := faultsim.Explore(t, a)
	require.ErrorContains(t, err, `Tools["wether"].MaxAttempts: is 0`)
}
