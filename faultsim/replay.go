package faultsim

import (
	"errors"
	"strings"
)

// replay runs the saved cases.
func (c *check) replay() {
	c.t.Helper()
	cases, err := loadCases(c.name)
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	for i := range cases {
		c.replayCase(&cases[i])
	}
}

// replayCase runs one saved case, and reports it where it fails.
func (c *check) replayCase(k *savedCase) {
	c.t.Helper()
	if !c.knows(k.invariant) {
		c.t.Fatalf("%s: the invariant %q is none of those of adapter %q: %s\n    correct the name, or delete the file if it has lost its point", k.at(nil), k.invariant, c.a.Name, strings.Join(c.names(), ", "))
	}
	origin := "saved case " + k.path
	r := c.again(k)
	u, unfit := errors.AsType[*UnfitError](r.err)
	if r.passes() {
		u = c.outOfReach(k, r.tr)
	}
	if unfit || u != nil {
		c.t.Fatalf("%s: the case no longer fits the adapter: %v\n    correct the line, or delete the file if it has lost its point", k.at(u), u)
	}
	if r.err != nil {
		c.unplayable(r.err, &k.schedule, origin, k)
	}
	if r.broken() {
		r.lead(k.invariant)
		runs := c.compared(&k.schedule, r.found[0].Invariant)
		c.campaign.reported(r.found[0].Invariant, &k.schedule)
		c.report(r, &k.schedule, origin+c.since(k)+"\n"+c.tell(&runs), k)
	}
	if r.unmet != "" {
		c.t.Fatalf("vacuous: %s: %s\n%s\n%s", c.a.Name, r.unmet, indent("schedule", k.schedule.String()), origin)
	}
}

// again runs a saved case, as often as it takes to see a failure that a race decides.
func (c *check) again(k *savedCase) (r *result) {
	for range reruns {
		if r = c.shown(&k.schedule); r.err != nil || r.broken() {
			return r
		}
	}
	return r
}

func (c *check) knows(name string) bool {
	for i := range c.invs {
		if c.invs[i].Name == name {
			return true
		}
	}
	return name == frozenClock
}

// names lists the invariants that a case can name.
func (c *check) names() []string {
	list := make([]string, len(c.invs))
	for i := range c.invs {
		list[i] = c.invs[i].Name
	}
	return list
}
