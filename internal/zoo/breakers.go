package zoo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func breakers() []Specimen {
	breaks := func(change func(*guard)) faultsim.Adapter { return guarded(inARow(), change) }
	return []Specimen{
		{"breaker-never-opens", "The breaker is asked and told, and its state is copied with the value receiver.",
			toolErrors, "circuit-breaker", breaks(func(g *guard) { g.forgetful = true })},
		{"breaker-counts-scattered-failures", "A success leaves the count as it is, and five failures in a week open the breaker.",
			"F055", "circuit-breaker", breaks(func(g *guard) { g.keepsCount = true })},
		{"breaker-blames-the-callers", "Calls that their callers cancelled count as failures, and impatience opens the breaker.",
			"F054", "circuit-breaker", breaks(func(g *guard) { g.blames = countsCancels })},
		{"breaker-lets-everybody-probe", "Half-open, everybody goes through until the first of them has failed.",
			"F052", "circuit-breaker", breaks(func(g *guard) { g.crowd = true })},
		{"breaker-probe-never-settles", "A probe that is neither a success nor a failure keeps its place, and nobody goes through again.",
			"F053", "circuit-breaker", breaks(func(g *guard) { g.wedges = true })},
		{"breaker-extended-by-refusals", "A refused call counts as a failure, and each one begins the cooldown anew.",
			retrySafe, "circuit-breaker", breaks(func(g *guard) { g.extends = true })},
		{"breaker-survives-a-failed-probe", "A probe that fails starts the count at one, and the breaker is closed again.",
			retrySafe, "circuit-breaker", breaks(func(g *guard) { g.softProbe = true })},
		{"breaker-error-retried", "The breaker's refusal is an error like any other, and is tried again after a wait.",
			toolErrors, "circuit-breaker", breaks(func(g *guard) { g.retriesOpen = true })},
		{"breaker-asked-once", "The breaker is asked before the first attempt, and the retries go past it.",
			toolErrors, "circuit-breaker", breaks(func(g *guard) { g.once = true })},
		{"breaker-blames-wrong-arguments", "Every error counts, and a caller that asks for a city that is not there opens it for all.",
			"rule 11", "circuit-breaker", breaks(func(g *guard) { g.blames = countsEverything })},
		{"breaker-waits-for-its-probe", "A probe has a lease on paper, and keeps its place for as long as its call takes.",
			"F053", "circuit-breaker", guarded(leased(), func(*guard) {})},
		{"breaker-serves-the-past-as-now", "While the breaker refuses the last forecast is returned as if it were today's.",
			toolErrors, "honest-ending", keeping(func(f forecast) keptForecast { return keptForecast{forecast: f} })},
		{"breaker-shared-by-two-tools", "One breaker stands before both tools, and the failures of one close the door to the other.",
			toolErrors, "circuit-breaker", locating(func() (geo, weather *guard) { g := newGuard(); return g, g })},
		{"breaker-window-never-slides", "The rate is taken over all calls since the start, and a long good time hides an outage.",
			toolErrors, "circuit-breaker", guarded(byRate(), func(g *guard) { g.rate, g.endless = true, true })},
		{"breaker-closed-by-the-past", "A call that was sent before the breaker opened succeeds after it, and closes it.",
			toolErrors, "circuit-breaker", breaks(func(g *guard) { g.trusts = true })},
	}
}

// inARow is the contract of the breakers that count failures in a row.
func inARow() invariants.Breaker {
	return invariants.Breaker{Consecutive: threshold, Cooldown: cooldown}
}

// byRate is the contract of those that count them over the last calls.
func byRate() invariants.Breaker {
	return invariants.Breaker{Rate: 0.5, Window: window, Least: threshold, Cooldown: cooldown}
}

// leased is the contract of a breaker whose probes have a lease.
func leased() invariants.Breaker {
	b := inARow()
	b.Lease = limit / 2
	return b
}

const (
	threshold = 5
	window    = 10
	cooldown  = 30 * time.Second
)

