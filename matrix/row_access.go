package matrix

import (
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// accessRows hold code that refreshes its credentials against tools that refuse
// them (field case F023).
func accessRows() []Row {
	return []Row{
		{Name: "credential-expired", Proves: "An expired credential costs one refresh and one repeat with the new one.", Schedule: unauthenticated(1, 1)},
		{Name: "credential-expired-twice", Proves: "A tool that refuses the fresh credential too is not asked again.", Schedule: unauthenticated(2, 1)},
		{Name: "credential-expired-at-once", Proves: "Two actions whose one credential expired share one refresh.", Schedule: sharedCredential},
	}
}

// unauthenticated is a number of refusals in a row in each of several actions.
func unauthenticated(refusals, actions int) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		f := faultsim.Fail(trace.Unauthenticated)
		if !s.Can(f) {
			return faultsim.Schedule{}, NotFor("the tool cannot answer %v", f.Class)
		}
		var sched faultsim.Schedule
		for range actions {
			faults := make([]faultsim.Fault, refusals)
			for i := range faults {
				faults[i] = f
			}
			sched.Actions = append(sched.Actions, faultsim.One(faults...).Actions...)
		}
		sched.AtOnce = actions > 1
		return sched, nil
	}
}

// sharedCredential lets both calls be under way when the first is refused.
func sharedCredential(s Setting) (faultsim.Schedule, error) {
	if !s.Policy.Refresh.Shared {
		return faultsim.Schedule{}, NotFor("the policy does not say that actions share a refresh")
	}
	sched, err := unauthenticated(1, 2)(s)
	if err != nil {
		return sched, err
	}
	d, err := s.flight()
	for i := range sched.Actions {
		sched.Actions[i].Faults[faultsim.Main][0].Latency = d
	}
	return sched, err
}
