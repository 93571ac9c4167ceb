package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Check explores faults of the adapter's tools at random and holds every trial
// to all that the policy implies. Streaks of failures, throttling, latencies,
// deadlines and cancels are drawn, trials run on all cores, and
// a failing schedule shrinks to the smallest that breaks the same invariant.
// It is saved below testdata/rehearse and replayed first ever after.
//
// The seed follows from the test's name, so that the same commit gives the
// same answer; -rehearse.explore takes a fresh one. A second Check in one test
// has the adapter's name behind that of the test.
//
// Check must be called outside a synctest bubble. It ends the test where it
// has found something, as require does.
func Check(t *testing.T, a Adapter) {
	t.Helper()
	if err := a.validate(); err != nil {
		t.Fatalf("%v", err)
	}
	name := propertyName(t, a.Name)
	set, err := readSettings(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	set.propose(a.Trials)
	set.tellEmpty(t)
	c := &check{t: t}
	c.of(name, &a, set)
	c.begin()
	c.replay()
	c.explore()
	if c.whole() {
		c.accepted()
		c.covered()
	}
}

// check is one run of a property.
type check struct {
	t       *testing.T
	name    string // by which cases are kept: see propertyName
	a       *Adapter
	set     settings
	invs    []invariants.Invariant
	content []byte
	beside  []byte
	drawer  *drawer
	doubles []string // who stands on the stage, by name

	// What the drawn trials have met.
	met  tally
	seen sync.Map // names of accepted invariants that had findings
	most int      // trials, where required shares take more than were planned; 0: their number is given

	began time.Time // of the run
	late  bool      // required shares take more trials than go test has time for

	replays

	campaign *campaign  // nil: the first failure is the end
	book     results    // what goes into the file of results
	parts    []*results // of all shards, where this run merges them
}

// replays is what is known of the trials that are run one by one, outside the pool.
type replays struct {
	played  int          // how many were
	enough  int          // of them, for shrinking
	stop    time.Time    // and the end of the time for it
	advice  string       // of the finding that is made small, where it is the catch-all's; empty: any finding is meant
	frozen  int          // how many of them had a clock that stood still
	crowded bool         // one was to be seeded and could not be
	spare   *trace.Trace // of the last one, which nobody reads any more
}

func newCheck(t *testing.T, a *Adapter, set settings) *check {
	c := &check{t: t}
	c.of(t.Name(), a, set)
	return c
}

// of makes it the property of an adapter.
func (c *check) of(name string, a *Adapter, set settings) {
	c.name, c.a, c.set = name, a, set
	c.invs, c.content, c.beside = a.invariants(), a.content(), a.Contract().Content()
	c.began = time.Now()
	if !set.brief {
		c.most = extraTrials * set.trials
	}
}

// explore runs the drawn trials, or reads what other machines have run.
func (c *check) explore() {
	c.t.Helper()
	c.t.Attr("rehearse.seed", fmt.Sprint(c.set.seed))
	c.t.Attr("rehearse.policy", c.a.Policy.ID)
	if c.set.exploring {
		c.t.Logf("exploring; run it again: %s", c.rerun(true))
	}
	defer c.publish()
	switch {
	case c.set.merge != "":
		c.merge()
	case c.campaign != nil:
		c.run()
	default:
		c.first()
	}
}

// first looks for the first failing trial, and ends the test with it.
func (c *check) first() {
	c.t.Helper()
	f, err := c.search()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	if f != nil {
		c.failed(f)
	}
}

// whole reports whether this run has what there is to know of the property. What
// has not occurred in one shard may have in another: that is for the merged run.
func (c *check) whole() bool { return c.set.shard.of <= 1 }

// draw is the schedule of trial n, which follows from the trial's own seed. Where
// trials run one at a time, their random numbers have a seed of their own as well.
func (c *check) draw(n int) Schedule {
	s := c.drawer.draw(seeded(trialSeed(c.set.seed, n)))
	if c.inTurn() && !c.a.Unseeded {
		s.Seed = uint64(n + 1)
	}
	return s
}

// inTurn reports whether the drawn trials run one at a time.
func (c *check) inTurn() bool { return c.a.Serial || c.set.twice }

// accepted fails the test for accepted deviations that did not occur, if it has played
// all of its trials and they are enough to say so.
func (c *check) accepted() {
	c.t.Helper()
	if c.set.trials < enoughTrials || c.interrupted() {
		return
	}
	for _, name := range c.idle() {
		c.t.Errorf("Accept lists %s (%q), which did not occur in %d trials: take it out", name, strings.TrimSpace(c.a.Accept[name]), c.set.trials)
	}
}

// interrupted reports whether this run was told to stop, or one of those that it merges.
func (c *check) interrupted() bool {
	told := func(r *results) bool { return r.Ended == errInterrupted.Error() }
	return told(&c.book) || slices.ContainsFunc(c.parts, told)
}

// idle lists the accepted deviations that did not occur.
func (c *check) idle() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.a.Accept)) {
		if _, ok := c.seen.Load(name); !ok && !acceptsElsewhere(name) {
			names = append(names, name)
		}
	}
	return names
}
