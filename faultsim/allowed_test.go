package faultsim_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/stretchr/testify/require"
)

func TestAllowedToolsAreThoseOfTheStageAndNotAll(t *testing.T) {
	a := home(3)
	a.Allowed = []string{"wether"}
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.One()).Err, `Allowed names "wether", the stage has "weather"`)
	a.Allowed = []string{"weather"}
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.One()).Err, "so that nothing could be called that is not")
}
