package zoo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

func spreading() []Specimen {
	full := jittered(8, invariants.FullJitter)
	return []Specimen{
		{"jitter-seeded-alike", "Each caller makes its own source of random numbers, and all seed it with the same constant.",
			toolErrors, "jitter-spreads", spread(agents(full, failures(), seedsAlike))},
		{"jitter-drawn-once", "The jitter is drawn where the client is made, and every wait of every caller is stretched alike.",
			handling, "jitter-spreads", unseeded(spread(built(full, failures(), drawsOnce)))},
		{"jitter-gone-at-the-cap", "Once the cap is reached the cap is returned as it is, and all callers meet there.",
			"F007", "jitter-spreads", unseeded(spread(agents(jittered(8, invariants.EqualJitter), failures(), tryTimes(8, jitterBelowCap))))},
		{"hints-in-step", "The own wait has jitter, the one that the tool asks for has none, and all come back at its end.",
			"F007", "jitter-spreads", spread(agents(overHints(), throttling(), hintsThen(func(hint time.Duration) time.Duration { return hint })))},
	}
}

// spread says that the jitter differs between callers.
func spread(a faultsim.Adapter) faultsim.Adapter {
	a.Spreads = true
	return a
}

// overHints is a contract in which jitter is added to what the tool asks for.
func overHints() invariants.Policy {
	p := jittered(4, invariants.FullJitter)
	p.Hint.Jitter = 0.2
	return p
}

func seedsAlike(ctx context.Context, call tool) (forecast, error) {
	r := rand.New(rand.NewPCG(1, 2))
	return tryTimes(8, func(n int) time.Duration { return time.Duration(r.Int64N(int64(interval(n)) + 1)) })(ctx, call)
}

func drawsOnce(*faultsim.Stage) ask {
	stretch := rand.Float64()
	return tryTimes(8, func(n int) time.Duration { return time.Duration(stretch * float64(interval(n))) })
}

// jitterBelowCap is equal jitter that nobody adds once the cap is reached.
func jitterBelowCap(n int) time.Duration {
	if interval(n) == time.Second {
		return time.Second
	}
	return equalJitter(n)
}

// hintsThen is a loop of four attempts that waits by the law where the tool asks
// for a wait, or as long as its own full jitter says, whichever is longer.
func hintsThen(law func(hint time.Duration) time.Duration) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			if n == 4 || final(ctx, err) {
				return forecast{}, err
			}
			wait := fullJitter(n)
			if hint := hinted(err); hint > 0 {
				wait = max(wait, law(hint))
			}
			if err := sleep(ctx, wait); err != nil {
				return forecast{}, err
			}
		}
	}
}

// over adds up to a fifth to the tool's own wait.
func over(hint time.Duration) time.Duration { return hint + rand.N(hint/5+1) }
