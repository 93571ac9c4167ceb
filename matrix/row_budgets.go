package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// spendRows meet the end of what one action may spend, where attempts would be left.
func spendRows() []Row {
	return []Row{
		{"success-with-last-unit", "An attempt that uses the spend up to its last unit is made, and its answer is returned.", successWithLastUnit, Budgets},
		{"failure-with-last-unit", "A failure that costs the last unit ends the action, though attempts are left and the next one would be answered.", failureWithLastUnit, Budgets},
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
