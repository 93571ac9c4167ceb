package faultsim

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
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
	set, err := readSettings(t, 0)
	if err != nil {
		t.Fatalf("%v", err)
	}
	c := newCheck(t, &a, set)
	c.replay()
	c.explore()
	c.accepted()
}

// check is one run of a property.
type check struct {
	t       *testing.T
	a       *Adapter
	set     settings
	invs    []invariants.Invariant
	content []byte
	gen     *rapid.Generator[Schedule]
	seen    sync.Map // names of accepted invariants that had findings
	failing sync.Map // number of a failing trial → its *result
	shapes  shapes   // the tools' plainest faults, for shrinking
}

func newCheck(t *testing.T, a *Adapter, set settings) *check {
	return &check{t: t, a: a, set: set, invs: a.invariants(), content: a.content()}
}

// replay runs the saved cases.
func (c *check) replay() {
	c.t.Helper()
	cases, err := loadCases(c.t.Name())
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	for i := range cases {
		k := &cases[i]
		if !c.knows(k.invariant) {
			c.t.Fatalf("%s: the invariant %q is none of those of adapter %q\n    correct the name, or delete the file if it has lost its point", k.path, k.invariant, c.a.Name)
		}
		r := c.trial(&k.schedule, nil)
		if r.err != nil {
			c.t.Fatalf("%s: the case no longer fits: %v\n    correct the file, or delete it if it has lost its point", k.path, r.err)
		}
		if r.broken() {
			c.report(r, &k.schedule, "saved case "+k.path, k.path)
		}
	}
}

func (c *check) knows(name string) bool {
	for i := range c.invs {
		if c.invs[i].Name == name {
			return true
		}
	}
	return name == frozenClock
}

// explore runs the drawn trials.
func (c *check) explore() {
	c.t.Helper()
	c.t.Attr("rehearse.seed", fmt.Sprint(c.set.seed))
	c.t.Attr("rehearse.policy", c.a.Policy.ID)
	f, err := c.search()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	if f != nil {
		c.failed(f)
	}
}

// draw is the schedule of trial n. It is what rapid draws at the trial's seed,
// so that rapid can take a failing one up again and shrink it.
func (c *check) draw(n int) Schedule { return c.gen.Example(int(trialSeed(c.set.seed, n))) }

// firstFailing runs the trials and returns the number of the first one that
// fails, whatever the number of workers; -1: none does.
func (c *check) firstFailing() int {
	workers := min(runtime.GOMAXPROCS(0), c.set.trials)
	var next, done atomic.Int64
	var failed atomic.Int64
	failed.Store(int64(c.set.trials))
	var wg sync.WaitGroup
	finished := make(chan struct{})
	current := make([]atomic.Pointer[trial], workers)
	for w := range workers {
		wg.Go(func() {
			var old *trace.Trace
			for {
				n := next.Add(1) - 1
				if n >= failed.Load() {
					return
				}
				s := c.draw(int(n))
				x := &trial{a: c.a, s: &s, content: c.content, storage: old}
				current[w].Store(x)
				r := c.judge(x)
				done.Add(1)
				old = r.tr
				if r.broken() || r.err != nil {
					c.failing.Store(int(n), &r)
					lower(&failed, n)
					old = nil
				}
			}
		})
	}
	go func() { wg.Wait(); close(finished) }()
	c.watch(finished, &done, current)
	if n := failed.Load(); n < int64(c.set.trials) {
		return int(n)
	}
	return -1
}

// lower stores n where it is smaller.
func lower(v *atomic.Int64, n int64) {
	for old := v.Load(); n < old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// watch waits for the workers. Where no trial ends for a while, virtual time
// stands still in one of them, and the test ends with the cause.
func (c *check) watch(finished chan struct{}, done *atomic.Int64, current []atomic.Pointer[trial]) {
	c.t.Helper()
	tick := time.NewTicker(frozenAfter)
	defer tick.Stop()
	for last := int64(-1); ; {
		select {
		case <-finished:
			return
		case <-tick.C:
		}
		if now := done.Load(); now != last {
			last = now
			continue
		}
		for i := range current {
			if x := current[i].Load(); x != nil {
				c.t.Fatalf("%s\n%s", frozenReport(x), indent("schedule", x.s.String()))
			}
		}
	}
}

// A result is a judged trial.
type result struct {
	tr    *trace.Trace
	found []invariants.Finding
	err   error
}

func (r *result) broken() bool { return len(r.found) > 0 }

// breaks reports whether the invariant is among the findings.
func (r *result) breaks(name string) bool {
	for i := range r.found {
		if r.found[i].Invariant == name {
			return true
		}
	}
	return false
}

// trial runs and judges one schedule.
func (c *check) trial(s *Schedule, storage *trace.Trace) *result {
	r := c.judge(&trial{a: c.a, s: s, content: c.content, storage: storage})
	return &r
}

func (c *check) judge(x *trial) result {
	tr, err := x.run(c.t)
	r := result{tr: tr, err: err}
	for i := range c.invs {
		v := c.invs[i].Check(tr)
		if len(v.Findings) == 0 {
			continue
		}
		if _, ok := c.a.Accept[c.invs[i].Name]; ok {
			c.seen.Store(c.invs[i].Name, true)
			continue
		}
		r.found = append(r.found, v.Findings...)
	}
	return r
}

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
		if _, ok := c.seen.Load(name); !ok {
			names = append(names, name)
		}
	}
	return names
}
