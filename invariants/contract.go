package invariants

import (
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Contract is all that is declared of how a program retries: the policy of
// one action, and what counts the attempts of all actions beside it.
type Contract struct {
	Policy    Policy
	Breakers  []Breaker  // of a tool each, or one for all
	Allowance *Allowance // nil: none
	Allowed   []string   // the tools that an action may call; empty: any

	EscalatesAfter int // failed actions in a row after which the turn is handed on; 0: it never is

	Spreads bool // the jitter differs between callers

	Sinks       []Sink       // places for records
	Cache       *Cache       // nil: none
	Observation *Observation // of what is handed on of a failure; nil: none
	Session     *Session     // of the sessions with the tools; nil: none
	Loop        *Loop        // of a loop that a model drives; nil: the code is none

	// RecoversWithin is how long the program may take, once the faults have stopped,
	// until every action that was under way has ended and every new one succeeds. 0:
	// as long as follows from the rest: an action takes the time that its policy has,
	// and a new one succeeds at once, but for what is declared to refuse it: a breaker
	// in its cooldown, an allowance that is used up, a turn that is handed on, a kept
	// failure in its lifetime. See [Recovers].
	RecoversWithin time.Duration
}

// behind tells the walk what may refuse its attempts.
func (w *walk) behind(c *Contract) {
	w.breaker = guardOf(c.Breakers, w.s.Tool)
	w.shared = c.Allowance != nil
}

// Plain reports whether there is nothing beside the policy.
func (c *Contract) Plain() bool {
	return len(c.Breakers) == 0 && c.Allowance == nil && len(c.Allowed) == 0 && c.EscalatesAfter == 0 && !c.Spreads &&
		len(c.Sinks) == 0 && c.Cache == nil && c.Observation == nil && c.Session == nil && c.Loop == nil && c.RecoversWithin == 0
}

// Invariants returns all that the contract implies. The rules of sinks and of the
// cache come first, since what a record or a kept answer causes looks like other
// faults, and those of the observation last, since a wrong attempt is not its
// fault. Between them stand [Policy.Invariants], with [CircuitBreaker],
// [Session.Invariants], [AllowedTools], [EscalatesAfter], [JitterSpreads] and
// [WithinAllowance] among the narrow rules, and with a [Conforms] and a
// [HonestEnding] that let an action end as breaker-open or budget where an attempt
// would be due. Whether it was right to refuse is the business of the narrow rules.
func (c Contract) Invariants() []Invariant {
	if c.Plain() {
		return c.Policy.Invariants()
	}
	var list []Invariant
	for _, k := range c.Sinks {
		list = append(list, k.rules(&c)...)
	}
	if c.Cache != nil {
		list = append(list, c.Cache.Invariants()...)
	}
	if c.Loop != nil {
		list = append(list, c.looping()...)
	} else {
		list = append(list, c.retrying()...)
	}
	if c.Observation != nil {
		list = append(list, c.Observation.Invariants(c.Policy)...)
	}
	return list
}

// looping lists the rules of a loop that a model drives.
func (c *Contract) looping() (list []Invariant) {
	if len(c.Breakers) > 0 {
		list = append(list, circuitBreaker(c.Breakers, &c.Policy))
	}
	if c.Session != nil {
		list = append(list, c.Session.rules(&c.Policy)...)
	}
	return append(list, c.Loop.Invariants(c.Policy)...)
}

// retrying lists the rules of the attempts.
func (c *Contract) retrying() (list []Invariant) {
	for _, inv := range append(c.Policy.rules(), recovers(c, true), conforms(*c)) {
		switch inv.Name {
		case "honest-ending":
			if c.Spreads {
				list = append(list, JitterSpreads(c.Policy))
			}
			if c.Allowance != nil {
				list = append(list, withinAllowance(*c.Allowance, &c.Policy))
				inv = mayRefuse(honestEnding(&c.Policy, true), trace.ReasonBudget)
			}
			if len(c.Breakers) > 0 {
				inv = mayRefuse(inv, trace.ReasonBreakerOpen)
			}
		}
		list = append(list, WhereItApplies(inv))
		if inv.Name != "no-spin" {
			continue
		}
		// Early: what these find looks like a fault of many other rules.
		if len(c.Breakers) > 0 {
			list = append(list, circuitBreaker(c.Breakers, &c.Policy))
		}
		if c.Session != nil {
			list = append(list, c.Session.rules(&c.Policy)...)
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
	list := append(p.rules(), recovers(&Contract{Policy: p}, true), Conforms(p))
	for i := range list {
		list[i] = WhereItApplies(list[i])
	}
	return list
}

// refreshRules are those about credentials; none where nothing is promised.
func (p *Policy) refreshRules() (list []Invariant) {
	if !p.Refresh.Once {
		return nil
	}
	if p.Refresh.Credential != "" {
		list = append(list, NewCredentialUsed()) // first: it says why another refresh seems to be needed
	}
	list = append(list, RefreshedOnce(*p))
	if p.Refresh.Shared {
		list = append(list, RefreshShared())
	}
	return list
}

// rules lists the narrow rules.
func (p *Policy) rules() []Invariant {
	if len(p.Tools) > 0 {
		return p.rulesOfTools()
	}
	list := []Invariant{NoPanic(), NoSpin()}
	list = append(list, OperatorRetry(*p))
	// Before the rules that say the same without a crash, and without a drain.
	list = append(list, p.drainRules()...)
	switch p.Restart {
	case RestartResumes:
		list = append(list, SurvivesRestart(*p))
	case RestartInterrupts:
		list = append(list, InterruptedAuditable(*p))
	}
	if p.Attempt > 0 {
		list = append(list, AttemptTimeout(p.Attempt), WholeAttempt(*p)) // before Returns: it is why the action hangs
	}
	list = append(list,
		Returns())
	list = append(list, p.refreshRules()...)
	list = append(list, p.correctRules()...)
	list = append(list,
		noRetryAfter(p.Advice == AdviceDecides, p.refused()), StopAfterSuccess(), SameArguments(), OneKey(p.Key != ""),
		NoCallOnDeadContext(), NoAttemptAfterEnd(), NoAttemptAfterCancel(),
		CancelReachesTool(), EndsAtCancel(), // in this order: a tool that never learns of it holds the action up
		WithinDeadline(), NoEffectAfterEnd(), // a tool that was not told of the end works on behind it
		NoFirstDelay(), HintHonoured(*p), WaitsInWindow(*p), noLastDelay(p, true),
	)
	if p.Advice != AdviceIgnored {
		list = append(list, AdviceHeeded(*p))
	}
	if p.Reconcile {
		list = append(list, ReconciledFirst(*p))
	}
	if p.Winner != WinnerEither {
		list = append(list, DeclaredWinner(*p))
	}
	if p.MaxAttempts != Unlimited {
		list = append(list, p.maxAttempts())
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
	if p.Hedge.on() {
		list = append(list, Hedged(*p))
	} else {
		list = append(list, NoOverlap())
	}
	return append(list, honestEnding(p, false), OneTerminal(), NothingLeft())
}
