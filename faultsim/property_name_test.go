package faultsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPropertiesOfOneTestHaveNamesOfTheirOwn(t *testing.T) {
	for range 2 { // as -count does
		t.Run("", func(t *testing.T) {
			var names []string
			for _, adapter := range []string{"pay", "pay", "refund", "pay"} {
				names = append(names, strings.TrimPrefix(propertyName(t, adapter), t.Name()))
			}
			require.Equal(t, []string{"", "/pay", "/refund", "/pay#01"}, names)
		})
	}
}

func TestChildTwoChecks(t *testing.T) {
	childOnly(t)
	attempts := 3
	if scenario == "two-checks" {
		attempts = 4
	}
	Check(t, loopAdapter(loop{attempts: 3}))
	Check(t, loopAdapter(loop{attempts: attempts}))
}

// The results of two properties of one test do not replace each other, and neither do
// their cases.
func TestMergeFindsWhatTheSecondPropertyOfATestBreaks(t *testing.T) {
	folder := t.TempDir()
	for _, shard := range []string{"0/2", "1/2"} {
		_, passed := scaleChild(t, "two-checks", folder).run(t, "^TestChildTwoChecks$", "-rehearse.trials=100", "-rehearse.shard="+shard)
		require.False(t, passed)
	}
	require.Len(t, readResultsOf(t, folder), 4)
	merged := scaleChild(t, "two-checks", "")
	out, passed := merged.run(t, "^TestChildTwoChecks$", "-rehearse.merge="+folder)
	require.False(t, passed)
	require.Contains(t, out, "attempts-bounded: forecast: 4 attempts")
	require.Contains(t, out, "go test -run '^TestChildTwoChecks$/^forecast$' ")

	out, passed = merged.run(t, "^TestChildTwoChecks$/^forecast$")
	require.False(t, passed, "which is what the command runs")
	require.Contains(t, out, "saved case testdata/rehearse/TestChildTwoChecks_forecast-")
	merged.env[0] = "SCENARIO=repaired"
	out, passed = merged.run(t, "^TestChildTwoChecks$", "-test.count=2")
	require.True(t, passed, out)
}
