package matrix

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// restartRows let the process of the code under test die and come back. They
// are for adapters with a Resume.
func restartRows() []Row {
	return []Row{
		{Name: "restart-in-flight", Proves: "An attempt that a crash cuts off counts, and is repeated only where that is safe; its work is done once.", Schedule: restartInFlight},
		{Name: "restart-under-each-attempt", Proves: "A process that dies under each attempt calls no more often than another: what was cut off counts.", Schedule: restartUnderEach},
		{Name: "restart-in-backoff", Proves: "A restart in the wait changes nothing: the next attempt comes at its own instant, with the same key and arguments.", Schedule: restartInBackoff(false)},
		{Name: "restart-after-backoff", Proves: "A wait that was over before the restart is over: the next attempt comes at once.", Schedule: restartInBackoff(true)},
		{Name: "restart-until-exhausted", Proves: "However often the process begins anew, the attempts end at the same count.", Schedule: restartUntilExhausted},
		{Name: "restart-at-each-write", Proves: "Whatever was written down when the process died, before or after it, what is done is not done again and what is not is not lost.", Schedule: restartAtWrites},
	}
}

// operatorRows are for adapters that let an operator have an action done again.
func operatorRows() []Row {
	return []Row{
		{Name: "operator-retry", Proves: "An action that is done again at an operator's word, a day after its attempts were used up, has all of them and all of its time again.", Schedule: operatorRetry},
	}
}

// operatorRetry uses the attempts up, twice: only who counts from zero makes as
// many the second time.
func operatorRetry(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	sched, err := s.throughout(f)
	if err != nil {
		return sched, err
	}
	again := sched.Actions[0]
	again.Again, again.After = true, 24*time.Hour
	sched.Actions = append(sched.Actions, again)
	return sched, nil
}

// restartInFlight lets the tool do its work, and the process die before it
// hears of it.
func restartInFlight(s Setting) (faultsim.Schedule, error) {
	f, err := s.cutOff()
	return faultsim.One(f), err
}

// cutOff is an attempt whose answer comes when the process is dead.
func (s Setting) cutOff() (faultsim.Fault, error) {
	latency := 100 * time.Millisecond
	if a := s.Policy.Attempt; a > 0 {
		latency = min(latency, a/2)
	}
	if latency < 2 {
		return faultsim.Fault{}, NotFor("the policy gives an attempt no time in which the process could die")
	}
	return faultsim.Fault{Latency: latency, Crash: latency / 2}, nil
}

// restartUnderEach cuts one attempt more off than the policy allows.
func restartUnderEach(s Setting) (faultsim.Schedule, error) {
	f, err := s.cutOff()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	sched, err := s.throughout(f)
	if err == nil {
		sched = faultsim.One(append(slices.Clone(sched.Actions[0].Faults[faultsim.Main]), f)...)
	}
	return sched, err
}

// dies is the failure f, and a crash in the middle of the wait that follows it.
// rest is what is left of the shortest wait from there.
func (s Setting) dies(f faultsim.Fault, n int) (crashing faultsim.Fault, rest time.Duration, err error) {
	lo, _ := s.Policy.Backoff.Window(n, 0)
	if lo < 4 {
		return f, 0, NotFor("the policy has no wait before attempt %d of which it is sure", n+1)
	}
	f.Crash = lo / 2
	if f.Hang {
		f.Crash += s.Policy.Attempt
	}
	return f, lo - lo/2, nil
}

// restartInBackoff brings the process back within the wait, or long after it.
func restartInBackoff(late bool) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		f, err := s.Retried()
		if err != nil {
			return faultsim.Schedule{}, err
		}
		f, rest, err := s.dies(f, 1)
		sched := faultsim.One(f)
		if sched.Actions[0].Restart = rest / 2; late {
			_, hi := s.Policy.Backoff.Window(1, 0)
			sched.Actions[0].Restart = max(2*hi+1, time.Hour) // of what is read anew, much has changed by then
		}
		return sched, err
	}
}

// restartUntilExhausted lets the process die in each wait.
func restartUntilExhausted(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	sched, err := s.throughout(f)
	if err != nil {
		return sched, err
	}
	switch s.Policy.MaxAttempts {
	case invariants.Unlimited:
		return sched, NotFor("the policy bounds the attempts by no count")
	case 1:
		return sched, NotFor("the policy allows one attempt, after which there is no wait")
	}
	faults := slices.Clone(sched.Actions[0].Faults[faultsim.Main])
	for n := range faults[:len(faults)-1] {
		if faults[n], _, err = s.dies(f, n+1); err != nil {
			return sched, err
		}
	}
	sched = faultsim.One(append(faults, f)...)
	sched.Actions[0].Restart = time.Nanosecond
	return sched, nil
}

// mostWrites is how many of an action's writes a crash is tried at.
const mostWrites = 4

// restartAtWrites is an action for each write at which the process dies, before
// it is durable and after.
func restartAtWrites(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	var sched faultsim.Schedule
	for n := range mostWrites {
		before, after := faultsim.One(f).Actions[0], faultsim.One(f).Actions[0]
		before.CrashBeforeWrite, after.CrashAfterWrite = n+1, n+1
		sched.Actions = append(sched.Actions, before, after)
	}
	return sched, nil
}
