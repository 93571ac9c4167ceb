package zoo

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/stretchr/testify/require"
)

// met are subjects of different kinds, of which the drawing is to bring about all that
// applies to them.
var met = []string{"plain-loop", "stops-at-long-hints", "full-jitter", "keyed-payment", "http-get", "breaker-in-a-row", "http-tells-the-model", "token-refreshed-once"}

// All labels that apply are met within 500 trials, whatever the base seed: with 99 of
// 100. REHEARSE_SEEDS is how many are taken of each subject, here and in faultsim. With
// 75 it was missed in none of 600 runs, which leaves less than 1 % with a confidence of
// 99.7 % (0.99 to the power of 600).
func TestLabelsAreMetWithinFiveHundredTrials(t *testing.T) {
	seeds, err := strconv.Atoi(os.Getenv("REHEARSE_SEEDS"))
	if err != nil {
		seeds = 1
	}
	missed, runs := 0, 0
	for _, s := range Right() {
		if !slices.Contains(met, s.Name) {
			continue
		}
		for n := range seeds {
			t.Run(s.Name+" "+strconv.Itoa(n), func(t *testing.T) { // the base seed follows from the name
				s.Adapter.Trials = 500
				o, err := faultsim.Explore(t, s.Adapter)
				require.NoError(t, err)
				require.Empty(t, o.Findings)
				if runs++; len(o.Unmet)+len(o.Gaps) > 0 {
					missed++
					t.Logf("seed %d: not met: %q %v", o.Seed, o.Unmet, o.Gaps)
				}
			})
		}
	}
	t.Logf("missed in %d of %d runs", missed, runs)
	require.GreaterOrEqual(t, runs, len(met)*min(seeds, 1))
	require.LessOrEqual(t, missed*100, runs)
}
