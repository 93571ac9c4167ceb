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
// nil: none does, and what they have met is in c.met.
func (c *check) firstFailing(from, to int) (number int, r *result) {
	p := &pool{finished: make(chan struct{})}
	p.next.Store(int64(from))
	p.failed.Store(int64(to))
	workers := min(runtime.GOMAXPROCS(0), to-from)
	if c.a.Serial {
		workers = 1
	}
	p.current = make([]atomic.Pointer[trial], workers)
	p.numbers = make([]atomic.Int64, len(p.current))
	p.met = make([]tally, len(p.current))
	calmCollector()
	var wg sync.WaitGroup
	for w := range p.current {
		wg.Go(func() { c.work(p, w) })
	}
	go func() { wg.Wait(); close(p.finished) }()
	c.watch(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		for w := range p.met {
			c.met.add(&p.met[w])
		}
	}
	return int(p.failed.Load()), p.first
}

// calmCollector lets the collector run every 64 MB instead of every 4 MB, by
// memory that is never touched and so costs none. A trial leaves some
// kilobytes and keeps nothing; the collector's stops and wake-ups would cost
// two workers a fifth of what the second one brings.
var calmCollector = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// A pool is what the workers of one property share.
type pool struct {
	next     atomic.Int64
	done     atomic.Int64
	failed   atomic.Int64            // the lowest number of a trial that failed
	mu       sync.Mutex              // guards first, and the changes of failed
	first    *result                 // what came of that trial
	stopped  atomic.Bool             // no further trial begins
	current  []atomic.Pointer[trial] // what each worker runs; nil: nothing
	numbers  []atomic.Int64          // the number of that trial
	met      []tally                 // what the trials of each worker have met
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
		if !r.broken() && r.err == nil {
			r.labels, r.err = c.a.labelled(&r)
		}
		if r.broken() || r.err != nil {
			failed := r
			p.fails(n, &failed)
			old = nil
			continue
		}
		p.met[w].note(&s, x, &r)
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
		origin := fmt.Sprintf("trial %d of %d, seed %d", n+1, c.set.trials, c.set.seed)
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
