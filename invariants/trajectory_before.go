package invariants

import (
	"fmt"
	"math"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Before is: no call of then is made before a call of first has been answered; a
// call of first alone is legal (precedence, in the property specification patterns
// of Dwyer, Avrunin and Corbett). Every attempt of then is judged. A first that has
// failed for good counts, as where a fallback comes behind it;
// Trajectory{Counted: SuccessfulAttempts} wants a success.
func Before(first, then StepMatcher) Invariant { return Trajectory{}.Before(first, then) }

// Before is the function [Before] for the actions that t speaks of. Counted is
// what counts as a call of first.
func (t Trajectory) Before(first, then StepMatcher) Invariant {
	const name = "trajectory-before"
	if problem := t.problem("Before", []StepMatcher{first, then}); problem != "" {
		return misdeclared(name, problem)
	}
	return t.judging(name, oneLine(fmt.Sprintf("%s comes before %s", first, then)), func(a *trace.Action) (v Verdict) {
		calls := t.calls(a)
		ready := time.Duration(math.MaxInt64) // the earliest answer to a call of first so far
		var under *trace.Attempt              // a call of first so far
		for i := range a.Attempts {
			c := tcall{at: &a.Attempts[i]}
			if then.fits(&c) {
				if v.Applied++; ready > c.at.Begin {
					v.tooSoon(a, &c, under, &first, t.Counted)
					return v
				}
			}
			if len(calls) == 0 || calls[0].at.Event != c.at.Event {
				continue
			}
			if calls = calls[1:]; first.fits(&c) {
				under = c.at
				if c.at.Seen {
					ready = min(ready, c.at.End)
				}
			}
		}
		return v
	})
}

// tooSoon reports a call that came before the one that it needs.
func (v *Verdict) tooSoon(a *trace.Action, c *tcall, under *trace.Attempt, first *StepMatcher, counted Counted) {
	before, events := " had been called", []int{c.at.Event}
	switch {
	case under != nil:
		before, events = " was answered", append(events, under.Event)
	case counted == SuccessfulAttempts:
		before = " had succeeded"
	}
	v.report(a, fmt.Sprintf("%s was called before %s%s (at %v)", c.at.Tool, cut(first.String(), 120), before, c.at.Begin),
		"wait for the answer of the first call, and look at it, before the second is made", events...)
}
