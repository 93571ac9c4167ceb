package matrix

import (
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// spendRows meet the end of what one action may spend, where attempts would be left.
func spendRows() []Row {
	return []Row{
		{Name: "success-with-last-unit", Proves: "An attempt that uses the spend up to its last unit is made, and its answer is returned.", Schedule: successWithLastUnit},
		{Name: "failure-with-last-unit", Proves: "A failure that costs the last unit ends the action, though attempts are left and the next one would be answered.", Schedule: failureWithLastUnit},
	}
}

func successWithLastUnit(s Setting) (faultsim.Schedule, error) { return s.paid(-1) }

func failureWithLastUnit(s Setting) (faultsim.Schedule, error) { return s.paid(0) }

// paid is as many failures as Spend pays for, and more by so many.
func (s Setting) paid(more int) (faultsim.Schedule, error) {
	f, err := s.Retried()
	most := s.Policy.Spend / max(s.Policy.Price, 1)
	if err == nil && s.Policy.MaxAttempts != invariants.Unlimited && most >= s.Policy.MaxAttempts {
		err = NotFor("MaxAttempts ends the action before Spend does")
	}
	return faultsim.One(slices.Repeat([]faultsim.Fault{f}, most+more)...), err
}

// allowanceRows use up what many actions share.
func allowanceRows() []Row {
	return []Row{
		{Name: "allowance-in-turn", Proves: "Failures use up what actions share, and the action that finds nothing left calls nothing.", Schedule: allowanceInTurn},
		{Name: "allowance-at-once", Proves: "Actions at once do not all take the last of what they share.", Schedule: allowanceAtOnce},
	}
}

// mostSharing is how many actions a row has at most.
const mostSharing = 24

// allowanceInTurn is as many actions as use it up with failures, and two that
// would be answered.
func allowanceInTurn(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	tool, calls, took, limited := s.draining()
	if err == nil {
		err = limited
	}
	most := s.Policy.Most()
	if err == nil && most == invariants.Unlimited {
		err = NotFor("the policy has no number of attempts that could be used up")
	}
	if err != nil {
		return faultsim.Schedule{}, err
	}
	if !f.Hang {
		f.Latency = took
	}
	sched := faultsim.Schedule{}
	for range (calls+most-1)/most + 2 {
		sched.Actions = append(sched.Actions, faultsim.Plan{Faults: map[string][]faultsim.Fault{tool: slices.Repeat([]faultsim.Fault{f}, most)}})
	}
	for i := range 2 {
		sched.Actions[len(sched.Actions)-1-i].Faults = nil
	}
	if len(sched.Actions) > mostSharing {
		return sched, NotFor("it takes %d actions to use the allowance up", len(sched.Actions))
	}
	return sched, nil
}

// allowanceAtOnce is more actions than may call at once, all in flight together.
func allowanceAtOnce(s Setting) (faultsim.Schedule, error) {
	d, err := s.flight()
	tool, calls, _, limited := s.draining()
	if err == nil {
		err = limited
	}
	if err == nil && calls+2 > mostSharing {
		err = NotFor("it takes %d actions at once to use the allowance up", calls+2)
	}
	if err != nil {
		return faultsim.Schedule{}, err
	}
	one := faultsim.Plan{Faults: map[string][]faultsim.Fault{tool: {{Latency: d}}}}
	return faultsim.Schedule{Actions: slices.Repeat([]faultsim.Plan{one}, calls+2), AtOnce: true}, nil
}

// draining is a tool whose calls use the allowance up, how many of them it
// takes, and how long each of them then is.
func (s Setting) draining() (tool string, calls int, took time.Duration, err error) {
	al, tool := s.allowance, faultsim.Main
	name := s.Tools[0]
	if len(al.Tools) > 0 && !slices.Contains(al.Tools, name) {
		tool, name = al.Tools[0], al.Tools[0]
	}
	calls = math.MaxInt
	if al.Calls > 0 {
		calls = al.Calls
	}
	if price := al.Prices[name]; al.Cost > 0 && price > 0 {
		calls = min(calls, al.Cost/price)
	}
	if al.Time > 0 {
		if took, err = s.flight(); err == nil {
			calls = min(calls, int(al.Time/took)+1)
		}
	}
	if err == nil && calls == math.MaxInt {
		err = NotFor("calls of %s use nothing of the allowance", name)
	}
	return tool, calls, took, err
}
