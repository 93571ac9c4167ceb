package invariants

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Most is the number of attempts of one action that the policy allows at most,
// by MaxAttempts and by what Spend pays for; [Unlimited] where only time bounds
// them.
func (p *Policy) Most() int {
	switch {
	case p.Spend <= 0 || p.Price <= 0:
		return p.MaxAttempts
	case p.MaxAttempts == Unlimited:
		return p.Spend / p.Price
	}
	return min(p.MaxAttempts, p.Spend/p.Price)
}

// affords reports whether so many attempts of one action are paid for.
func (p *Policy) affords(attempts int) bool {
	return p.Spend <= 0 || attempts <= p.Spend/max(p.Price, 1)
}

func (v *validator) spend(p *Policy) {
	v.want(p.Price >= 0, "Price", "is %d: an attempt cannot earn anything; say 0 where nothing is counted", p.Price)
	v.want(p.Spend >= 0, "Spend", "is %d: say 0 for no limit", p.Spend)
	v.want(p.Spend <= 0 || p.Price > 0, "Spend", "is %d while Price is %d, so that no attempt ever uses it up: set Price to what one attempt costs, or clear Spend", p.Spend, p.Price)
	v.want(p.Price <= 0 || p.Spend > 0, "Price", "is %d while Spend is %d, so that nothing comes of it: set Spend to what one action may cost, or clear Price", p.Price, p.Spend)
	v.want(p.Spend <= 0 || p.Price <= p.Spend, "Spend", "is %d, below the Price of %d, so that no attempt can be made: raise it, or lower Price", p.Spend, p.Price)
}

// WithinSpend is: the attempts of an action, those that failed included, cost
// no more than the policy's Spend, at its Price for each ("cost budgets must
// count failures", Testing Agent Tool-Call Retry Behavior). It counts over all
// series of the action. It does not apply to a policy without Spend.
func WithinSpend(p Policy) Invariant {
	return rule("within-spend", "the attempts of an action, failures included, cost no more than it may spend",
		func(_ *trace.Trace, a *trace.Action) (v Verdict) {
			if p.Spend <= 0 || len(a.Attempts) == 0 {
				return v
			}
			v.Applied++
			if paid := p.Spend / max(p.Price, 1); len(a.Attempts) > paid {
				at := &a.Attempts[paid]
				text, advice := overspent(&p, at.Tool, paid+1)
				v.report(a, text, advice, events(a.Attempts[paid:])...)
			}
			return v
		})
}

// overspent words an attempt that is not paid for.
func overspent(p *Policy, tool string, n int) (text, advice string) {
	return fmt.Sprintf("attempt %d of %s, at %d each, exceeds the %d that the action may spend", n, tool, p.Price, p.Spend),
		"charge an attempt when it is made, whatever becomes of it, and look at what is left before the next one"
}

// affords reports whether one more attempt is paid for.
func (s *Series) affords() bool { return s.p.affords(s.beside + s.attempts + s.spared + 1) }

// shareSpend asks the automaton where the action has several series, which
// spend of the same. Another one may take what is left while this one waits.
func (w *walk) shareSpend() {
	w.auto.beside = w.besideBy(w.end)
	w.d = w.auto.Next(w.went, w.end)
	if w.d.Do == Go && !w.p.affords(w.besideBy(never)+len(w.s.Attempts)+1) {
		w.d.Do, w.d.Reason, w.d.EndLo, w.d.EndHi = Either, trace.ReasonBudget, w.end, plus(w.end, w.d.Hi)
	}
}

// besideBy counts the attempts of the action's other series that had begun by
// the instant.
func (w *walk) besideBy(at time.Duration) int {
	n := 0
	for i := range w.a.Attempts {
		if other := &w.a.Attempts[i]; other.Begin <= at && w.all.alike(other.Tool, w.s.Tool) && !w.owns(other.Event) {
			n++
		}
	}
	return n
}

// owns reports whether the attempt of that event is of the walk's series.
func (w *walk) owns(event int) bool {
	return slices.ContainsFunc(w.s.Attempts, func(at trace.Attempt) bool { return at.Event == event })
}

// spentOn reports whether the action says that it cannot pay for what it would
// do behind its last answer, such as asking for the next page, and is right.
func (p *Policy) spentOn(a *trace.Action) bool {
	last := lastBegun(a)
	if a.Reason != trace.ReasonBudget || last == nil {
		return false
	}
	own, n := p.Of(last.Tool), 1
	for i := range a.Attempts {
		if p.alike(a.Attempts[i].Tool, last.Tool) {
			n++
		}
	}
	if own.affords(n) {
		return false
	}
	return last.Outcome.Class == trace.OK
}
