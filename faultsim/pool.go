package faultsim

import (
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
	p := &pool{
		finished: make(chan struct{}), step: int64(c.set.shard.step()),
		current: make([]atomic.Pointer[trial], workers), numbers: make([]atomic.Int64, workers), met: make([]tally, workers),
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
	for w := range p.current {
		wg.Go(func() { c.work(p, w) })
	}
	go func() { wg.Wait(); close(p.finished) }()
	c.watch(p)
}

// sum adds what the pool's trials have met.
func (c *check) sum(p *pool) {
	for w := range p.met {
		c.met.add(&p.met[w])
	}
}

// calmCollector lets the collector run every 64 MB instead of every 4 MB, by
// memory that is never touched and so costs none. A trial leaves some
// kilobytes and keeps nothing; the collector's stops and wake-ups would cost
// two workers a fifth of what the second one brings.
var calmCollector = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// A pool is what the workers of one property share.
type pool struct {
	next     atomic.Int64
	step     int64 // from one trial to the next
	done     atomic.Int64
	failed   atomic.Int64            // the lowest number of a trial that failed
	mu       sync.Mutex              // guards first, and the changes of failed
	first    *result                 // what came of that trial
	stopped  atomic.Bool             // no further trial begins
	current  []atomic.Pointer[trial] // what each worker runs; nil: nothing
	numbers  []atomic.Int64          // the number of that trial
	met      []tally                 // what the trials of each worker have met
	finished chan struct{}

	stop  <-chan struct{}    // no further trial begins; nil: they all do
	known map[string]failing // where failures end nothing: the first of each name; nil: the first one ends the search
}

// failing is a trial that failed.
type failing struct {
	n int
	r *result
}

// work runs trials until there are none left that matter.
func (c *check) work(p *pool, w int) {
	var old *trace.Trace
	applied := make([]bool, len(c.invs)) // made here: workers that share a line of the processor's cache wait for each other
	var n int64
	ended := true
	defer func() {
		p.current[w].Store(nil)
		if ended {
			p.fails(n, &result{err: errEnded})
		}
	}()
	for {
		n = p.next.Add(p.step) - p.step
		if n >= p.failed.Load() || p.stopped.Load() {
			ended = false
			return
		}
		s := c.draw(int(n))
		x, r := c.one(p, w, n, &s, old, applied)
		if c.set.twice && r.passes() {
			_, again := c.one(p, w, n, &s, nil, applied)
			r = c.twice(&s, r, again)
		}
		p.done.Add(1)
		old = r.tr
		if r.passes() {
			r.labels, r.err = c.a.labelled(&r)
		}
		if !r.passes() {
			failed := r
			p.fails(n, &failed)
			old = nil
			continue
		}
		p.met[w].note(&s, x, &r)
	}
}

// one runs and judges a drawn trial.
func (c *check) one(p *pool, w int, n int64, s *Schedule, storage *trace.Trace, applied []bool) (*trial, result) {
	x := c.newTrial(s, storage)
	x.drawn = true
	p.numbers[w].Store(n)
	p.current[w].Store(x)
	defer p.current[w].Store(nil)
	if c.inTurn() {
		x.claim.take(x.seeds())
		defer x.claim.ends()
		defer x.claim.drop()
	}
	tr, err := x.run(c.t)
	r := c.judge(tr, err, applied)
	if x.claim.seeded {
		scatter(c.t)
	}
	return x, r
}

// fails notes a trial that failed, unless one before it has. One that cannot be
// judged is the last in every case.
func (p *pool) fails(n int64, r *result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil && r.broken() {
		name := r.found[0].Invariant
		if old, ok := p.known[name]; !ok || int(n) < old.n {
			p.known[name] = failing{int(n), r}
		}
		return
	}
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
		p.stopped.Store(true)
		x, n := p.frozen()
		if x == nil || n > p.failed.Load() {
			return // it is behind a trial that failed, which is the one to report
		}
		x.claim.giveUp()
		c.book.Failures = append(c.book.Failures, failedTrial{Trial: int(n), Error: frozenClock})
		c.unplayable(&FrozenError{frozenReport(x)}, x.s, c.origin(int(n)), nil)
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
