package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

// drainRows tell the process of the code under test to stop. They are for
// adapters with a HandedBack. A program may wait for an answer in its grace or cut
// the attempt off, and the rows want either; what it did, the rules judge.
func drainRows() []Row {
	return []Row{
		{Name: "drain-in-flight", Proves: "A process that is told to stop under an attempt brings it to its end or gives it back: nothing is ended for that, and its work is done once.", Schedule: drainInFlight},
		{Name: "drain-under-each-attempt", Proves: "However often an attempt is cut off and given back, it counts or is free as declared.", Schedule: drainUnderEach},
		{Name: "drain-in-backoff", Proves: "A process that is told to stop in the wait makes no further attempt: the next process makes it at its own instant, with the same key and arguments.", Schedule: drainInBackoff},
		{Name: "drain-past-its-grace", Proves: "A process whose time of grace ends under the attempt is killed: what it began is on record all the same.", Schedule: drainPastGrace},
	}
}

func drainInFlight(s Setting) (faultsim.Schedule, error) {
	f, err := s.drained()
	return faultsim.One(f), err
}

// drained is an attempt that is under way when the process is told to stop.
func (s Setting) drained() (faultsim.Fault, error) {
	f, err := s.cutOff()
	f.Crash, f.Drain = 0, f.Crash
	return f, err
}

// drainUnderEach tells one process more to stop under its attempt than the policy
// allows attempts.
func drainUnderEach(s Setting) (faultsim.Schedule, error) {
	f, err := s.drained()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	sched, err := s.throughout(f)
	if err == nil {
		sched = faultsim.One(append(slices.Clone(sched.Actions[0].Faults[faultsim.Main]), f)...)
	}
	return sched, err
}

// drainInBackoff brings the process back within the wait.
func drainInBackoff(s Setting) (faultsim.Schedule, error) {
	sched, err := restartInBackoff(false)(s)
	if err != nil {
		return sched, err
	}
	f := &sched.Actions[0].Faults[faultsim.Main][0]
	f.Crash, f.Drain = 0, f.Crash
	return sched, nil // with the usual grace, in which a deaf program goes on
}

// drainPastGrace lets the grace end before the answer comes.
func drainPastGrace(s Setting) (faultsim.Schedule, error) {
	f, err := s.drained()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	if f.Drain < 2 {
		return faultsim.Schedule{}, NotFor("the policy gives an attempt no time in which a grace could end")
	}
	sched := faultsim.One(f)
	sched.Actions[0].Grace = min(f.Drain/2, 10*time.Millisecond)
	return sched, nil
}
