package invariants

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// WholeAttempt is: an attempt is given the policy's Attempt time, not less,
// where as much is left of the caller's deadline and of a budget that cuts. A
// timeout of ten milliseconds that was meant to be seconds, or one that is made
// outside the loop and shared by all attempts, breaks it. What passes between
// the end of the attempt before and the call, such as a wait or a login, may
// count towards the attempt, and so may an attempt whose repeat after a refresh
// is none of the policy's attempts.
//
// It does not apply to a policy without an Attempt, to an attempt without a
// deadline, which is the business of [AttemptTimeout], and to calls before the
// first declared action, which prepare it.
func WholeAttempt(p Policy) Invariant {
	return rule("whole-attempt", fmt.Sprintf("one attempt is given %v, where as much is left", p.Attempt),
		func(tr *trace.Trace, a *trace.Action) (v Verdict) {
			if p.Attempt <= 0 || a.Name == "" && len(tr.Actions()) > 1 {
				return v
			}
			for i := range a.Series {
				turn := a.Begin
				for j := range a.Series[i].Attempts {
					at := &a.Series[i].Attempts[j]
					if p.cutShort(a, at, turn, &v.Applied) {
						left, _ := at.Remaining()
						v.report(a, fmt.Sprintf("%s was given %v, one attempt has %v", at.Tool, left, p.Attempt),
							"look at the unit of the timeout, and make its context inside the loop, one for each attempt", at.Event)
						return v
					}
					if at.Seen && !(p.Refresh.Extra && p.mends(at.Outcome.Class)) {
						turn = at.End
					}
				}
			}
			return v
		})
}

// cutShort reports whether the attempt was given less than its time, counted
// from turn, and counts it in applied where it could have been.
func (p *Policy) cutShort(a *trace.Action, at *trace.Attempt, turn time.Duration, applied *int) bool {
	over := plus(at.Begin, p.Attempt)
	if at.Deadline == 0 || a.Deadline != 0 && over > a.Deadline || p.BudgetCuts && over > plus(p.budgetFrom(a, a.Begin, at.Event), p.Budget) {
		return false
	}
	*applied++
	return at.Deadline < plus(min(turn, at.Begin), p.Attempt)
}
