package matrix

import (
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// toolRows are those of further tools with policies of their own.
func toolRows() []Row {
	return []Row{
		{Name: "other-tools-silent", Proves: "A further tool that never answers is called as often as its own policy says, and not as often as the main one.", Schedule: otherToolsSilent},
	}
}

// otherToolsSilent is an action for each of the tools, which then hangs: any tool
// can do that.
func otherToolsSilent(s Setting) (faultsim.Schedule, error) {
	var sched faultsim.Schedule
	for _, name := range slices.Sorted(maps.Keys(s.Policy.Tools)) {
		own := s.Policy.Tools[name]
		if own.Attempt == 0 || own.Most() == invariants.Unlimited {
			continue
		}
		faults := slices.Repeat([]faultsim.Fault{{Hang: true}}, own.Most()+1)
		sched.Actions = append(sched.Actions, faultsim.Plan{Faults: map[string][]faultsim.Fault{name: faults}})
	}
	if len(sched.Actions) == 0 {
		return sched, NotFor("no further tool has an Attempt that would end the wait for it, and a number of attempts")
	}
	return sched, nil
}
