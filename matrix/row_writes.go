package matrix

import (
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

func writeRows() []Row {
	return []Row{
		{Name: "ambiguous-write-timeout", Proves: "A reply lost after the effect is reconciled, repeated with the same key, or reported as unknown.", Schedule: ambiguousWrite},
		{Name: "actions-in-turn", Proves: "A second action has its own attempts, waits and key, whatever the first one used up.", Schedule: twice(false)},
		{Name: "actions-at-once", Proves: "Two actions at once each have their own attempts, waits and key.", Schedule: twice(true)},
		{Name: "failure-not-replayed", Proves: "A failure that one action met is not the answer to a later one, which may do better.", Schedule: afterFailure},
		{Name: "duplicate-delivery", Proves: "A call that the network delivers twice does its work once, since both carry the key.", Schedule: duplicateDelivery},
		{Name: "delete-repeated", Proves: "A repeat that finds the desired state reached, after a lost reply, is a success.", Schedule: desiredState},
		{Name: "conflict-with-own-attempt", Proves: "A conflict after a lost reply may be with the own attempt, and does not say that nothing was done.", Schedule: ownConflict},
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

// afterFailure is an action that comes when an earlier one has failed for good
// and what a cache may keep of the failure is over.
func afterFailure(s Setting) (faultsim.Schedule, error) {
	sched, err := s.forGood()
	if err != nil {
		return sched, err
	}
	pause := time.Hour
	if s.cache != nil {
		pause += s.cache.FailureTTL
	}
	sched.Actions = append(sched.Actions, faultsim.Plan{After: pause})
	return sched, nil
}

// forGood is an action that fails: at once where the tool can refuse, else when
// its attempts are used up.
func (s Setting) forGood() (faultsim.Schedule, error) {
	for _, c := range refusals {
		if s.Can(faultsim.Fail(c)) && !s.Policy.Retries(c) {
			return faultsim.One(faultsim.Fail(c)), nil
		}
	}
	if s.Breaker != nil {
		return faultsim.Schedule{}, NotFor("the tool cannot refuse, and what it can answer may open the breaker")
	}
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	return s.throughout(f)
}

// duplicateDelivery needs a key: without one, no caller can prevent that the
// work is done twice.
func duplicateDelivery(s Setting) (faultsim.Schedule, error) {
	if s.Policy.Key == "" {
		return faultsim.Schedule{}, NotFor("the policy has no key by which the tool could know a call again")
	}
	return faultsim.One(faultsim.Fault{Twice: true}), nil
}

// lost returns a failure that the policy retries and that leaves open whether
// the tool did its work. It did.
func (s Setting) lost() (faultsim.Fault, error) {
	for _, c := range append([]trace.Class{trace.Timeout, trace.Reset}, s.Policy.Retry...) {
		f := faultsim.Lose(c)
		if s.Policy.Retries(c) && s.Policy.Effect(trace.Outcome{Class: c}) == trace.EffectUnknown && s.Can(f) {
			return f, nil
		}
	}
	if s.Policy.Retries(trace.Timeout) && s.Policy.Attempt > 0 {
		return faultsim.Fault{Hang: true, Done: true}, nil
	}
	return faultsim.Fault{}, NotFor("the policy repeats nothing that may have been done")
}

func desiredState(s Setting) (faultsim.Schedule, error) {
	for _, c := range s.Policy.Desired {
		if s.Can(faultsim.Fail(c)) {
			f, err := s.lost()
			return faultsim.One(f, faultsim.Fail(c)), err
		}
	}
	return faultsim.Schedule{}, NotFor("the policy names no class that means that it is done already, which the tool can answer")
}

func ownConflict(s Setting) (faultsim.Schedule, error) {
	if !s.Can(faultsim.Fail(trace.Conflict)) {
		return faultsim.Schedule{}, NotFor("the tool cannot answer %v", trace.Conflict)
	}
	if !s.Policy.Writes() {
		return faultsim.Schedule{}, NotFor("the action is a read, and no attempt of its own can be in its way")
	}
	f, err := s.lost()
	return faultsim.One(f, faultsim.Fail(trace.Conflict)), err
}
