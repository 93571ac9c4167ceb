package matrix

import "github.com/rehearse-go/rehearse/faultsim"

func writeRows() []Row {
	return []Row{
		{Name: "actions-in-turn", Proves: "A second action has its own attempts, waits and key, whatever the first one used up.", Schedule: twice(false)},
		{Name: "actions-at-once", Proves: "Two actions at once each have their own attempts, waits and key.", Schedule: twice(true)},
	}
}

// twice is two actions that both meet a failure. The expectation is that of
// the first; what the rules of the policy say is held against both.
func twice(atOnce bool) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		f, err := s.Retried()
		one := faultsim.One(f).Actions[0]
		return faultsim.Schedule{Actions: []faultsim.Plan{one, one}, AtOnce: atOnce}, err
	}
}
