package faultsim

import (
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An Outcome is what an exploration of an adapter's faults came to.
type Outcome struct {
	Seed   uint64 // base seed of the trials
	Trials int    // planned

	// Trial is the number of the first failing trial, from 1; 0: none failed,
	// and the fields below are zero.
	Trial    int
	Drawn    Schedule             // of that trial
	Rate     float64              // how often it fails when it is run again alone
	Schedule Schedule             // the smallest found that breaks the same invariant; Drawn where Rate is below 1
	Took     time.Duration        // real time from the failing trial to the smallest
	Findings []invariants.Finding // of that schedule; the first names the broken invariant
	Trace    *trace.Trace         // of that schedule
	Idle     []string             // accepted deviations that did not occur
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
// reads nor writes saved cases. Trials is their number where no flag or
// variable gives one; 0: that of Check.
//
// Where virtual time stands still it ends the test, since such a trial cannot
// be ended. It must be called outside a synctest bubble.
func Explore(t *testing.T, a Adapter, trials int) (Outcome, error) {
	t.Helper()
	if err := a.validate(); err != nil {
		return Outcome{}, err
	}
	set, err := readSettings(t, trials)
	if err != nil {
		return Outcome{}, err
	}
	c := newCheck(t, &a, set)
	o := Outcome{Seed: set.seed, Trials: set.trials}
	f, err := c.search()
	if err != nil {
		return o, err
	}
	if f == nil {
		o.Idle = c.idle()
		return o, nil
	}
	if f.r.err != nil {
		return o, errors.New(f.r.err.Error() + "\n" + indent("schedule", f.s.String()))
	}
	o.Trial, o.Drawn = f.n+1, f.s
	began := time.Now()
	c.minimise(f)
	o.Took = time.Since(began)
	o.Rate = float64(f.rate) / reruns
	o.Schedule, o.Findings, o.Trace = f.s, f.r.found, f.r.tr
	return o, nil
}

// A failure is a failing trial.
type failure struct {
	n    int // number of the trial, from 0
	s    Schedule
	r    *result
	name string // the invariant that it breaks first
	rate int    // of the reruns
}

// search draws trials until one fails; nil: none does.
func (c *check) search() (*failure, error) {
	tools, err := inspect(c.t, c.a)
	if err != nil {
		return nil, err
	}
	d := newDrawer(c.a, tools)
	c.gen, c.shapes = d.schedules(), shapes{d.first(isPlain), d.first(d.isRefusal), d.first(isLost)}
	n := c.firstFailing()
	if n < 0 {
		return nil, nil
	}
	r, _ := c.failing.Load(n)
	return &failure{n: n, s: c.draw(n), r: r.(*result)}, nil
}

// minimise runs the failure again alone and, where it always fails, shrinks it.
func (c *check) minimise(f *failure) {
	f.name, f.rate = c.repeat(&f.s, f.r)
	if f.rate == reruns {
		if small := c.trim(c.shrink(f.n, f.s, f.name), f.name); c.always(&small, f.name, reruns) {
			f.s, f.r = small, c.trial(&small, nil)
		}
		c.sharpen(f)
	}
	f.r.lead(f.name)
}

// sharpen looks for a narrower name of the failure. The drawn schedule may
// have shown only that something does not conform, where the small one, or the
// same with a reply lost after the work was done, shows what.
func (c *check) sharpen(f *failure) {
	if f.name != catchAll {
		return
	}
	s, r := f.s, f.r
	if narrow := r.narrow(); narrow == "" {
		if s, r = c.done(s); r == nil {
			return
		}
	}
	name := r.narrow()
	if small := c.trim(s, name); c.always(&small, name, reruns) {
		f.name, f.s, f.r = name, small, c.trial(&small, nil)
	}
}

// catchAll is the invariant that knows all of the policy and names nothing.
const catchAll = "conforms"

// narrow is the first finding's invariant apart from the catch-all's; empty: none.
func (r *result) narrow() string {
	for i := range r.found {
		if r.found[i].Invariant != catchAll {
			return r.found[i].Invariant
		}
	}
	return ""
}

// done returns the schedule with one reply lost, after the tool has done its
// work, that breaks a narrower rule; nil: there is none.
func (c *check) done(s Schedule) (Schedule, *result) {
	for i := range s.Actions {
		for tool, faults := range s.Actions[i].Faults {
			lost, ok := c.shapes.lost[tool]
			for n := 0; ok && n < len(faults); n++ {
				lost.Latency = faults[n].Latency
				changed := with(s, func(c *Schedule) { c.Actions[i].Faults[tool][n] = lost })
				if r := c.trial(&changed, nil); r.err == nil && r.narrow() != "" {
					return changed, r
				}
			}
		}
	}
	return s, nil
}
