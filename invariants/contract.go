package invariants

import "github.com/rehearse-go/rehearse/trace"

// A Contract is all that is declared of how a program retries: the policy of
// one action, and what counts the attempts of all actions beside it.
type Contract struct {
	Policy    Policy
	Breaker   *Breaker   // nil: none
	Allowance *Allowance // nil: none
	Allowed   []string   // the tools that an action may call; empty: any

	EscalatesAfter int // failed actions in a row after which the turn is handed on; 0: it never is

	Spreads bool // the jitter differs between callers
}

// Plain reports whether there is nothing beside the policy.
func (c *Contract) Plain() bool {
	return c.Breaker == nil && c.Allowance == nil && len(c.Allowed) == 0 && c.EscalatesAfter == 0 && !c.Spreads
}

// Invariants returns all that the contract implies: [Policy.Invariants], with
// [CircuitBreaker], [AllowedTools], [EscalatesAfter], [JitterSpreads] and [WithinAllowance] among the narrow rules, and with a
// [Conforms] and a [HonestEnding] that let an action end as breaker-open or
// budget where an attempt would be due. Whether it was right to refuse is the
// business of the narrow rules.
func (c Contract) Invariants() []Invariant {
	if c.Plain() {
		return c.Policy.Invariants()
	}
	var list []Invariant
	for _, inv := range c.Policy.Invariants() {
		switch inv.Name {
		case "conforms":
			inv = conforms(c.Policy, c.Breaker, c.Allowance)
		case "honest-ending":
			if c.Spreads {
				list = append(list, JitterSpreads(c.Policy))
			}
			if c.Allowance != nil {
				list = append(list, withinAllowance(*c.Allowance, &c.Policy))
				inv = mayRefuse(honestEnding(&c.Policy, true), trace.ReasonBudget)
			}
			if c.Breaker != nil {
				inv = mayRefuse(inv, trace.ReasonBreakerOpen)
			}
		}
		list = append(list, inv)
		if inv.Name != "no-spin" {
			continue
		}
		// Early: what these find looks like a fault of many other rules.
		if c.Breaker != nil {
			list = append(list, circuitBreaker(*c.Breaker, &c.Policy))
		}
		if len(c.Allowed) > 0 {
			list = append(list, WhereItApplies(AllowedTools(c.Allowed...)))
		}
		if c.EscalatesAfter > 0 {
			list = append(list, EscalatesAfter(c.EscalatesAfter))
		}
	}
	return list
}

// Invariants returns all that the contract implies. The narrow rules come
// first, so that the first finding names the fault; [Conforms] comes last. Rules
// that the policy makes void are left out.
//
// One trace seldom has a situation for each of them, so all of them have the
// leave of [WhereItApplies].
func (p Policy) Invariants() []Invariant {
	list := append(p.rules(), Conforms(p))
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// rules lists the narrow rules.
func (p *Policy) rules() []Invariant {
	if len(p.Tools) > 0 {
		return p.rulesOfTools()
	}
	list := []Invariant{NoPanic(), NoSpin()}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt), WholeAttempt(*p)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns(), noRetryAfter(p.Advice == AdviceDecides, p.refused()), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoFirstDelay(), HintHonoured(*p), WaitsInWindow(*p), noLastDelay(p, true),
	)
	if p.Advice != AdviceIgnored {
		list = append(list, AdviceHeeded(*p))
	}
	if p.Reconcile {
		list = append(list, ReconciledFirst(*p))
	}
	if p.MaxAttempts != Unlimited {
		list = append(list, MaxAttempts(p.MaxAttempts))
	}
	if p.Budget > 0 {
		list = append(list, WithinBudget(*p))
	}
	if p.Spend > 0 {
		list = append(list, WithinSpend(*p))
	}
	if !p.Repeatable || p.Key != "" {
		list = append(list, OneEffect())
	}
	return append(list, honestEnding(p, false), OneTerminal(), NothingLeft())
}
