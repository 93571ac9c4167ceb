package matrix

import "github.com/rehearse-go/rehearse/faultsim"

func writeRows() []Row {
	return []Row{
		{Name: "actions-in-turn", Proves: "A second action has its own attempts, waits and key, whatever the first one used up.", Schedule: twice(false)},
		{Name: "actions-at-once", Proves: "Two actions at once each have their own attempts, waits and key.", Schedule: twice(true)},
		{Name: "duplicate-delivery", Proves: "A call that the network delivers twice does its work once, since both carry the key.", Schedule: duplicateDelivery},
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

// duplicateDelivery needs a key: without one, no caller can prevent that the
// work is done twice.
func duplicateDelivery(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Key == "" {
		return faultsim.Schedule{}, NotFor("the policy has no key by which the tool could know a call again")
	}
	return faultsim.One(faultsim.Fault{Twice: true}), nil
}
