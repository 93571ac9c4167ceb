package zoo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Right returns subjects that keep their policies, in different styles.
func Right() []Specimen {
	specimen := func(name string, a faultsim.Adapter) Specimen { return Specimen{Name: name, Adapter: a} }
	return slices.Concat(rightDesks(), rightDurableDesks(), []Specimen{
		specimen("plain-loop", agents(policy(), throttling(), patient)),
		specimen("stops-at-long-hints", agents(stopping(), throttling(), stopsAtHints)),
		specimen("typed-agent", typed()),
		specimen("budgeted-loop", agents(budgeted(), failures(), bounded)),
		specimen("many-attempts", agents(capped(40, 10*time.Second, time.Hour), failures(), tryTimes(40, saturates))),
		specimen("full-jitter", agents(jittered(8, invariants.FullJitter), throttling(), tryTimes(8, fullJitter))),
		specimen("equal-jitter", agents(jittered(8, invariants.EqualJitter), failures(), tryTimes(8, equalJitter))),
		specimen("jitter-under-the-cap", agents(capAfterJitter(), failures(), tryTimes(8, jitterThenCap))),
		specimen("decorrelated-jitter", built(jittered(6, invariants.DecorrelatedJitter), failures(), decorrelated)),
		specimen("keyed-payment", keyed(func(p *payer) action { return p.rightKey })),
		specimen("asking-teller", transferring(func(m *teller) action { return m.right })),
		specimen("unkeyed-payment", unkeyed(repeatsOnlyUndone)),
		specimen("publisher", publishing(publishesOnce)),
		specimen("worker-pool", built(policy(), throttling(), func(*faultsim.Stage) ask { return new(pool).forecast })),
		specimen("one-at-a-time", built(policy(), failures(), func(*faultsim.Stage) ask { return (&turns{make(chan struct{}, 1)}).forecast })),
		specimen("goroutine-for-each-attempt", weather(patientWith(collects))),
		specimen("http-get", online(webPolicy(), func(*webAgent) {})),
		specimen("http-post", posting(buildsEach)),
		specimen("asks-once", asking(false)),
		specimen("gone-is-done", deleting(goneIsDone)),
		specimen("own-conflict-is-unknown", conflicting(ownIsUnknown)),
		specimen("looks-again-after-an-outage", built(policy(), throttling(), func(*faultsim.Stage) ask { return (&memory{forgets: true}).forecast })),
		specimen("quotes-the-error", weather(quotesError)),
		specimen("wraps-the-error", wrapping(wrapsError)),
		specimen("reads-the-answer", seating(func(ctx context.Context, ask seats) (seat, error) { return patientSeat(ctx, ask, readSeat) })),
		specimen("breaker-in-a-row", guarded(inARow(), func(*guard) {})),
		specimen("breaker-by-rate", guarded(byRate(), func(g *guard) { g.rate = true })),
		specimen("touchy-breaker", touchy()),
		specimen("breaker-with-two-probes", twoProbes()),
		specimen("breaker-with-a-fallback", fallsBack()),
		specimen("breaker-for-each-tool", locating(func() (geo, weather *guard) { return newGuard(), newGuard() })),
		specimen("breaker-with-a-kept-answer", keeping(func(f forecast) keptForecast { return keptForecast{f, true} })),
		specimen("breaker-with-a-lease", guarded(leased(), func(g *guard) { g.lease = leased().Lease })),
		specimen("app-owns-the-retries", layered(4, settings{app: 4, sdk: 1})),
		specimen("sdk-owns-the-retries", layered(3, settings{app: 1, sdk: 3})),
		specimen("one-layer-for-all-kinds", layeredOn(throttling(), 3, app{settings{app: 3, sdk: 1}}.forecast)),
		specimen("tells-the-model", reporting(func(*told, error) {})),
		specimen("http-tells-the-model", reportingOnline(func(*told, error) {})),
		specimen("failure-as-text", asText()),
		specimen("tells-what-nobody-knows", payTold(false)),
		specimen("batch-of-records", putting(putsRest)),
		specimen("finds-nothing", searching(findsNothing)),
		specimen("page-after-page", paging(turnsPages)),
		specimen("batch-in-chunks", inTwo(putting(inChunks(errors.Join)))),
		specimen("batch-in-chunks-then-the-rest", inTwo(putting(chunksThenRest))),
		specimen("batch-names-what-failed", naming(putting(namesRest))),
		specimen("http-batch", onWire(putsRest, readsEach)),
		specimen("batch-waits-as-asked", puttingOn(storeAsking(), putsWhenAsked(longestHint))),
		specimen("token-refreshed-once", members((*member).forecast)),
		specimen("token-of-each-caller", membersUnder(unshared(), (*member).alone)),
		specimen("http-bearer", bearing(func(*bearer) {})),
		specimen("schema-kept-for-all", measuring((*gauge).corrected)),
		specimen("schema-read-by-each-action", measuring((*gauge).forgetful)),
		specimen("rejected-is-final", measuring((*gauge).plain)),
		specimen("corrects-by-the-error", measuringUnder(toldUnits(), (*gauge).told)),
		specimen("session-opened-again", linked(func(*linker) {})),
		specimen("session-closed-when-lost", linked(func(l *linker) { l.tidy = true })),
		specimen("session-of-each-action", linked(func(l *linker) { l.alone = true })),
		specimen("order-over-a-session", ordering(func(*linker) {})),
		specimen("waits-for-the-other", gathering(waitsForBoth)),
		specimen("jitter-in-tenths", inJitter(sleep, inSteps(10))),
		specimen("paced", pacing(slidingWindow)),
		specimen("place-for-one", placing(givesBack)),
		specimen("single-attempt", agents(tries(1), failures(), retriesOf(0, false))),
		specimen("no-budget", agents(unbudgeted(), failures(), overall(0, false))),
		specimen("reads-the-envelope", enveloped(readEnvelope)),
		specimen("failure-forgotten", built(policy(), throttling(), func(*faultsim.Stage) ask { return new(loader).forecast })),
		specimen("hook-kept-apart", hooked(apart)),
		specimen("log-under-its-own-limit", logging(func(*logger) {})),
		specimen("log-beside-the-work", logging(func(l *logger) { l.beside = true })),
		specimen("audit-before-the-call", audited(auditBefore, func(*auditor) {})),
		specimen("audit-or-escalate", audited(auditAfter, func(*auditor) {})),
		specimen("audit-degraded", degraded()),
		specimen("read-through-cache", caching(func(*cache) {})),
		specimen("cache-by-the-whole-key", caching(func(c *cache) { c.units = true })),
		specimen("shared-request", joining(func(*flights) {})),
		specimen("watchdog-ends-the-attempt", agents(withoutAttempt(), failures(), leaves(true))),
		specimen("hedged-read", hedging(func(*hedger[forecast]) {})),
		specimen("hedged-payment", hedgedPayment(false)),
		specimen("goes-on-for-hours", agents(steady(), failures(), hours)),
		specimen("success-wins", contested(invariants.WinnerSuccess, patient)),
		specimen("cancel-wins", contested(invariants.WinnerCancel, cancelWins)),
		specimen("breaker-with-a-log", loggedBreaker()),
		specimen("counts-each-retry", tallying(func(*tallier) {})),
		specimen("counts-when-it-decides", tallying(func(c *tallier) { c.decides = true })),
		specimen("keeps-its-end", storing(keepsOnce)),
		specimen("http-quota", onRoute(webPolicy(), metered(), func(a *webAgent) { a.refused = readsQuota })),
		specimen("http-junk-hint", onRoute(webPolicy(), mumbling(), func(*webAgent) {})),
		specimen("counts-its-cost", metering(purse{})),
		specimen("full-jitter-spreads", spread(agents(jittered(8, invariants.FullJitter), throttling(), tryTimes(8, fullJitter)))),
		specimen("equal-jitter-spreads", spread(agents(jittered(8, invariants.EqualJitter), failures(), tryTimes(8, equalJitter)))),
		specimen("decorrelated-jitter-spreads", spread(built(jittered(6, invariants.DecorrelatedJitter), failures(), decorrelated))),
		specimen("cap-behind-the-jitter", spread(agents(capAfterJitter(), failures(), tryTimes(8, jitterThenCap)))),
		specimen("jitter-over-the-hint", spread(agents(overHints(), throttling(), hintsThen(over)))),
		specimen("fails-without-the-approved-tool", approving([]string{"weather"}, func(t stations) []tool { return []tool{t.weather} })),
		specimen("approved-alternative", approving([]string{"weather", "almanac"}, func(t stations) []tool { return []tool{t.weather, t.almanac} })),
		specimen("turn-handed-on", turning(func(*loopTurn) {})),
		specimen("turn-handed-on-with-the-last-failure", turning(func(l *loopTurn) { l.tells = true })),
		specimen("step-after-step", keepsAll()),
		specimen("each-tool-by-its-policy", reporter(tools3{mail: 1, archive: 5})),
		specimen("words-left-alone", heeding(invariants.AdviceIgnored, byCode)),
		specimen("final-words-heeded", heeding(invariants.AdviceStops, byCodeAndStop)),
		specimen("words-decide-both-ways", heeding(invariants.AdviceDecides, byFlag)),
		specimen("http-should-retry", shouldRetry()),
		specimen("retries-owned-by-class", split(tiers{})),
		specimen("session-of-calls", sharing(fewCalls, func(*session) {})),
		specimen("session-of-costs", sharing(someCost, func(*session) {})),
		specimen("session-of-time", sharing(someTime, func(*session) {})),
		specimen("http-broken-answer-asked-again", rereading(func() func(io.Reader, *forecast) error { return decodeAlone })),
		specimen("http-hour-by-hour", readsHourly()),
	}, rightLoops(), rightJobs(), rightDrains(), rightRecoveries())
}

