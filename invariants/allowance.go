package invariants

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// An Allowance is what many actions may use together, as plain data: the calls,
// the cost and the tools' time of one session, or of one user. It lies beside the
// policy, which bounds a single action, and a trial is one session.
//
// An attempt counts when it is made, whatever becomes of it, also while others
// are under way. Where nothing is left, an action makes no further attempt and
// ends with the reason budget. [WithinAllowance] holds a trace to that.
//
// The zero Allowance is not valid: say at least one bound.
type Allowance struct {
	// Tools whose attempts use it. Empty: every tool's.
	Tools []string

	// Calls is how many attempts there may be in all. 0: any number.
	Calls int

	// Cost is what the attempts may cost in all, and Prices what one attempt
	// costs, by tool, in a unit of the author's choice. A tool without a price
	// costs nothing. 0: the cost is not bounded.
	Cost   int
	Prices map[string]int

	// Time is how long the tools may be at work in all: the sum of the attempts
	// that have ended. Once it is over, no attempt begins. 0: any time.
	Time time.Duration
}

// Validate reports everything in the allowance that contradicts itself; nil
// where there is nothing.
func (al *Allowance) Validate() error {
	var errs []error
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("allowance: %s: %s", field, fmt.Sprintf(format, args...)))
		}
	}
	want(al.Calls >= 0, "Calls", "is %d: say 0 for any number", al.Calls)
	want(al.Cost >= 0, "Cost", "is %d: say 0 for no bound", al.Cost)
	want(al.Time >= 0, "Time", "is %v: say 0 for no bound", al.Time)
	want(al.Calls != 0 || al.Cost != 0 || al.Time != 0, "Calls", "is 0, and so are Cost and Time, so that nothing is bounded: set one of them")
	want(!slices.Contains(al.Tools, ""), "Tools", "holds an empty name: take it out")
	want(al.Cost == 0 || al.dearest() > 0, "Prices", "has no tool that costs anything, while Cost is %d: say what an attempt costs, or clear Cost", al.Cost)
	want(al.Cost != 0 || len(al.Prices) == 0, "Cost", "is 0 while Prices are set, so that nothing comes of them: set Cost, or clear Prices")
	for _, tool := range slices.Sorted(maps.Keys(al.Prices)) {
		price := al.Prices[tool]
		want(price >= 0, "Prices", "is %d for %q: an attempt cannot earn anything", price, tool)
		want(price <= al.Cost || al.Cost <= 0, "Prices", "is %d for %q, above the Cost of %d, so that it can never be called: raise Cost, or lower the price", price, tool, al.Cost)
		want(al.covers(tool), "Prices", "names %q, which is not among Tools: add it there, or take it out", tool)
	}
	return errors.Join(errs...)
}

// covers reports whether attempts of the tool use the allowance.
func (al *Allowance) covers(tool string) bool {
	return len(al.Tools) == 0 || slices.Contains(al.Tools, tool)
}

// dearest is the highest price.
func (al *Allowance) dearest() int {
	most := 0
	for _, price := range al.Prices {
		most = max(most, price)
	}
	return most
}

// WithinAllowance is: the attempts of all actions together, those that failed
// included, use no more than the allowance, also where actions run at once; and
// no action ends for want of it while something is left ("cost budgets must count
// failures", Testing Agent Tool-Call Retry Behavior; a budget that comes back of
// itself, field case F067).
//
// That an action was refused shows as its reason, budget, so the adapter must say
// which error that is. An action under way may have put a unit aside for its next
// attempt, and where Time is short, an attempt may be refused that could take
// longer than is left: both are legal. So is a call at the instant at which
// another one ends.
func WithinAllowance(al Allowance) Invariant { return withinAllowance(al, nil) }

// withinAllowance is WithinAllowance with the policy, whose own limits also end
// an action as budget; nil: it has none.
func withinAllowance(al Allowance, p *Policy) Invariant {
	const name = "within-allowance"
	if err := al.Validate(); err != nil {
		return unsound(name, err)
	}
	return Invariant{Name: name, idles: true, Rule: "all actions together use no more than they are allowed, and nothing is refused while something is left",
		Check: func(tr *trace.Trace) Verdict {
			u := usage{al: &al, tr: tr, actions: tr.Actions()}
			u.collect()
			v := u.overdraft()
			if len(v.Findings) == 0 {
				w := u.miserly(p)
				v.Applied += w.Applied
				v.Findings = w.Findings
			}
			for i := range v.Findings {
				v.Findings[i].Invariant = name
			}
			return v
		}}
}

// A usage is what the actions of a trace have used.
type usage struct {
	al      *Allowance
	tr      *trace.Trace
	actions []trace.Action
	made    []use // in the order of events
	cost    []int // of the first so many of them
}

// A use is an attempt and its action.
type use struct {
	a  *trace.Action
	at *trace.Attempt
}

