package faultsim

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// firstFailing runs the trials from one number up to another, which is left
// out, and returns the first one that fails, whatever the number of workers;
// nil: none does, and what they have met is in c.met. Of a shard it runs those
// that are the shard's own.
func (c *check) firstFailing(from, to int) (number int, r *result) {
	c.t.Helper()
	p := c.newPool(from, to)
	c.play(p)
	c.book.Trials += int(p.done.Load())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		c.sum(p)
	}
	return int(p.failed.Load()), p.first
}

func (c *check) newPool(from, to int) *pool {
	workers := min(runtime.GOMAXPROCS(0), max(1, c.set.shard.count(to)-c.set.shard.count(from)))
	if c.inTurn() {
		workers = 1
	}
	p := &pool{finished: make(chan struct{}), step: int64(c.set.shard.step())}
	for range workers {
		p.workers = append(p.workers, new(runner))
	}
	p.next.Store(int64(c.set.shard.first(from)))
	p.failed.Store(int64(to))
	return p
}

// play runs the pool's trials and waits for them.
func (c *check) play(p *pool) {
	c.t.Helper()
	if !c.inTurn() {
		process.RLock()
		defer process.RUnlock()
	}
	calmCollector()
	var wg sync.WaitGroup
	for _, w := range p.workers {
		wg.Go(func() { c.work(p, w) })
	}
	go func() { wg.Wait(); close(p.finished) }()
	c.watch(p)
}

// sum adds what the pool's trials have met.
func (c *check) sum(p *pool) {
	for _, w := range p.workers {
		c.met.add(&w.met)
	}
}

// calmCollector lets the collector run every 32 MB instead of every 4 MB, by
// memory that is never touched and so costs none. A trial leaves some
// kilobytes and keeps nothing; the collector's stops and wake-ups would cost
// two workers a fifth of what the second one brings.
var calmCollector = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// A pool is what the workers of one property share.
type pool struct {
	next     atomic.Int64
	step     int64 // from one trial to the next
	done     atomic.Int64
	failed   atomic.Int64 // the lowest number of a trial that failed
	mu       sync.Mutex   // guards first, and the changes of failed
	first    *result      // what came of that trial
	stopped  atomic.Bool  // no further trial begins
	workers  []*runner
	finished chan struct{}

	stop  <-chan struct{} // no further trial begins; nil: they all do
	known failures        // where failures end nothing; nil: the first one ends the search
}

// A runner is a worker: it runs one trial after another. Each has its own place in memory: two that
// write to one line of the processor's cache wait for each other.
type runner struct {
	current atomic.Pointer[trial] // what it runs or judges; nil: nothing
	beyond  atomic.Bool           // the trial itself is over, and functions of the adapter's look at it
	number  atomic.Int64          // of that trial
	met     tally                 // what its trials have met
	applied []bool                // the invariants that applied in its trial, by number
	old     *trace.Trace          // of its last one, which nobody reads any more
}

// work runs trials until there are none left that matter.
func (c *check) work(p *pool, w *runner) {
	w.applied = make([]bool, len(c.invs))
	var n int64
	ended := true
	defer func() {
		w.current.Store(nil)
		if ended {
			p.fails(failing{n: int(n), r: &result{err: errEnded}})
		}
	}()
	for {
		over := p.stopped.Load() // asked first, so that all numbers up to the next one are played
		if !over {
			n = p.next.Add(p.step) - p.step
		}
		if over || n >= p.failed.Load() {
			ended = false
			return
		}
		s := c.draw(int(n))
		x, r := c.one(w, n, &s, w.old)
		if c.set.twice && r.passes() {
			_, again := c.one(w, n, &s, nil)
			r = c.twice(&s, r, again, x.seeds() && !x.claim.seeded)
		}
		counts := r.passes() || r.broken() && p.known != nil // a campaign goes on, and what a failing trial has met counts
		if counts {
			r.labels, r.err = c.a.labelled(&r)
		}
		w.current.Store(nil)
		p.done.Add(1)
		if counts && r.err == nil {
			w.met.note(&s, x, &r)
		}
		if w.old = r.tr; !r.passes() {
			failed := r
			p.fails(failing{int(n), &failed, c.broke(&r)})
			w.old = nil
		}
	}
}

// one runs and judges a drawn trial, which is the runner's current one from then on.
func (c *check) one(w *runner, n int64, s *Schedule, storage *trace.Trace) (*trial, result) {
	x := c.newTrial(s, storage)
	x.drawn = true
	w.number.Store(n)
	w.beyond.Store(false)
	w.current.Store(x)
	if c.inTurn() {
		x.claim.take(x.seeds())
		defer x.claim.ends()
		defer x.claim.drop()
	}
	tr, err := x.run(c.t)
	w.beyond.Store(true)
	r := c.judge(tr, err, w.applied)
	if x.claim.seeded {
		scatter(c.t)
	}
	return x, r
}

// fails notes a trial that failed, unless one before it has. One that cannot be
// judged is the last in every case.
func (p *pool) fails(f failing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil && f.r.broken() {
		p.known.add(f)
		return
	}
	if n := int64(f.n); n < p.failed.Load() {
		p.failed.Store(n)
		p.first = f.r
	}
}

// watch waits for the workers. Where no trial ends for a while, virtual time
// stands still in one of them, and the test ends with the cause.
func (c *check) watch(p *pool) {
	c.t.Helper()
	tick := time.NewTicker(frozenAfter)
	defer tick.Stop()
	stop := p.stop
	for last := int64(0); ; {
		select {
		case <-p.finished:
			return
		case <-stop:
			p.stopped.Store(true)
			stop = nil
			continue
		case <-tick.C:
		}
		if now := p.done.Load(); now != last {
			last = now
			continue
		}
		x, w := p.stuck()
		switch {
		case x == nil && !p.found():
			continue // between two trials, on a machine that has other work
		case x == nil || w.number.Load() > p.failed.Load():
			p.stopped.Store(true)
			return // it is behind a trial that failed, which is the one to report
		}
		p.stopped.Store(true)
		x.claim.giveUp()
		c.stays(x, int(w.number.Load()), w.beyond.Load())
	}
}

// found reports whether a trial has failed.
func (p *pool) found() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first != nil
}

// stuck is the first of the trials that have not ended, and its worker; nil: there is
// none.
func (p *pool) stuck() (first *trial, worker *runner) {
	for _, w := range p.workers {
		x := w.current.Load()
		if x != nil && (first == nil || w.number.Load() < worker.number.Load()) {
			first, worker = x, w
		}
	}
	return first, worker
}

// stays ends the test with a trial that does not end, or whose trace nobody has done
// looking at.
func (c *check) stays(x *trial, n int, beyond bool) {
	c.t.Helper()
	failed := failedTrial{Trial: n, Error: frozenClock}
	var err error
	if beyond {
		failed.Error = "late-judgement"
		err = fmt.Errorf("%s: %s: a trial is over, and for %v of real time Label or a rule of Invariants has looked at its trace: such functions must return, and wait for nothing", failed.Error, c.a.Name, frozenAfter)
	} else {
		err = &FrozenError{frozenReport(x)}
	}
	c.book.Failures = append(c.book.Failures, failed)
	c.unplayable(err, x.s, c.origin(n), nil)
}
