package faultsim

import (
	"reflect"
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
	if c := latest.Load(); c != nil && reflect.DeepEqual(&c.policy, p) {
		return c
	}
	c := &contract{policy: *p}
	c.policy.Retry, c.policy.Undone, c.policy.Desired = slices.Clone(p.Retry), slices.Clone(p.Undone), slices.Clone(p.Desired)
	c.policy.Backoff.Delays, c.policy.Hint.Classes = slices.Clone(p.Backoff.Delays), slices.Clone(p.Hint.Classes)
	c.content = trace.Canonical(trace.Marshal(c.policy))
	c.invariants = c.policy.Invariants()
	c.err = c.policy.Validate()
	latest.Store(c)
	return c
}
