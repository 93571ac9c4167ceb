package matrix

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Zeros say what the code makes of a limit that is set to zero. Libraries read
// it as a default, as no limit, as none at all, or refuse it (field cases F002,
// F045), so that it has to be said.
type Zeros struct {
	// MaxAttempts is how many attempts zero gives: 1, a default, or
	// [invariants.Unlimited]. 0: the code refuses zero, and it is not tried.
	MaxAttempts int

	// Attempt and Budget are the times that zero gives. 0: there is no limit
	// then. Negative: the code refuses zero, and it is not tried.
	Attempt, Budget time.Duration
}

// Limits runs the matrix of code whose limits can be set, once for each limit at
// its edge, as a subtest: one attempt, two attempts, and zero for each limit
// that the policy has. build makes the adapter of code with the limits of set; a
// limit of zero is handed to the code as it is, and the code is held to what
// zero says. The policy of the returned adapter is not looked at.
//
//	matrix.Limits(t, policy, matrix.Zeros{MaxAttempts: 3}, func(set invariants.Policy) faultsim.Adapter {
//		return adapterOf(weather.Config{Attempts: set.MaxAttempts, Timeout: set.Attempt})
//	})
//
// So a number of retries that is used as one of attempts, a zero that is taken
// for the default, and a time of zero that is over at once show as wrong calls.
func Limits(t *testing.T, p invariants.Policy, zero Zeros, build func(set invariants.Policy) faultsim.Adapter) {
	t.Helper()
	if build == nil {
		t.Fatal("matrix: Limits was given no build: give the function that makes the adapter for a policy")
	}
	for _, e := range edges(p, zero) {
		t.Run(e.name, func(t *testing.T) {
			t.Helper()
			if err := e.held.Validate(); err != nil {
				t.Fatalf("matrix: Limits cannot hold the code to this: %v\n    advice: say in Zeros what zero gives, or that it is refused", err)
			}
			a := build(e.set)
			a.Policy = e.held
			Run(t, a)
		})
	}
}

// An edge is a limit at its edge: what the code is set to, and held to.
type edge struct {
	name      string
	set, held invariants.Policy
}

func edges(p invariants.Policy, zero Zeros) (list []edge) {
	at := func(name string, set, held func(*invariants.Policy)) {
		e := edge{name, p, p}
		set(&e.set)
		held(&e.held)
		e.held.ID += " with " + name
		list = append(list, e)
	}
	attempts := func(n int) func(*invariants.Policy) { return func(p *invariants.Policy) { p.MaxAttempts = n } }
	at("one-attempt", attempts(1), attempts(1))
	at("two-attempts", attempts(2), attempts(2))
	if zero.MaxAttempts != 0 {
		at("zero-attempts", attempts(0), attempts(zero.MaxAttempts))
	}
	if p.Attempt > 0 && zero.Attempt >= 0 {
		at("zero-attempt-time",
			func(p *invariants.Policy) { p.Attempt = 0 },
			func(p *invariants.Policy) { p.Attempt = zero.Attempt })
	}
	if p.Budget > 0 && zero.Budget >= 0 {
		at("zero-budget",
			func(p *invariants.Policy) { p.Budget = 0 },
			func(p *invariants.Policy) { giveBudget(p, zero.Budget) })
	}
	return list
}

// giveBudget sets the budget. Without one nothing speaks of it.
func giveBudget(p *invariants.Policy, d time.Duration) {
	if p.Budget = d; d == 0 {
		p.BudgetCuts, p.BudgetLate, p.RestartBudget = false, invariants.LateStop, invariants.BudgetGoesOn
	}
}