// stopsAtHints is the right loop that gives up where the tool asks for more
// than ten seconds.
func stopsAtHints(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) || hinted(err) > 10*time.Second {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// An agent has its tool and its sleeper handed in, and a typed error.
type agent struct {
	tool  tool
	sleep trace.SleepFunc
}

func typed() faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: policy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			a := &agent{faultsim.Tool(s, "weather", sunny, throttling()), s.Sleeper()}
			return func(ctx context.Context) (any, error) { return a.forecast(ctx) }
		},
		Attempts: func(err error) int {
			if e, ok := errors.AsType[*countedError](err); ok {
				return e.attempts
			}
			return 0
		},
	}
}

func (a *agent) forecast(ctx context.Context) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, &countedError{n - 1, err}
		}
		f, err := once(ctx, a.tool, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, &countedError{n, err}
		}
		if err := a.sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, &countedError{n, err}
		}
		wait *= 2
	}
}

// bounded is a loop with a budget of three seconds, which it looks at before
// each wait.
func bounded(ctx context.Context, call tool) (forecast, error) {
	over := time.Now().Add(3 * time.Second)
	wait := time.Second
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == 5 || final(ctx, err) {
			return forecast{}, err
		}
		if time.Until(over) <= wait {
			return forecast{}, fmt.Errorf("out of time: %w", err)
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func saturates(n int) time.Duration {
	wait := 10 * time.Second
	for range n - 1 {
		if wait *= 2; wait >= time.Hour {
			return time.Hour
		}
	}
	return wait
}

// hours goes on until three hours are over, and looks at them before each wait.
func hours(ctx context.Context, call tool) (forecast, error) {
	over := time.Now().Add(3 * time.Hour)
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if final(ctx, err) {
			return forecast{}, err
		}
		if time.Until(over) <= doubled(n) {
			return forecast{}, fmt.Errorf("out of time: %w", err)
		}
		if err := sleep(ctx, doubled(n)); err != nil {
			return forecast{}, err
		}
	}
}

func interval(n int) time.Duration { return min(base<<(n-1), time.Second) }

func fullJitter(n int) time.Duration { return rand.N(interval(n) + 1) }

func equalJitter(n int) time.Duration { return interval(n)/2 + rand.N(interval(n)/2+1) }

func jitterThenCap(n int) time.Duration {
	return min(time.Second, time.Duration(float64(base<<(n-1))*(0.875+rand.Float64()/4)))
}

// decorrelated draws between the base and three times the wait before.
func decorrelated(*faultsim.Stage) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		wait := base
		return tryTimes(6, func(int) time.Duration {
			wait = min(time.Second, base+rand.N(3*wait-base+1))
			return wait
		})(ctx, call)
	}
}

