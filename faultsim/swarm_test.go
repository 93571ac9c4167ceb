package faultsim

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

func TestHalfOfTheSchedulesDoWithoutSomeFaults(t *testing.T) {
	d := drawerOf(t, withTools())
	var without []int
	lacks := map[trace.Class][]int{trace.Transient: nil, trace.Invalid: nil}
	for n := range many {
		one, swarm := d, seeded(trialSeed(1, n)).of("swarm")
		swarms := coin(swarm)
		if without = append(without, number(swarms)); swarms {
			one = d.swarmed(swarm)
		}
		has := slices.Concat(one.tools[0].retried, one.tools[0].refused)
		for c := range lacks {
			lacks[c] = append(lacks[c], number(!slices.ContainsFunc(has, func(f Fault) bool { return f.Class == c && !f.Done })))
		}
	}
	require.Less(t, uneven(without, yes(0.5)), 1.0)
	// Where nothing is left everything is.
	all := len(d.tools[0].retried) + len(d.tools[0].refused)
	for c := range lacks {
		require.Less(t, uneven(lacks[c], yes((0.5-math.Pow(0.5, float64(all)))/2)), 1.0, "%v", c)
	}
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
