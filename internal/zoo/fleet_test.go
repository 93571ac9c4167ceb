package zoo

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Every right subject keeps its policy among others too, as a process of its own and
// as one of several actions of a process.
func TestRightSubjectsInAFleet(t *testing.T) {
	for _, s := range Right() {
		if s.Adapter.Repeats != nil {
			continue // a tool, which is called
		}
		t.Run(s.Name, func(t *testing.T) {
			for _, shared := range []bool{false, true} {
				f := faultsim.Fleet{
					Adapter: s.Adapter, Agents: 3, Actions: 2, Pause: time.Second, Shared: shared,
					Service: faultsim.Service{Workers: 2, Serve: 10 * time.Millisecond, Queue: invariants.Unlimited},
				}
				require.NotZero(t, faultsim.Play(t, f).Attempts)
			}
		})
	}
}

// A faulty subject is found among others as it is alone, where what the service does
// shows its fault.
func TestFaultySubjectsInAFleet(t *testing.T) {
	shown := []string{
		"retries-counted-from-zero", "layers-multiply", "zero-taken-for-the-default", "no-wait", "milliseconds-without-a-unit",
		"linear-growth", "wait-declared-in-the-loop", "exponent-off-by-one", "no-cap",
	}
	for _, s := range Faulty() {
		if !slices.Contains(shown, s.Name) {
			continue
		}
		shown = slices.DeleteFunc(shown, func(name string) bool { return name == s.Name })
		load, err := faultsim.Simulate(t, faultsim.Fleet{
			Adapter: s.Adapter, Agents: 3,
			Service: faultsim.Service{Outages: []faultsim.Outage{{To: time.Hour, Class: s.Adapter.Policy.Retry[0]}}},
		})
		require.NoError(t, err, s.Name)
		require.Len(t, load.Broken, 3, s.Name)
		for _, b := range load.Broken {
			require.Equal(t, s.Rule, b.Findings[0].Invariant, s.Name)
		}
	}
	require.Empty(t, shown, "not in the zoo")
}
