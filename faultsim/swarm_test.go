package faultsim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

func TestHalfOfTheSchedulesDoWithoutSomeFaults(t *testing.T) {
	d := drawerOf(t, withTools())
	without, lacks := 0, map[trace.Class]int{}
	for n := range draws {
		one := d
		if swarm := seeded(trialSeed(1, n)).of("swarm"); coin(swarm) {
			one = d.swarmed(swarm)
			without++
		}
		tool := one.tools[0]
		require.NotEmpty(t, slices.Concat(tool.retried, tool.refused))
		for _, c := range []trace.Class{trace.Transient, trace.Invalid} {
			if !slices.ContainsFunc(slices.Concat(tool.retried, tool.refused), func(f Fault) bool { return f.Class == c && !f.Done }) {
				lacks[c]++
			}
		}
	}
	rare(t, "a swarm", without, draws, 1.0/2)
	// Where nothing is left everything is.
	for c, n := range lacks {
		require.InDelta(t, 0.25, float64(n)/draws, 0.05, "%v", c)
	}
	require.Len(t, lacks, 2)
}

// A streak that no other fault disturbs: a counter that wraps at five shows there.
func TestALongStreakIsFoundWithinAHundredTrials(t *testing.T) {
	a := withTools()
	a.Policy.MaxAttempts = 6
	d := drawerOf(t, a)
	missed, seeds := 0, 400
	for base := range seeds {
		n := 0
		for n < 100 && !undisturbed(d.draw(seeded(trialSeed(uint64(base), n))), 5) {
			n++
		}
		if n == 100 {
			missed++
		}
	}
	t.Logf("missed with %d of %d seeds", missed, seeds)
	require.LessOrEqual(t, missed, seeds/100, "seeds of which no trial has such a streak")
}

// undisturbed reports whether the first action of the schedule comes to so many
// failures in a row that are retried, and that nobody ends.
func undisturbed(s Schedule, streak int) bool {
	p := s.Actions[0]
	faults := p.Faults["weather"]
	if p.Deadline != 0 || p.Cancel != 0 || len(faults) < streak {
		return false
	}
	return !slices.ContainsFunc(faults[:streak], func(f Fault) bool {
		return f.Cancel != 0 || !f.Hang && f.Class != trace.Transient
	})
}
