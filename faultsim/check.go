package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"pgregory.net/rapid"
)

// Check explores faults of the adapter's tools at random and holds every trial
// to all that the policy implies. Streaks of failures, throttling, latencies,
// deadlines and cancels are drawn through rapid, trials run on all cores, and
// a failing schedule shrinks to the smallest that breaks the same invariant.
// It is saved below testdata/rehearse and replayed first ever after.
//
// The seed follows from the test's name, so that the same commit gives the
// same answer; -rehearse.explore takes a fresh one.
//
// Check must be called outside a synctest bubble. It ends the test where it
// has found something, as require does.
func Check(t *testing.T, a Adapter) {
	t.Helper()
	if err := a.validate(); err != nil {
		t.Fatalf("%v", err)
	}
	set, err := readSettings(t)
	if err != nil {
		t.Fatalf("%v", err)
	}
	set.propose(a.Trials)
	c := newCheck(t, &a, set)
	c.replay()
	c.explore()
	c.accepted()
	c.covered()
}

// check is one run of a property.
type check struct {
	t       *testing.T
	a       *Adapter
	set     settings
	invs    []invariants.Invariant
	content []byte
	beside  []byte
	drawer  *drawer
	gen     *rapid.Generator[Schedule]
	seen    sync.Map // names of accepted invariants that had findings
	met     tally    // what the trials have met
	doubles []string // who stands on the stage, by name
	most    int      // trials, where required shares take more than were planned
	played  int      // trials that were run alone
}

func newCheck(t *testing.T, a *Adapter, set settings) *check {
	return &check{t: t, a: a, set: set, invs: a.invariants(), content: a.content(), beside: a.Contract().Content(), most: extraTrials * set.trials}
}

// explore runs the drawn trials.
func (c *check) explore() {
	c.t.Helper()
	c.t.Attr("rehearse.seed", fmt.Sprint(c.set.seed))
	c.t.Attr("rehearse.policy", c.a.Policy.ID)
	if c.set.exploring {
		c.t.Logf("exploring; run it again: %s", c.rerun(true))
	}
	f, err := c.search()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	if f != nil {
		c.failed(f)
	}
}

// draw is the schedule of trial n: what rapid draws at the trial's own seed.
func (c *check) draw(n int) Schedule { return c.gen.Example(int(trialSeed(c.set.seed, n))) }

// accepted fails the test for accepted deviations that did not occur.
func (c *check) accepted() {
	c.t.Helper()
	for _, name := range c.idle() {
		c.t.Errorf("Accept lists %s (%q), which did not occur in %d trials: take it out", name, strings.TrimSpace(c.a.Accept[name]), c.set.trials)
	}
}

// idle lists the accepted deviations that did not occur.
func (c *check) idle() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.a.Accept)) {
		if _, ok := c.seen.Load(name); !ok && !strings.HasPrefix(name, AcceptedRow) {
			names = append(names, name)
		}
	}
	return names
}
