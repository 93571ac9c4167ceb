package matrix

import (
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// judge fills in what was seen.
func (l *line) judge(set Setting, e *faultsim.Expectation, r *faultsim.Result) {
	if l.inAll {
		l.count(set, r.Trace)
		l.want = expectation(*e)
	} else {
		l.first(set, r.Trace)
		l.want = expectation(set.handed(r, l.seen, set.refused(r.Trace, l.seen, reconciles(r.Trace, *e))))
	}
	for i := range r.Accepted {
		l.rules = append(l.rules, r.Accepted[i].Invariant)
	}
	switch {
	case len(r.Findings) > 0:
		l.verdict = r.Findings[0].Invariant
	case !l.fits() && len(r.Accepted) == 0:
		l.verdict = "unexpected"
	case len(r.Accepted) > 0:
		l.verdict = "accepted: " + r.Accepted[0].Invariant
	default:
		l.verdict = "ok"
	}
}

// first fills in what the first action did.
func (l *line) first(set Setting, tr *trace.Trace) {
	if act := declared(tr); act != nil {
		l.made, l.effects = made(act, set.Tools[0]), len(act.Effects)
		l.seen, l.amounts = terminal(&set.Policy, act), amounts(&set.Policy, act)
	}
}

// count fills in what all actions did together, and how the last one ended.
func (l *line) count(set Setting, tr *trace.Trace) {
	actions := tr.Actions()
	for i := range actions {
		if act := &actions[i]; act.Name != "" {
			l.made += made(act, set.Tools[0])
			l.effects += len(act.Effects)
			l.seen = terminal(&set.Policy, act)
		}
	}
}

// refused adds what a declared breaker or allowance may do to an expectation,
// which knows of the policy only: the main tool is called less often, and the
// action ends as refused, or as the breaker's fallback leaves it. Whether a
// refusal was due is the business of [invariants.CircuitBreaker] and
// [invariants.WithinAllowance]. A fallback that is asked is no proof
// of one, so that the tool must have failed often enough.
func (s *Setting) refused(tr *trace.Trace, seen trace.Reason, e faultsim.Expectation) faultsim.Expectation {
	b, act := s.Breaker, declared(tr)
	if act != nil && s.turnedTo(act) {
		e.Reasons = append(slices.Clone(e.Reasons), seen)
	}
	if s.allowance != nil && seen == trace.ReasonBudget {
		e.Least, e.Reasons = 0, append(slices.Clone(e.Reasons), seen)
	}
	if b == nil || act == nil {
		return e
	}
	fellBack := b.Fallback != "" && made(act, b.Fallback) > 0 && b.MayOpen(failures(b, tr, s.Tools[0]))
	if fellBack || seen == trace.ReasonBreakerOpen {
		e.Least, e.Reasons = 0, append(slices.Clone(e.Reasons), seen)
	}
	return e
}

// turnedTo reports whether the action went on to another tool that it may call:
// then its end is that tool's.
func (s *Setting) turnedTo(a *trace.Action) bool {
	return slices.ContainsFunc(s.allowed, func(tool string) bool { return tool != s.Tools[0] && made(a, tool) > 0 })
}

// failures counts the attempts of the tool that the breaker counts as failures.
func failures(b *invariants.Breaker, tr *trace.Trace, tool string) int {
	n := 0
	for at := range tr.Attempts() {
		if at.Tool == tool && b.Fails(at.Outcome.Class) {
			n++
		}
	}
	return n
}

// declared is the first action of the schedule. What the code calls while it is
// built belongs to none.
func declared(tr *trace.Trace) *trace.Action {
	actions := tr.Actions()
	for i := range actions {
		if actions[i].Name != "" {
			return &actions[i]
		}
	}
	return nil
}

// made counts the attempts of the main tool.
func made(a *trace.Action, main string) int {
	n := 0
	for i := range a.Attempts {
		if a.Attempts[i].Tool == main {
			n++
		}
	}
	return n
}

// terminal is how the action ended: as the adapter reads its own error, else
// as its attempts amount to.
func terminal(p *invariants.Policy, a *trace.Action) trace.Reason {
	switch {
	case !a.Ended:
		return 0
	case a.Reason != 0 && a.Reason != trace.ReasonSuccess:
		return a.Reason
	case a.Error == "":
		if p.Terminal(a) == trace.ReasonDeclined {
			return trace.ReasonDeclined
		}
		return trace.ReasonSuccess
	}
	return p.Terminal(a)
}

func (l *line) fits() bool {
	return l.made >= l.want.Least && l.made <= l.want.Most && l.ends()
}

// amounts is what the attempts of an action that failed come to, whatever it
// says itself; 0: it made none, or it did not fail. One end can have several
// true reasons, and whether the one that is said is true is judged by Conforms.
func amounts(p *invariants.Policy, a *trace.Action) trace.Reason {
	claims := a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess)
	if len(a.Attempts) == 0 || !a.Ended || claims {
		return 0
	}
	return p.Terminal(a)
}

// ends reports whether the terminal is one that is wanted, or another true
// reason of an end that is wanted.
func (l *line) ends() bool {
	wants := func(r trace.Reason) bool { return slices.Contains(l.want.Reasons, r) }
	other := l.amounts != 0 && l.amounts != trace.ReasonSuccess && l.seen != trace.ReasonSuccess
	return l.want.Most == anything || wants(l.seen) || other && wants(l.amounts)
}

// complaint is what is wrong with the row; empty: nothing.
func (l *line) complaint(r *faultsim.Result) string {
	switch {
	case len(r.Findings) == 0 && (l.fits() || len(r.Accepted) > 0):
		return ""
	case l.made < l.want.Least || l.made > l.want.Most:
		return fmt.Sprintf("%s, the policy calls for %s", plural(l.made, "call"), l.want.numbers())
	case !l.ends():
		return fmt.Sprintf("ended as %s, the policy calls for %s", name(l.seen), l.want.terminals())
	}
	return "breaks " + r.Findings[0].Invariant
}
