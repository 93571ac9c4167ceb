package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
)

// allowedRows take away the tools that an action may call.
func allowedRows() []Row {
	return []Row{
		{Name: "approved-down", Proves: "While all tools that the action may call are down, it fails and calls no other.", Schedule: approvedDown},
	}
}

func approvedDown(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	sched, err := s.throughout(f)
	for _, tool := range s.allowed {
		if err == nil && tool != s.Tools[0] {
			sched.Actions[0].Faults[tool] = slices.Clone(sched.Actions[0].Faults[faultsim.Main])
		}
	}
	return sched, err
}