// repeatsOnlyUndone repeats a payment only where it certainly was not made.
func repeatsOnlyUndone(b bank) action {
	return func(ctx context.Context) (receipt, error) {
		wait := time.Second
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return receipt{}, err
			}
			r, err := limited(ctx, func(ctx context.Context) (receipt, error) { return b(ctx, payment{Invoice: 7, Cents: 1900}) })
			if err == nil {
				return r, nil
			}
			if n == attempts || !errors.Is(err, errBankBusy) {
				return receipt{}, err
			}
			if err := sleep(ctx, wait); err != nil {
				return receipt{}, err
			}
			wait *= 2
		}
	}
}

func publishesOnce(ctx context.Context, call tool, tell publish) (f forecast, err error) {
	defer func() { tell(ctx, reason(ctx, err)) }()
	return patient(ctx, call)
}

// A pool serves several actions at once and counts them.
type pool struct {
	mu   sync.Mutex
	busy int
	seen map[string]int
}

func (p *pool) forecast(ctx context.Context, call tool) (forecast, error) {
	p.change(+1, "begun")
	defer p.change(-1, "done")
	return patient(ctx, call)
}

func (p *pool) change(by int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.busy += by
	p.seen[what]++
}

// turns lets one action at a time through.
type turns struct{ place chan struct{} }

func (q *turns) forecast(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	select {
	case q.place <- struct{}{}:
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
	defer func() { <-q.place }()
	return patient(ctx, call)
}

// collects runs the attempt in a goroutine, and takes its answer in any case.
func collects(ctx context.Context, call tool) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		f   forecast
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		f, err := call(ctx, pune)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.f, a.err
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
}
