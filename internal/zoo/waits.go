package zoo

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

func waits() []Specimen {
	seeded := func(law func(*rand.Rand, int) time.Duration) func(*faultsim.Stage) ask {
		return func(*faultsim.Stage) ask {
			r := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex // actions at once draw from it
			return tryTimes(8, func(n int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return law(r, n)
			})
		}
	}
	return []Specimen{
		{"waits-first", "The wait stands at the head of the loop, and the first attempt is late.",
			testingRetries, "no-first-delay", weather(waitsFirst)},
		{"eases-in", "The agent pauses before its first attempt, to be gentle to the service.",
			testingRetries, "no-first-delay", weather(easesIn)},
		{"waits-after-the-last", "The wait stands at the foot of the loop, and a failure is told late.",
			testingRetries, "no-last-delay", weather(waitsLast)},
		{"no-wait", "The next attempt follows at once.",
			threeLayer, "waits-in-window", weather(tryTimes(attempts, func(int) time.Duration { return 0 }))},
		{"milliseconds-without-a-unit", "The number of milliseconds is made a duration without its unit.",
			"F009", "waits-in-window", weather(tryTimes(attempts, func(n int) time.Duration { return time.Duration(100 << (n - 1)) }))},
		{"linear-growth", "The wait grows by its base instead of doubling.",
			handling, "waits-in-window", agents(tries(4), failures(), tryTimes(4, func(n int) time.Duration { return time.Duration(n) * base }))},
		{"wait-declared-in-the-loop", "The wait is set up inside the loop, and its doubling is lost.",
			handling, "waits-in-window", weather(forgetsGrowth)},
		{"exponent-off-by-one", "The exponent counts from one, and every wait is twice as long.",
			testingRetries, "waits-in-window", weather(tryTimes(attempts, func(n int) time.Duration { return base << n }))},
		{"no-cap", "The cap is in the configuration, and nobody reads it.",
			toolErrors, "waits-in-window", agents(capped(8, base, time.Second), failures(), tryTimes(8, func(n int) time.Duration { return base << (n - 1) }))},
		{"failures-counted-in-a-byte", "The number of failures is kept in a byte of the record, and after 256 of them the wait begins anew.",
			"F005", "waits-in-window", agents(steady(), failures(), tryTimes(0, inByte))},
		{"shift-overflow", "The doubled wait overflows after many failures, and its cap no longer holds it.",
			"F005", "waits-in-window", agents(capped(40, 10*time.Second, time.Hour), failures(), tryTimes(40, overflows))},
		{"cap-before-jitter", "The cap is applied before the jitter, and waits exceed it.",
			"F006", "waits-in-window", built(capAfterJitter(), failures(), seeded(func(r *rand.Rand, n int) time.Duration {
				return time.Duration(float64(min(base<<(n-1), time.Second)) * (0.875 + r.Float64()/4))
			}))},
		{"jitter-added-to-the-wait", "Full jitter is added to the wait instead of taken out of it.",
			toolErrors, "waits-in-window", built(jittered(8, invariants.FullJitter), failures(), seeded(func(r *rand.Rand, n int) time.Duration {
				return base<<(n-1) + time.Duration(r.Int64N(int64(base)))
			}))},
		{"backoff-shared-by-actions", "One backoff object serves the whole agent, and an action begins where the one before it stopped.",
			"F082", "waits-in-window", built(policy(), failures(), func(*faultsim.Stage) ask {
				b := &sharedBackoff{next: base}
				return b.forecast
			})},
	}
}

func capped(n int, first, most time.Duration) invariants.Policy {
	return with(func(p *invariants.Policy) { p.MaxAttempts, p.Backoff = n, invariants.Backoff{Base: first, Cap: most} })
}

func jittered(n int, j invariants.Jitter) invariants.Policy {
	p := capped(n, base, time.Second)
	p.Backoff.Jitter = j
	return p
}

func capAfterJitter() invariants.Policy {
	p := jittered(8, invariants.Between(0.875, 1.125))
	p.Backoff.CapIs = invariants.CapAfter
	return p
}

// tryTimes is the right loop with n attempts and a law for its waits.
func tryTimes(most int, law func(n int) time.Duration) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			if n == most || final(ctx, err) {
				return forecast{}, err
			}
			if err := sleep(ctx, max(law(n), hinted(err))); err != nil {
				return forecast{}, err
			}
		}
	}
}

func overflows(n int) time.Duration {
	wait := min(10*time.Second<<(n-1), time.Hour)
	return wait
}

// steady is the contract of an agent that goes on for hours.
func steady() invariants.Policy {
	p := capped(invariants.Unlimited, 10*time.Millisecond, time.Second)
	p.Budget = 3 * time.Hour
	return p
}

// doubled is the wait after n failures.
func doubled(n int) time.Duration {
	wait := 10 * time.Millisecond
	for range min(n-1, 7) {
		wait *= 2
	}
	return min(wait, time.Second)
}

func inByte(n int) time.Duration { return doubled(int(uint8(n-1)) + 1) }

func easesIn(ctx context.Context, call tool) (forecast, error) {
	if err := sleep(ctx, 20*time.Millisecond); err != nil {
		return forecast{}, err
	}
	return patient(ctx, call)
}

func waitsFirst(ctx context.Context, call tool) (f forecast, err error) {
	wait := base
	for range attempts {
		if slept := sleep(ctx, wait); slept != nil {
			return forecast{}, slept
		}
		if f, err = once(ctx, call, pune); err == nil || final(ctx, err) {
			return f, err
		}
		wait *= 2
	}
	return forecast{}, err
}

func waitsLast(ctx context.Context, call tool) (f forecast, err error) {
	wait := base
	for range attempts {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		if f, err = once(ctx, call, pune); err == nil || final(ctx, err) {
			return f, err
		}
		if slept := sleep(ctx, wait); slept != nil {
			return forecast{}, slept
		}
		wait *= 2
	}
	return forecast{}, err
}

func forgetsGrowth(ctx context.Context, call tool) (forecast, error) {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		wait := base
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// sharedBackoff keeps its state for all actions of an agent.
type sharedBackoff struct {
	mu   sync.Mutex
	next time.Duration
}

func (b *sharedBackoff) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.next
	b.next *= 2
	return d
}

func (b *sharedBackoff) forecast(ctx context.Context, call tool) (forecast, error) {
	return tryTimes(attempts, func(int) time.Duration { return b.wait() })(ctx, call)
}
