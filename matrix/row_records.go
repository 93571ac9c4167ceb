package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// recordRows let the adapter's sinks fail while the tool fails once and then
// answers: the action must go its way, or say that its record is missing.
func recordRows() []Row {
	return []Row{
		{Name: "log-fails", Proves: "A log that fails changes neither the attempts nor the end.", Schedule: records(false, faultsim.Fail(trace.Transient))},
		{Name: "log-hangs", Proves: "A log that never answers holds the action up no longer than is declared.", Schedule: records(false, faultsim.Fault{Hang: true})},
		{Name: "log-panics", Proves: "A panic in the writing of a log stays there.", Schedule: records(false, faultsim.Fault{Panic: true})},
		{Name: "audit-fails", Proves: "Without its record no success is told, and what was done is not told as a failure of the tool.", Schedule: records(true, faultsim.Fail(trace.Transient))},
		{Name: "audit-hangs", Proves: "A record that is never answered is one that is missing, and the work is not done again.", Schedule: records(true, faultsim.Fault{Hang: true})},
	}
}

// records lets every record to the sinks of a kind have the fault.
func records(mandatory bool, f faultsim.Fault) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		sched := faultsim.One()
		if once, err := s.Retried(); err == nil {
			sched = faultsim.One(once)
		}
		found := false
		for _, k := range s.Sinks {
			if k.Mandatory == mandatory {
				found = true
				sched.Actions[0].Faults[k.Name] = slices.Repeat([]faultsim.Fault{f}, everyRecord)
			}
		}
		switch {
		case !found && mandatory:
			return sched, NotFor("none of the adapter's sinks is mandatory")
		case !found:
			return sched, NotFor("all of the adapter's sinks are mandatory")
		}
		return sched, nil
	}
}

// everyRecord is how many records of a sink have the row's fault: more than an
// action with two attempts writes.
const everyRecord = 16

// bestEffort reports whether the name is that of a sink whose records change
// nothing.
func (s *Setting) bestEffort(name string) bool {
	for _, k := range s.Sinks {
		if k.Name == name {
			return !k.Mandatory
		}
	}
	return false
}

// knows reports whether the stage has a double of the name.
func (s *Setting) knows(name string) bool {
	for _, k := range s.Sinks {
		if k.Name == name {
			return true
		}
	}
	if slices.Contains(s.cast.Models, name) || slices.Contains(s.cast.Approvers, name) {
		return true
	}
	return name == faultsim.Main || slices.Contains(s.Tools, name)
}
