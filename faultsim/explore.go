package faultsim

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An Outcome is what an exploration of an adapter's faults came to.
type Outcome struct {
	Seed   uint64 // base seed of the trials
	Trials int    // planned, with those that it took to decide the shares of Adapter.Require

	// Trial is the number of the first failing trial, from 1; 0: none failed,
	// and the fields below are zero.
	Trial    int
	Drawn    Schedule             // of that trial
	Rate     float64              // how often it fails when it is run again alone
	Schedule Schedule             // the smallest found that breaks the same invariant; Drawn where Rate is below 1
	Took     time.Duration        // real time from the failing trial to the smallest
	Runs     int                  // trials that it took
	Findings []invariants.Finding // of that schedule; the first names the broken invariant
	Trace    *trace.Trace         // of that schedule
	Differs  *trace.Difference    // between two runs of that schedule; nil: they give the same trace, but for ties
	Idle     []string             // accepted deviations that did not occur

	// Where no trial failed, what the trials have met, what they had to meet and
	// have not, and which of rehearse's own labels they were drawn to meet and have
	// not. The last does not fail a [Check]: a streak of five needs a program that
	// goes on for so long.
	Coverage Coverage
	Gaps     []Gap
	Unmet    []string
}

// Invariant names the broken rule; empty: none is broken.
func (o *Outcome) Invariant() string {
	if len(o.Findings) == 0 {
		return ""
	}
	return o.Findings[0].Invariant
}

// Explore is the engine of [Check]: it draws and judges the same trials and
// returns the first failure, made small, instead of reporting it. It neither
// reads nor writes saved cases, and plays all trials where Check plays those of
// its shard.
//
// Where virtual time stands still it ends the test as Check does, since such a
// trial cannot be ended. It must be called outside a synctest bubble.
func Explore(t *testing.T, a Adapter) (Outcome, error) {
	t.Helper()
	if err := a.validate(); err != nil {
		return Outcome{}, err
	}
	set, err := readSettings(t.Name())
	if err != nil {
		return Outcome{}, err
	}
	set.propose(a.Trials)
	set.shard = shard{} // what it returns is of all trials
	c := newCheck(t, &a, set)
	o := Outcome{Seed: set.seed, Trials: set.trials}
	f, err := c.search()
	if err != nil {
		return o, err
	}
	if f == nil {
		m := c.demand()
		o.Idle, o.Coverage, o.Gaps, o.Trials = c.idle(), m.Coverage, m.gaps, c.set.trials
		o.Unmet = c.drawer.missing(m.Coverage)
		return o, nil
	}
	if f.r.err != nil {
		return o, errors.New(f.r.err.Error() + "\n" + indent("schedule", f.s.String()))
	}
	o.Trial, o.Drawn = f.n+1, f.s
	if f.r.other != nil {
		o.Rate, o.Schedule, o.Trace, o.Differs = 0, f.s, f.r.tr, f.r.other
		return o, nil
	}
	began := time.Now()
	c.minimise(f)
	o.Took, o.Runs = time.Since(began), c.played
	if f.rate > 0 {
		c.settle(f)
	}
	o.Rate, o.Differs = f.rate, f.runs.differs
	o.Schedule, o.Findings, o.Trace = f.s, f.r.found, f.r.tr
	return o, nil
}

// A failure is a failing trial.
type failure struct {
	n    int // number of the trial, from 0
	s    Schedule
	r    *result
	name string // the invariant that it breaks first

	origin string // where it comes from, for the report

	rate   float64    // how often it fails when it is run again alone
	runs   repetition // of its schedule, once that is the smallest
	before repetition // of the drawn one, where that does not always fail; only how many
	lucky  int        // how many of other seeds break it; 0: its own does
}

// search draws trials until one fails; nil: none does.
func (c *check) search() (*failure, error) {
	c.t.Helper()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	n, r := c.firstFailing(0, c.set.trials)
	if r == nil {
		n, r = c.further()
	}
	if r == nil {
		return nil, nil
	}
	return c.failure(n, r), nil
}

// prepare looks at the stage, and makes what draws schedules for it.
func (c *check) prepare() error {
	tools, err := inspect(c.t, c.a)
	if err != nil {
		return err
	}
	if c.drawer, err = drawerFor(c.a, tools); err != nil {
		return err
	}
	return c.onStage(tools)
}

// failure is that of trial n.
func (c *check) failure(n int, r *result) *failure {
	if c.campaign == nil { // which takes its trials for one rule after another
		r.leadsShort()
	}
	return &failure{n: n, s: c.draw(n), r: r, origin: c.origin(n)}
}

// origin names a drawn trial.
func (c *check) origin(n int) string {
	if c.campaign != nil {
		return fmt.Sprintf("trial %d of a campaign, seed %d", n+1, c.set.seed)
	}
	return fmt.Sprintf("trial %d of %d, seed %d", n+1, c.set.trials, c.set.seed)
}
