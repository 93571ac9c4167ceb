package faultsim

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// outOfReach is about a fault of a case which passes that no code reaches any more, since
// the policy has come to allow fewer attempts; nil: there is none. That the code has not
// reached a fault says nothing: a bug that is mended no longer does. And a case of too
// many attempts has faults that were out of reach when it was found.
func (c *check) outOfReach(k *savedCase, tr *trace.Trace) *UnfitError {
	tool, actions := onlyTool(tr), tr.Actions()
	if tool == "" || len(actions) != len(k.schedule.Actions) || !c.countsAttempts() {
		return nil
	}
	now, then := c.reachOf(&c.a.Policy, tool), c.reachThen(k, tool)
	spare := 0
	if k.policy == "" {
		spare = 1 // a fault behind the last attempt shows that it is the last
	}
	for i, p := range k.schedule.Actions {
		for _, name := range []string{tool, Main} {
			n := len(p.Faults[name])
			if n-spare > now && n <= then && n > len(actions[i].Attempts) {
				return &UnfitError{fmt.Sprintf("attempt %d of %s is never made: the policy allows an action %d", n, tool, now), i + 1, name, n}
			}
		}
	}
	return nil
}

// onlyTool is the tool of all attempts; empty: there are several, or a batch, whose
// chunks have attempts of their own.
func onlyTool(tr *trace.Trace) (tool string) {
	for at := range tr.Attempts() {
		if tool != "" && at.Tool != tool || len(at.Items) > 0 {
			return ""
		}
		tool = at.Tool
	}
	return tool
}

// countsAttempts reports whether the policy alone says how many attempts an action makes.
func (c *check) countsAttempts() bool {
	a := c.a
	return a.served == nil && a.Loop == nil && a.Resume == nil && a.HandedBack == nil && !a.Policy.Refresh.Extra
}

// reachOf is how many attempts of the tool an action makes under the policy.
func (c *check) reachOf(p *invariants.Policy, tool string) int {
	most := p.Of(tool).Most()
	if most == invariants.Unlimited {
		return math.MaxInt
	}
	return most * max(1, c.a.Pages)
}

// reachThen is how many it made under the policy by which the case was found. A person who
// writes a case down by hand gives none, and means the present one; the case of an old
// version has none, and nothing can be told.
func (c *check) reachThen(k *savedCase, tool string) int {
	var p invariants.Policy
	switch {
	case k.policy == "" && !k.old:
		return math.MaxInt
	case json.Unmarshal([]byte(k.policy), &p) != nil:
		return 0
	}
	return c.reachOf(&p, tool)
}
