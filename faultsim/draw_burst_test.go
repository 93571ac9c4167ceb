package faultsim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func TestAChainStepsAsDeclared(t *testing.T) {
	chain, source, bad := AirborneLink(), seeded(1), false
	var fails, leaves [2][]int
	for range many {
		failed, next := chain.step(source, bad)
		in := number(bad)
		fails[in], leaves[in] = append(fails[in], number(failed)), append(leaves[in], number(next != bad))
		bad = next
	}
	require.Less(t, uneven(fails[0], yes(chain.Good)), 1.0)
	require.Less(t, uneven(fails[1], yes(chain.Bad)), 1.0)
	require.Less(t, uneven(leaves[0], yes(chain.ToBad)), 1.0)
	require.Less(t, uneven(leaves[1], yes(chain.ToGood)), 1.0)
}

// A chain takes a step for each attempt that is made, and none besides: it goes on from
// one action to the next, whatever has ended the first.
func TestBurstsComeAsTheChainSays(t *testing.T) {
	chain := BurstsOf(0.2, 4)
	require.InDelta(t, 0.2, chain.Share(), 1e-9)
	bounded := weathered(nil).Policy
	unlimited := bounded
	unlimited.MaxAttempts, unlimited.Budget = invariants.Unlimited, 1000*time.Hour
	twice := bounded
	twice.MaxAttempts = 2
	for name, x := range map[string]struct {
		policy invariants.Policy
		class  trace.Class
		least  int // attempts of an action that ends with a failure
	}{
		"until it answers":           {bounded, trace.Transient, 50},
		"as long as the budget says": {unlimited, trace.Transient, longest},
		"until no attempt is left":   {twice, trace.Transient, 2},
		"until it is refused":        {bounded, trace.Invalid, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := of(Behaviour{Burst: chain, Classes: Weights{x.class: 1}})
			p.Actions = Fixed(MostActions)
			a := weathered(p)
			a.Policy = x.policy
			d := profiler(t, a)
			var first []int
			var behind [2][]int // whether an attempt fails, by whether the one before did
			for trial := 0; len(behind[0])+len(behind[1]) < many; trial++ {
				last := -1
				for _, plan := range d.draw(seeded(trialSeed(2, trial))).Actions {
					for _, fails := range made(plan.Faults["weather"], x.least) {
						if last < 0 {
							first = append(first, fails)
						} else {
							behind[last] = append(behind[last], fails)
						}
						last = fails
					}
				}
			}
			require.Less(t, uneven(first, yes(chain.Share())), 1.0)
			require.Less(t, uneven(behind[0], yes(chain.ToBad)), 1.0)
			require.Less(t, uneven(behind[1], yes(1-chain.ToGood)), 1.0)
		})
	}
}

// made is whether each attempt of an action fails. It ends with a success, which is not
// planned, or with so many failures.
func made(faults []Fault, least int) (list []int) {
	for range faults {
		list = append(list, 1)
	}
	if len(list) < least {
		list = append(list, 0)
	}
	return list
}

// A hint that the policy does not follow ends the action, and so does its budget.
func TestAnActionsBurstEndsWithIt(t *testing.T) {
	p := of(Behaviour{Burst: GilbertElliott{ToBad: 1, Bad: 1, Good: 1}, Classes: Weights{trace.Throttled: 1}, Hint: Hints{Share: 1, Wait: Constant(time.Minute)}})
	drawn := func(change func(*invariants.Policy)) int {
		a := weathered(p)
		change(&a.Policy)
		return len(profiler(t, a).draw(seeded(1)).Actions[0].Faults["weather"])
	}
	require.Equal(t, 50, drawn(func(*invariants.Policy) {}))
	require.Equal(t, 1, drawn(func(p *invariants.Policy) { p.Hint.Limit = time.Second }))
	require.Equal(t, 4, drawn(func(p *invariants.Policy) { p.Budget = 200 * time.Second }))
}
