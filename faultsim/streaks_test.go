package faultsim

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// seedsOf is how many base seeds a test takes: few, or as many as REHEARSE_SEEDS says.
func seedsOf(few int) int {
	if n, err := strconv.Atoi(os.Getenv("REHEARSE_SEEDS")); err == nil {
		return n
	}
	return few
}

// A bug that needs a streak of five, under a policy of six attempts, is found within a
// hundred trials with 99 of 100 base seeds: the faulty subject gives up after its fifth
// failure. With REHEARSE_SEEDS=400 it was missed with none of them.
func TestStreakOfFiveIsFoundWithinAHundredTrials(t *testing.T) {
	right, faulty := loopAdapter(loop{attempts: 6}), loopAdapter(loop{attempts: 5})
	right.Policy.MaxAttempts, faulty.Policy.MaxAttempts = 6, 6
	missed, seeds := 0, seedsOf(20)
	for seed := range seeds {
		c := newCheck(t, &faulty, settings{trials: 100, seed: mix(uint64(seed)), brief: true})
		f, err := c.search()
		require.NoError(t, err)
		if f == nil {
			missed++
		}
	}
	t.Logf("missed with %d of %d seeds", missed, seeds)
	require.LessOrEqual(t, missed*100, seeds)
	require.Empty(t, ran(t, right, settings{}).labels())
}

// All labels that apply are met within 500 trials, with 99 of 100 base seeds.
func TestLabelsAreMetWithinFiveHundredTrials(t *testing.T) {
	six := loopAdapter(loop{attempts: 6})
	six.Policy.MaxAttempts = 6
	for name, a := range map[string]Adapter{"three attempts": homeAdapter(), "six attempts": six} {
		t.Run(name, func(t *testing.T) {
			missed, seeds := 0, seedsOf(3)
			for seed := range seeds {
				m := ran(t, a, settings{seed: mix(uint64(seed))})
				if unmet := m.d.missing(m.Coverage); len(unmet)+len(m.gaps) > 0 {
					missed++
					t.Logf("seed %d: not met: %q %v", m.c.set.seed, unmet, m.gaps)
				}
			}
			t.Logf("missed with %d of %d seeds", missed, seeds)
			require.LessOrEqual(t, missed*100, seeds)
		})
	}
}
