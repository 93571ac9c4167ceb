package faultsim_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestAnAllowanceNeedsAReasonAndAnEndThatIsReached(t *testing.T) {
	for want, al := range map[string]invariants.Allowance{
		"Calls: is 0, and so are": {}, "smaller one in Subject": {Calls: 1000},
		"Cost is 5000": {Cost: 5000, Prices: map[string]int{"weather": 2}}, "Time is 24h0m0s": {Time: 24 * time.Hour},
		`Tools names "wether"`: {Calls: 3, Tools: []string{"wether"}}, `Prices names "wether"`: {Cost: 3, Prices: map[string]int{"wether": 1}},
	} {
		a := home(3)
		a.Reason = func(error) trace.Reason { return 0 }
		a.Allowance = &al
		_, err := faultsim.Explore(t, a)
		require.ErrorContains(t, err, want)
	}
	a := home(3)
	a.Allowance = &invariants.Allowance{Calls: 3}
	_, err := faultsim.Explore(t, a)
	require.ErrorContains(t, err, "Reason is nil")
}

// Actions that share an allowance are drawn in numbers that use it up, in turn as
// at once; without one, the draws are what they were.
func TestWhatActionsShareIsUsedUp(t *testing.T) {
	a := home(3)
	a.Reason = func(error) trace.Reason { return 0 }
	plain := faultsim.Schedules(t, a)
	a.Allowance = &invariants.Allowance{Calls: 8}
	many := faultsim.Schedules(t, a)
	turn, once := 0, 0
	for seed := range 200 {
		if n := len(plain.Example(seed).Actions); n > 4+3 { // three behind a calm
			t.Fatalf("%d actions without an allowance", n)
		}
		switch s := many.Example(seed); {
		case len(s.Actions) < 8:
		case s.AtOnce:
			once++
		default:
			turn++
		}
	}
	require.Greater(t, turn, 10)
	require.Greater(t, once, 10)
}
