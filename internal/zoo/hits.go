package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects with a cache that tells of its hits, and with requests that several
// actions share.
func hits() []Specimen {
	return []Specimen{
		{"failure-kept-like-a-success", "One time to live serves all entries, and a failure is kept as long as an answer.",
			"F079", "cached-failure", caching(func(c *cache) { c.alike = true })},
		{"cached-failure-loops", "The loop around the cache goes round at once for a failure that can be retried, and finds it again.",
			testingRetries, "cached-failure", caching(func(c *cache) { c.loops = true })},
		{"cache-never-expires", "The age of an entry is compared in the wrong direction, and yesterday's weather is served.",
			testingRetries, "cache-fresh", caching(func(c *cache) { c.forever = true })},
		{"half-a-key", "The key of the cache is the city, and the units are not in it.",
			testingRetries, "cache-fresh", caching(func(c *cache) { c.units, c.half = true, true })},
		{"hit-and-called-all-the-same", "The hit is counted and its answer dropped, because a return is missing.",
			testingRetries, "cache-hit-no-call", caching(func(c *cache) { c.falls = true })},
		{"payment-from-the-cache", "The client caches every answer, and the second payment of an invoice is served the first receipt.",
			testingRetries, "honest-ending", cachedPayment()},
		{"leader-takes-all-along", "Callers share one request in the context of the first, and its cancel fails them all.",
			"F079", "cached-failure", joining(func(f *flights) { f.bound = true })},
		{"failed-flight-never-lands", "A request that fails stays in the list of those under way, and later callers get its failure.",
			"F079", "cached-failure", joining(func(f *flights) { f.stays = true })},
	}
}

const (
	freshFor  = 5 * time.Minute  // successes
	failedFor = 30 * time.Second // failures
)

// A cache keeps the last success and the last failure for a while.
type cache struct {
	tell func(ctx context.Context, q query, f forecast, err error)

	mu   sync.Mutex
	turn int
	kept map[query]cached
	lost map[query]cached

	alike   bool // failures are kept as long as successes
	loops   bool
	forever bool
	units   bool // actions ask in turn for other units
	half    bool // of the key
	falls   bool // through, to the call
}

type cached struct {
	f    forecast
	err  error
	when time.Time
}

func caching(change func(*cache)) faultsim.Adapter {
	a := built(policy(), throttling(), nil)
	a.Cache = &invariants.Cache{TTL: freshFor, FailureTTL: failedFor}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		c := &cache{kept: map[query]cached{}, lost: map[query]cached{}}
		c.tell = func(ctx context.Context, q query, f forecast, err error) { s.Hit(ctx, "weather", q, f, err) }
		change(c)
		call := faultsim.Tool(s, "weather", measured, throttling())
		return func(ctx context.Context) (any, error) { return c.forecast(ctx, c.next(), call) }
	}
	return a
}

// measured answers in the units that it is asked for.
func measured(_ context.Context, q query) (forecast, error) {
	if q.Units == "imperial" {
		return forecast{Celsius: 66}, nil
	}
	return forecast{Celsius: 19}, nil
}

// next is what the action asks for.
func (c *cache) next() query {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := pune
	if c.turn++; c.units && c.turn%2 == 0 {
		q.Units = "imperial"
	}
	return q
}

func (c *cache) forecast(ctx context.Context, q query, call tool) (forecast, error) {
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		e, ok := c.look(q)
		switch {
		case !ok:
			return c.load(ctx, q, call)
		case e.err == nil && c.falls:
			c.tell(ctx, q, e.f, nil)
			return c.load(ctx, q, call)
		case e.err == nil:
			c.tell(ctx, q, e.f, nil)
			return e.f, nil
		}
		c.tell(ctx, q, forecast{}, e.err)
		if !c.loops || !retryable(e.err) {
			return forecast{}, e.err
		}
	}
}

func (c *cache) key(q query) query {
	if c.half {
		q.Units = ""
	}
	return q
}

// look finds what is kept.
func (c *cache) look(q query) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.key(q)
	ttl := failedFor
	if c.alike {
		ttl = freshFor
	}
	if e, ok := c.lost[k]; ok && time.Since(e.when) < ttl {
		return e, true
	}
	e, ok := c.kept[k]
	return e, ok && (time.Since(e.when) < freshFor || c.forever)
}

// load asks the tool and keeps what it answers. What the caller's own time has
// ended says nothing of the tool.
func (c *cache) load(ctx context.Context, q query, call tool) (forecast, error) {
	f, err := patient(ctx, func(ctx context.Context, _ query) (forecast, error) { return call(ctx, q) })
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.key(q)
	switch {
	case err == nil:
		c.kept[k] = cached{f, nil, time.Now()}
		delete(c.lost, k)
	case ctx.Err() == nil:
		c.lost[k] = cached{err: err, when: time.Now()}
	}
	return f, err
}

// cachedPayment plugs in a payment behind a client that caches.
func cachedPayment() faultsim.Adapter {
	a := unkeyed(repeatsOnlyUndone)
	plain := a.Subject
	a.Cache = new(invariants.Cache)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		pay := plain(s)
		var mu sync.Mutex
		var last any
		return func(ctx context.Context) (any, error) {
			mu.Lock()
			kept := last
			mu.Unlock()
			if kept != nil {
				s.Hit(ctx, "bank", payment{Invoice: 7, Cents: 1900}, kept, nil)
				return kept, nil
			}
			r, err := pay(ctx)
			if err == nil {
				mu.Lock()
				last = r
				mu.Unlock()
			}
			return r, err
		}
	}
	return a
}

// flights lets callers that ask for the same share one request.
type flights struct {
	tell func(ctx context.Context, f forecast, err error)

	mu    sync.Mutex
	under *flight // nil: none is under way

	bound bool // a failure is everybody's, whoever's time has ended
	stays bool // a failure stays under way
}

type flight struct {
	done chan struct{}
	f    forecast
	err  error
	left bool // its caller's own time ended
}

func joining(change func(*flights)) faultsim.Adapter {
	a := built(policy(), throttling(), func(s *faultsim.Stage) ask {
		f := &flights{tell: func(ctx context.Context, f forecast, err error) { s.Hit(ctx, "weather", pune, f, err) }}
		change(f)
		return f.forecast
	})
	a.Cache = new(invariants.Cache)
	return a
}

func (l *flights) forecast(ctx context.Context, call tool) (forecast, error) {
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		mine, lead := l.join()
		if lead {
			mine.f, mine.err = patient(ctx, call)
			l.land(ctx, mine)
			return mine.f, mine.err
		}
		select {
		case <-mine.done:
		case <-ctx.Done():
			return forecast{}, ctx.Err()
		}
		if mine.left && !l.bound && !l.stays {
			continue // the one who asked has left, and somebody else must ask
		}
		l.tell(ctx, mine.f, mine.err)
		return mine.f, mine.err
	}
}

func (l *flights) join() (f *flight, lead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under != nil {
		return l.under, false
	}
	l.under = &flight{done: make(chan struct{})}
	return l.under, true
}

func (l *flights) land(ctx context.Context, f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.left = f.err != nil && (ctx.Err() != nil || errors.Is(f.err, context.Canceled))
	if f.err == nil || !l.stays {
		l.under = nil
	}
	close(f.done)
}
