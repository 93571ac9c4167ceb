package faultsim

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// outOfReach is about a fault of a case which passes that no code reaches any more, since
// the policy has come to allow fewer attempts; nil: there is none. That the code has not
// reached a fault says nothing: a bug that is mended no longer does. And a case of too
// many attempts has faults that were out of reach when it was found.
func (c *check) outOfReach(k *savedCase, tr *trace.Trace) *UnfitError {
	actions, tools := tr.Actions(), attempted(tr)
	if len(actions) != len(k.schedule.Actions) || !c.countsAttempts() {
		return nil
	}
	for _, tool := range tools {
		names := []string{tool}
		if len(tools) == 1 {
			names = append(names, Main) // or else it may be another one
		}
		if !c.inOneRun(tool, actions) {
			continue
		}
		if u := c.beyond(k, tool, names, actions); u != nil {
			return u
		}
	}
	return nil
}

// beyond is outOfReach for a tool with these names.
func (c *check) beyond(k *savedCase, tool string, names []string, actions []trace.Action) *UnfitError {
	now, then := c.reachOf(&c.a.Policy, tool), c.reachThen(k, tool)
	spare := 0
	if k.policy == "" {
		spare = 1 // a fault behind the last attempt shows that it is the last
	}
	for i, p := range k.schedule.Actions {
		made := 0
		for _, s := range seriesAt(tool, &actions[i]) {
			made += len(s.Attempts)
		}
		for _, name := range names {
			if n := len(p.Faults[name]); n-spare > now && n <= then && n > made && made > 0 {
				return &UnfitError{fmt.Sprintf("attempt %d of %s is never made: the policy allows an action %d", n, tool, now), i + 1, name, n}
			}
		}
	}
	return nil
}

// attempted lists the tools of a trace's attempts, in the order of the first ones.
func attempted(tr *trace.Trace) (tools []string) {
	for at := range tr.Attempts() {
		if !slices.Contains(tools, at.Tool) {
			tools = append(tools, at.Tool)
		}
	}
	return tools
}

// seriesAt lists an action's series at the tool.
func seriesAt(tool string, a *trace.Action) []trace.Series {
	return slices.DeleteFunc(slices.Clone(a.Series), func(s trace.Series) bool { return s.Tool != tool })
}

// inOneRun reports whether each action makes its attempts of the tool for one purpose, or
// for that of each page. Those of several steps, or of a batch, whose chunks have attempts
// of their own, may be more than the policy allows one.
func (c *check) inOneRun(tool string, actions []trace.Action) bool {
	for i := range actions {
		runs := seriesAt(tool, &actions[i])
		if len(runs) > max(1, c.a.Pages) || slices.ContainsFunc(runs, func(s trace.Series) bool { return len(s.Attempts[0].Items) > 0 }) {
			return false
		}
	}
	return true
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
