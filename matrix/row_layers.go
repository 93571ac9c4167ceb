package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// layerRows show how layers that retry by themselves multiply: each may own
// another kind of failure, so that one kind alone shows nothing. The bound over
// all tools, and that each attempt names its layer, is the business of the rules
// that the adapter declares.
func layerRows() []Row {
	return []Row{
		{Name: "failures-of-each-kind", Proves: "Whatever the tool fails with, all layers together make the attempts of the policy.", Schedule: eachKind, InAll: eachKindInAll},
		{Name: "failures-alternate", Proves: "Failures that change their kind do not begin the count anew in another layer.", Schedule: alternatingKinds},
	}
}

// bounded reports whether the adapter speaks of its layers.
func bounded(a *faultsim.Adapter) bool {
	return slices.ContainsFunc(a.Invariants, func(inv invariants.Invariant) bool {
		return inv.Name == "physical-attempts" || inv.Name == "attributed"
	})
}

// kinds are the failures that the policy retries, one of each kind.
func (s Setting) kinds() (list []faultsim.Fault) {
	for _, c := range s.Policy.Retry {
		if f := faultsim.Fail(c); s.Can(f) {
			list = append(list, f)
		} else if c == trace.Timeout && s.Policy.Attempt > 0 {
			list = append(list, faultsim.Fault{Hang: true})
		}
	}
	return list
}

// eachKind has one action for each kind of failure, which lasts.
func eachKind(s Setting) (sched faultsim.Schedule, err error) {
	for _, f := range s.kinds() {
		one, err := s.throughout(f)
		if err != nil {
			return sched, err
		}
		sched.Actions = append(sched.Actions, one.Actions...)
	}
	if len(sched.Actions) == 0 {
		return sched, NotFor("the policy retries nothing that the tool can answer")
	}
	return sched, nil
}

func eachKindInAll(s Setting) (sum faultsim.Expectation) {
	sched, _ := eachKind(s)
	for _, plan := range sched.Actions {
		e, _ := faultsim.Expect(s.Policy, plan)
		sum.Least, sum.Most, sum.Reasons = sum.Least+e.Least, sum.Most+e.Most, e.Reasons
	}
	return sum
}

func alternatingKinds(s Setting) (faultsim.Schedule, error) {
	kinds := s.kinds()
	if len(kinds) < 2 {
		return faultsim.Schedule{}, NotFor("the policy retries one kind of failure only that the tool can answer")
	}
	if s.Policy.MaxAttempts == invariants.Unlimited {
		return faultsim.Schedule{}, NotFor("the policy has no number of attempts that could be used up")
	}
	faults := make([]faultsim.Fault, 3*s.Policy.MaxAttempts)
	for i := range faults {
		faults[i] = kinds[i%len(kinds)]
	}
	return faultsim.One(faults...), nil
}
