package invariants

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// BudgetAfterRestart says what a restart of the program's process does to the
// Budget of an action that outlives it. Job runners differ: some count the age of
// a job from the time it was made, some the time since a worker took it up.
type BudgetAfterRestart string

const (
	// BudgetGoesOn: the budget counts from the action's begin, and the time in
	// which the process was down with it ("the restored job must retain […] its
	// original constraints", testing agent tool-call retry behavior).
	BudgetGoesOn BudgetAfterRestart = ""

	// BudgetBeginsAnew: the budget counts from the restart on, and each restart
	// gives all of it again. Only MaxAttempts and Spend then bound an action
	// whose process dies again and again.
	BudgetBeginsAnew BudgetAfterRestart = "anew"
)

// restartBudget validates the field.
func (v *validator) restartBudget(p *Policy) {
	const field = "RestartBudget"
	known := []BudgetAfterRestart{BudgetGoesOn, BudgetBeginsAnew}
	switch {
	case !slices.Contains(known, p.RestartBudget):
		v.want(false, field, "is %q; say BudgetGoesOn or BudgetBeginsAnew", p.RestartBudget)
	case p.RestartBudget == BudgetGoesOn:
	default:
		v.want(p.Budget > 0, field, "is %q while there is no Budget that could begin anew: set a Budget, or clear it", p.RestartBudget)
		v.want(p.Restart == RestartResumes, field, "is %q while nothing goes on after a restart: set Restart to RestartResumes, or clear it", p.RestartBudget)
	}
}

// refills reports whether each restart gives all of the budget again.
func (p *Policy) refills() bool { return p.RestartBudget == BudgetBeginsAnew && p.Budget > 0 }

// refill begins the budget anew, where a restart does.
func (s *Series) refill(up time.Duration) {
	if s.p.refills() {
		s.begin = max(s.begin, up)
	}
}

// budgetFrom is the instant from which the budget counts at the event, -1 for
// the action's end: begin, or the latest restart where each gives all of it again.
func (p *Policy) budgetFrom(a *trace.Action, begin time.Duration, event int) time.Duration {
	if len(a.Restarts) == 0 || !p.refills() {
		return begin
	}
	for i := range a.Restarts {
		if r := &a.Restarts[i]; r.UpEvent >= 0 && (event < 0 || r.UpEvent < event) {
			begin = max(begin, r.Up)
		}
	}
	return begin
}

// budgetEnds reports whether the budget ends with the action. It counts from
// begin, or from a restart before the first attempt: a program that died at a
// write may have had nothing on record by then.
func (p *Policy) budgetEnds(a *trace.Action, begin time.Duration) bool {
	if a.End-p.budgetFrom(a, begin, -1) == p.Budget {
		return true
	}
	for _, r := range crashesSince(a, -1, a.Attempts[0].Event) {
		if r.Write > 0 && r.UpEvent >= 0 && a.End-r.Up == p.Budget {
			return true
		}
	}
	return false
}

// outOfTime reports whether the budget was used up when the action ended or,
// where each life of the process has all of it, when one of them did: what was
// decided then may have outlived it.
func (p *Policy) outOfTime(a *trace.Action, begin time.Duration) bool {
	if p.Budget <= 0 {
		return false
	}
	if len(a.Restarts) > 0 && p.refills() {
		for i := range a.Restarts {
			r := &a.Restarts[i]
			if r.Crash-p.budgetFrom(a, begin, r.CrashEvent) >= p.Budget {
				return true
			}
		}
	}
	return a.End-p.budgetFrom(a, begin, -1) >= p.Budget
}

// orOutOfTime widens a decision after a restart: before the process died it may
// have decided, by the decision before, to end for the lack of time, and said so
// to nobody.
func (d *Decision) orOutOfTime(before Decision, up time.Duration) {
	if before.Do == Go || !before.Allows(trace.ReasonBudget) {
		return
	}
	before.EndLo, before.EndHi = up, up
	d.orElse(before, 0)
}