// guarded plugs in the patient loop with a breaker before each attempt.
func guarded(b invariants.Breaker, change func(*guard)) faultsim.Adapter {
	a := built(policy(), failures(), func(*faultsim.Stage) ask {
		g := newGuard()
		change(g)
		return g.forecast
	})
	a.Breaker = &b
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, errOpen) {
			return trace.ReasonBreakerOpen
		}
		return 0
	}
	return a
}

var errOpen = errors.New("weather: temporarily unavailable, do not ask again for now")

// A guard is a circuit breaker. Its fields are the ways in which it goes wrong.
type guard struct {
	mu      sync.Mutex
	failed  int // in a row
	last    []bool
	open    bool
	since   time.Time
	probing int // probes under way
	probed  time.Time
	lease   time.Duration // of a probe; 0: none
	tries   int
	good    int // probes that succeeded since the cooldown
	turn    int
	blames  func(context.Context, error) verdict
	probes  int // how many at once; how many must succeed
	limit   int // failures that open it
	calm    time.Duration
	rate    bool // over the last calls
	endless bool

	forgetful, keepsCount, crowd, wedges, extends, softProbe, retriesOpen, once, ungrateful, trusts bool
}

func newGuard() *guard {
	return &guard{blames: countsFailures, probes: 1, limit: threshold, calm: cooldown, tries: attempts}
}

// A verdict is what an error says of the tool.
type verdict int

const (
	fine verdict = iota
	failed
	nothing
)

// countsFailures blames the tool for its failures and for attempts that took
// too long, and nobody for a caller who has left.
func countsFailures(ctx context.Context, err error) verdict {
	switch {
	case err != nil && ctx.Err() != nil:
		return nothing
	case err != nil && retryable(err):
		return failed
	}
	return fine
}

// ignoresRefusals is countsFailures, where a refusal says nothing of the tool.
func ignoresRefusals(ctx context.Context, err error) verdict {
	if v := countsFailures(ctx, err); err == nil || v == failed {
		return v
	}
	return nothing
}

func countsCancels(_ context.Context, err error) verdict {
	if err != nil && (retryable(err) || errors.Is(err, context.Canceled)) {
		return failed
	}
	return fine
}

func countsEverything(ctx context.Context, err error) verdict {
	switch {
	case err != nil && ctx.Err() != nil:
		return nothing
	case err != nil:
		return failed
	}
	return fine
}

// enter asks for a call. It returns what must be told how the call went.
func (g *guard) enter() (leave func(verdict), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.open && time.Since(g.since) < g.calm:
		if g.extends {
			g.since = time.Now()
		}
		return nil, errOpen
	case g.open && g.lease > 0 && g.probing > 0 && time.Since(g.probed) >= g.lease:
		g.turn++
		g.probed = time.Now()
	case g.open && g.probing >= g.probes && !g.crowd:
		return nil, errOpen
	case g.open:
		g.probing++
		g.probed = time.Now()
	}
	turn := g.turn
	return func(v verdict) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if (turn == g.turn || g.trusts && v == fine) && !g.forgetful {
			g.settle(v)
		}
	}, nil
}

func (g *guard) settle(v verdict) {
	switch {
	case v == nothing && g.open && g.wedges:
	case v == nothing && g.open:
		g.probing--
	case v == nothing:
	case v == fine && g.open && g.good+1 < g.probes:
		g.probing, g.good = g.probing-1, g.good+1
	case v == fine && g.open && g.ungrateful:
		g.since, g.probing = time.Now(), 0
		g.turn++
	case v == fine && g.open:
		g.open, g.probing, g.good, g.failed, g.last = false, 0, 0, 0, nil
		g.turn++
	case g.open && g.softProbe:
		g.open, g.probing, g.failed = false, 0, 1
		g.turn++
	case g.open:
		g.since, g.probing, g.good = time.Now(), 0, 0
		g.turn++
	default:
		g.count(v)
	}
}

func (g *guard) count(v verdict) {
	switch {
	case v == failed:
		g.failed++
	case !g.keepsCount:
		g.failed = 0
	}
	full := g.failed >= g.limit
	if g.rate {
		full = g.over(v)
	}
	if full {
		g.open, g.since = true, time.Now()
		g.turn++
	}
}