func (u *usage) collect() {
	for i := range u.actions {
		a := &u.actions[i]
		for n := range a.Attempts {
			if at := &a.Attempts[n]; u.al.covers(at.Tool) {
				u.made = append(u.made, use{a, at})
			}
		}
	}
	slices.SortFunc(u.made, func(x, y use) int { return cmp.Compare(x.at.Event, y.at.Event) })
	u.cost = make([]int, len(u.made)+1)
	for i, m := range u.made {
		u.cost[i+1] = u.cost[i] + u.al.Prices[m.at.Tool]
	}
}

// overdraft finds the first attempt that is not covered.
func (u *usage) overdraft() (v Verdict) {
	al, cost := u.al, 0
	for i, m := range u.made {
		v.Applied++
		cost += al.Prices[m.at.Tool]
		used := u.timeBefore(m)
		var what string
		switch {
		case al.Calls > 0 && i+1 > al.Calls:
			what = fmt.Sprintf("%s was called, the attempt number %d of all actions, and %d are allowed", m.at.Tool, i+1, al.Calls)
		case al.Cost > 0 && cost > al.Cost:
			what = fmt.Sprintf("%s was called for %d, which makes %d of all actions, and %d is allowed", m.at.Tool, al.Prices[m.at.Tool], cost, al.Cost)
		case al.Time > 0 && used > al.Time:
			what = fmt.Sprintf("%s was called when the tools had been at work for %v, and %v is allowed", m.at.Tool, used, al.Time)
		default:
			continue
		}
		v.report(m.a, what, "count every attempt when it is made, failures included, in one place for all actions, and look and count in one step", m.at.Event)
		return v
	}
	return v
}

// timeBefore is the time of all attempts that were surely over when m began.
func (u *usage) timeBefore(m use) (sum time.Duration) {
	if u.al.Time == 0 {
		return 0
	}
	for _, o := range u.made {
		if o.at.Seen && (o.at.End < m.at.Begin || o.a == m.a && o.at.Event < m.at.Event && o.at.End <= m.at.Begin) {
			sum += o.at.End - o.at.Begin
		}
	}
	return sum
}

// miserly finds the first action that was refused while something was left.
func (u *usage) miserly(p *Policy) (v Verdict) {
	for i := range u.actions {
		a := &u.actions[i]
		if !a.Ended || a.Reason != trace.ReasonBudget || p != nil && len(a.Attempts) > 0 && (p.Budget > 0 || p.Spend > 0) {
			continue
		}
		v.Applied++
		if text := u.left(a, p); text != "" {
			v.report(a, text, "charge an attempt only once and only where it is made; one that a cancel prevented costs nothing", a.EndEvent)
			return v
		}
	}
	return v
}

// left words what was left when the action was refused; empty: it may have been
// nothing. Actions under way may each have put an attempt aside, which is looked
// at only where something else is left.
func (u *usage) left(a *trace.Action, p *Policy) string {
	al, calls := u.al, u.madeBy(a.End)
	cost, busy := u.cost[calls], u.busyBy(a.End, calls)
	longest := time.Duration(0)
	if p != nil {
		longest = p.Attempt
		for _, own := range p.Tools {
			longest = max(longest, own.Attempt)
		}
	}
	nothing := func(aside int) bool {
		return al.Calls > 0 && calls+aside >= al.Calls ||
			al.Cost > 0 && cost+(aside+1)*al.dearest() > al.Cost ||
			al.Time > 0 && busy+time.Duration(aside+1)*longest >= al.Time
	}
	if nothing(0) || nothing(u.under(a)) {
		return ""
	}
	made := counted(calls, "attempt")
	if al.Calls > 0 {
		made = fmt.Sprintf("%d of %s", calls, counted(al.Calls, "attempt"))
	}
	return fmt.Sprintf("the action ended for want of budget, when all had made %s%s%s", made,
		amount(", at a cost of %v of %v", cost, al.Cost), amount(", and the tools had worked for %v of %v", busy, al.Time))
}

// madeBy is how many attempts had been made by the instant.
func (u *usage) madeBy(now time.Duration) int {
	n, _ := slices.BinarySearchFunc(u.made, now+1, func(m use, t time.Duration) int { return cmp.Compare(m.at.Begin, t) })
	return n
}

// busyBy is how long the first so many attempts had been at work by the instant.
func (u *usage) busyBy(now time.Duration, calls int) (busy time.Duration) {
	if u.al.Time == 0 {
		return 0
	}
	for _, m := range u.made[:calls] {
		if end := m.at.End; m.at.Seen && end <= now {
			busy += end - m.at.Begin
		} else {
			busy += now - m.at.Begin
		}
	}
	return busy
}

// amount words what was used of a bound; empty: there is none.
func amount[T int | time.Duration](format string, used, bound T) string {
	if bound == 0 {
		return ""
	}
	return fmt.Sprintf(format, used, bound)
}

// under counts the other actions that were under way at the instant at which the
// action ended, those left out that had ended before it began.
func (u *usage) under(a *trace.Action) (n int) {
	for i := range u.actions {
		if o := &u.actions[i]; o != a && o.Begin <= a.End && (!o.Ended || o.End >= a.End && o.EndEvent > a.BeginAt) {
			n++
		}
	}
	return n
}
