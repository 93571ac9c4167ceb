package faultsim

import (
	"errors"
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
	set, err := readSettings(t)
	if err != nil {
		t.Fatalf("%v", err)
	}
	set.propose(a.Trials)
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
	beside  []byte
	drawer  *drawer
	gen     *rapid.Generator[Schedule]
	seen    sync.Map // names of accepted invariants that had findings
}

func newCheck(t *testing.T, a *Adapter, set settings) *check {
	return &check{t: t, a: a, set: set, invs: a.invariants(), content: a.content(), beside: a.Contract().Content()}
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
			c.t.Fatalf("%s: the invariant %q is none of those of adapter %q: %s\n    correct the name, or delete the file if it has lost its point", k.at(nil), k.invariant, c.a.Name, strings.Join(c.names(), ", "))
		}
		origin := "saved case " + k.path
		r, rate := c.again(k)
		if u, ok := errors.AsType[*UnfitError](r.err); ok {
			c.t.Fatalf("%s: the case no longer fits the adapter: %v\n    correct the line, or delete the file if it has lost its point", k.at(u), u)
		}
		if r.err != nil {
			c.unplayable(r.err, &k.schedule, origin, k.path)
		}
		if r.broken() {
			if rate < reruns {
				origin += rareness(rate)
			}
			r.lead(k.invariant)
			c.report(r, &k.schedule, origin, k.path)
		}
	}
}

// again runs a saved case, as often as it takes to see a failure that a race
// decides, and counts the runs that fail.
func (c *check) again(k *savedCase) (r *result, rate int) {
	for range reruns {
		now := c.shown(&k.schedule)
		if now.err != nil {
			return now, 0
		}
		if now.broken() {
			rate++
		}
		if r == nil || !r.broken() {
			r = now
		}
	}
	return r, rate
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

// firstFailing runs the trials and returns the first one that fails, whatever
// the number of workers; nil: none does.
func (c *check) firstFailing() (number int, r *result) {
	p := &pool{trials: int64(c.set.trials), finished: make(chan struct{})}
	p.failed.Store(p.trials)
	workers := min(runtime.GOMAXPROCS(0), c.set.trials)
	if c.a.Serial {
		workers = 1
	}
	p.current = make([]atomic.Pointer[trial], workers)
	p.numbers = make([]atomic.Int64, len(p.current))
	calmCollector()
	var wg sync.WaitGroup
	for w := range p.current {
		wg.Go(func() { c.work(p, w) })
	}
	go func() { wg.Wait(); close(p.finished) }()
	c.watch(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.failed.Load()), p.first
}

// calmCollector lets the collector run every 64 MB instead of every 4 MB, by
// memory that is never touched and so costs none. A trial leaves some
// kilobytes and keeps nothing; the collector's stops and wake-ups would cost
// two workers a fifth of what the second one brings.
var calmCollector = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// A pool is what the workers of one property share.
type pool struct {
	trials   int64
	next     atomic.Int64
	done     atomic.Int64
	failed   atomic.Int64            // the lowest number of a trial that failed
	mu       sync.Mutex              // guards first, and the changes of failed
	first    *result                 // what came of that trial
	stopped  atomic.Bool             // no further trial begins
	current  []atomic.Pointer[trial] // what each worker runs; nil: nothing
	numbers  []atomic.Int64          // the number of that trial
	finished chan struct{}
}

// work runs trials until there are none left that matter.
func (c *check) work(p *pool, w int) {
	var old *trace.Trace
	var n int64
	ended := true
	defer func() {
		p.current[w].Store(nil)
		if ended {
			p.fails(n, &result{err: errEnded})
		}
	}()
	for {
		n = p.next.Add(1) - 1
		if n >= p.failed.Load() || p.stopped.Load() {
			ended = false
			return
		}
		s := c.draw(int(n))
		x := c.newTrial(&s, old)
		x.drawn = true
		p.numbers[w].Store(n)
		p.current[w].Store(x)
		r := c.judge(x.run(c.t))
		p.current[w].Store(nil)
		p.done.Add(1)
		old = r.tr
		if r.broken() || r.err != nil {
			failed := r
			p.fails(n, &failed)
			old = nil
		}
	}
}

// fails notes a trial that failed, unless one before it has.
func (p *pool) fails(n int64, r *result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < p.failed.Load() {
		p.failed.Store(n)
		p.first = r
	}
}

// watch waits for the workers. Where no trial ends for a while, virtual time
// stands still in one of them, and the test ends with the cause.
func (c *check) watch(p *pool) {
	c.t.Helper()
	tick := time.NewTicker(frozenAfter)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-p.finished:
			return
		case <-tick.C:
		}
		if now := p.done.Load(); now != last {
			last = now
			continue
		}
		p.stopped.Store(true)
		x, n := p.frozen()
		if x == nil || n > p.failed.Load() {
			return // it is behind a trial that failed, which is the one to report
		}
		origin := fmt.Sprintf("trial %d of %d, seed %d", n+1, p.trials, c.set.seed)
		c.unplayable(&FrozenError{frozenReport(x)}, x.s, origin, "")
	}
}

// frozen is the first of the trials that have not ended.
func (p *pool) frozen() (first *trial, number int64) {
	for w := range p.current {
		x, n := p.current[w].Load(), p.numbers[w].Load()
		if x != nil && (first == nil || n < number) {
			first, number = x, n
		}
	}
	return first, number
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

// trial runs and judges one schedule alone, to see whether it breaks a rule. To
// look for the places of what is left behind takes longer with each leak.
func (c *check) trial(s *Schedule) *result {
	x := c.newTrial(s, nil)
	x.brief = true
	r := c.judge(watched(c.t, x))
	return &r
}

// shown is trial for a result that is reported.
func (c *check) shown(s *Schedule) *result {
	r := c.judge(watched(c.t, c.newTrial(s, nil)))
	return &r
}

func (c *check) newTrial(s *Schedule, storage *trace.Trace) *trial {
	x := newTrial(c.a, s, c.content, storage)
	x.rec.Beside = c.beside
	return x
}

// judge reads a trial's trace.
func (c *check) judge(tr *trace.Trace, err error) result {
	r := result{tr: tr, err: err}
	if err != nil {
		return r
	}
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
		if _, ok := c.seen.Load(name); !ok && !strings.HasPrefix(name, AcceptedRow) {
			names = append(names, name)
		}
	}
	return names
}