// over reports whether half of the last calls failed.
func (g *guard) over(v verdict) bool {
	g.last = append(g.last, v == failed)
	if len(g.last) > window && !g.endless {
		g.last = g.last[1:]
	}
	bad := 0
	for _, f := range g.last {
		if f {
			bad++
		}
	}
	return len(g.last) >= g.limit && 2*bad >= len(g.last)
}

// forecast is the patient loop with the breaker before each attempt.
func (g *guard) forecast(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := g.attempt(ctx, call, n)
		if err == nil {
			return f, nil
		}
		again := retryable(err) || g.retriesOpen && err == errOpen
		if n == g.tries || ctx.Err() != nil || !again {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func (g *guard) attempt(ctx context.Context, call tool, n int) (forecast, error) {
	leave, err := g.enter()
	if err != nil && (n == 1 || !g.once) {
		return forecast{}, err
	}
	f, err := once(ctx, call, pune)
	if leave != nil {
		leave(g.blames(ctx, err))
	}
	return f, err
}

// twoProbes is a breaker that two probes must close, and to which refusals say
// nothing.
func twoProbes() faultsim.Adapter {
	b := inARow()
	b.Probes, b.Successes, b.RefusalsNeutral = 2, 2, true
	return guarded(b, func(g *guard) { g.probes, g.blames = 2, ignoresRefusals })
}

// fallsBack asks another tool while the breaker refuses.
func fallsBack() faultsim.Adapter {
	b := inARow()
	b.Tool, b.Fallback = "weather", "almanac"
	a := guarded(b, func(*guard) {})
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		g := newGuard()
		weather := faultsim.Tool(s, "weather", sunny, failures())
		almanac := faultsim.Tool(s, "almanac", sunny, nil)
		return func(ctx context.Context) (any, error) {
			f, err := g.forecast(ctx, weather)
			if err == errOpen {
				return patient(ctx, almanac)
			}
			return f, err
		}
	}
	return a
}

// A keptForecast may be one of before.
type keptForecast struct {
	forecast
	Stale bool
}

// keeping answers with the last forecast while the breaker refuses.
func keeping(word func(forecast) keptForecast) faultsim.Adapter {
	a := guarded(inARow(), func(*guard) {})
	a.Policy = tries(1)
	answer, _ := sunny(context.Background(), pune)
	a.Want = keptForecast{forecast: answer}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		g := newGuard()
		g.tries = 1
		call := faultsim.Tool(s, "weather", sunny, failures())
		var last atomic.Pointer[forecast]
		return func(ctx context.Context) (any, error) {
			f, err := g.forecast(ctx, call)
			if kept := last.Load(); err == errOpen && kept != nil {
				return word(*kept), nil
			}
			if err == nil {
				last.Store(&f)
			}
			return keptForecast{forecast: f}, err
		}
	}
	a.Degraded = func(result any) trace.Reason {
		if f, ok := result.(keptForecast); ok && f.Stale {
			return trace.ReasonBreakerOpen
		}
		return 0
	}
	return a
}

// locating asks for the place before the forecast, each behind a breaker.
func locating(guards func() (geo, weather *guard)) faultsim.Adapter {
	a := guarded(inARow(), func(*guard) {})
	a.Breaker = nil
	for _, tool := range []string{"geo", "weather"} {
		b := inARow()
		b.Tool = tool
		a.Breakers = append(a.Breakers, b)
	}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		before, behind := guards()
		geo := faultsim.Tool(s, "geo", sunny, failures())
		weather := faultsim.Tool(s, "weather", sunny, failures())
		return func(ctx context.Context) (any, error) {
			if f, err := before.forecast(ctx, geo); err != nil {
				return f, err
			}
			return behind.forecast(ctx, weather)
		}
	}
	return a
}

// touchy is a breaker that opens within one action and is half-open before the
// next wait is over.
func touchy() faultsim.Adapter {
	b := invariants.Breaker{Consecutive: 2, Cooldown: 150 * time.Millisecond}
	return guarded(b, func(g *guard) { g.limit, g.calm = b.Consecutive, b.Cooldown })
}
