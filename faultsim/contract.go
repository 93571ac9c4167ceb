package faultsim

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A contract is what follows from a policy. Working it out takes as long as a
// trial, so the latest one is kept: trials come in rows under one policy.
type contract struct {
	policy     invariants.Policy // a copy that nobody changes
	content    []byte            // for traces
	invariants []invariants.Invariant
	err        error // what makes the policy unusable
}

var latest atomic.Pointer[contract]

func contractOf(p *invariants.Policy) *contract {
	if c := latest.Load(); c != nil && same(&c.policy, p) {
		return c
	}
	c := &contract{policy: copyOf(p)}
	c.content = trace.Canonical(trace.Marshal(c.policy))
	c.invariants = c.policy.Invariants()
	if c.err = c.policy.Validate(); c.err == nil {
		c.err = playable(&c.policy)
	}
	latest.Store(c)
	return c
}

// copyOf is the policy with lists of its own.
func copyOf(p *invariants.Policy) invariants.Policy {
	own := *p
	own.Retry, own.Undone, own.Desired = slices.Clone(p.Retry), slices.Clone(p.Undone), slices.Clone(p.Desired)
	own.Backoff.Delays, own.Hint.Classes = slices.Clone(p.Backoff.Delays), slices.Clone(p.Hint.Classes)
	own.Correct.Fields = slices.Clone(p.Correct.Fields)
	own.Tools = copied(p.Tools)
	return own
}

// same reports whether two policies are alike in every field. It is called for
// every trial, and reflect.DeepEqual takes as long as a quarter of the judging.
func same(a, b *invariants.Policy) bool {
	return a.ID == b.ID && a.MaxAttempts == b.MaxAttempts && a.Attempt == b.Attempt &&
		a.Budget == b.Budget && a.BudgetCuts == b.BudgetCuts && a.Price == b.Price && a.Spend == b.Spend &&
		alike(a.Retry, b.Retry) && a.Advice == b.Advice && alike(a.Undone, b.Undone) && alike(a.Desired, b.Desired) &&
		sameBackoff(&a.Backoff, &b.Backoff) && sameHint(&a.Hint, &b.Hint) &&
		a.Late == b.Late && a.BudgetLate == b.BudgetLate &&
		a.Restart == b.Restart && a.RestartBudget == b.RestartBudget && a.Drain == b.Drain && a.Hedge == b.Hedge && a.Winner == b.Winner && a.Key == b.Key && a.Reconcile == b.Reconcile && a.Repeatable == b.Repeatable && a.Refresh == b.Refresh && sameCorrect(&a.Correct, &b.Correct) && sameTools(a.Tools, b.Tools)
}

func sameTools(a, b map[string]invariants.Policy) bool {
	return len(a) == len(b) && (len(a) == 0 || maps.EqualFunc(a, b, func(x, y invariants.Policy) bool { return same(&x, &y) }))
}

// copied is the policies of tools, with lists of their own.
func copied(tools map[string]invariants.Policy) map[string]invariants.Policy {
	if tools == nil {
		return nil
	}
	own := make(map[string]invariants.Policy, len(tools))
	for name, p := range tools {
		own[name] = copyOf(&p)
	}
	return own
}

func sameBackoff(a, b *invariants.Backoff) bool {
	return a.Base == b.Base && a.Factor == b.Factor && a.Cap == b.Cap && a.CapIs == b.CapIs &&
		a.Jitter == b.Jitter && alike(a.Delays, b.Delays)
}

func sameHint(a, b *invariants.Hint) bool {
	return a.Use == b.Use && a.Limit == b.Limit && a.Over == b.Over && a.Jitter == b.Jitter &&
		alike(a.Classes, b.Classes) && a.Resets == b.Resets
}

func sameCorrect(a, b *invariants.Correct) bool {
	return a.Once == b.Once && a.FromError == b.FromError && alike(a.Fields, b.Fields)
}

func alike[E comparable](a, b []E) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}
