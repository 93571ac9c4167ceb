package zoo

import (
	"context"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

func hints() []Specimen {
	return []Specimen{
		{"hint-ignored", "The tool's own wait is not read, and the agent comes back too early.",
			"F009", "hint-honoured", throttled(policy(), func(wait, _ time.Duration) time.Duration { return wait })},
		{"hint-undercut-by-jitter", "The jitter is applied to the hint as well, and undercuts it.",
			"F007", "hint-honoured", throttled(policy(), func(wait, hint time.Duration) time.Duration {
				if hint > wait {
					return hint - hint/10
				}
				return wait
			})},
		{"hint-clamped", "A hint above the limit is cut to the limit, although the agent promises to stop.",
			"F012", "hint-honoured", throttled(stopping(), func(wait, hint time.Duration) time.Duration { return max(wait, min(hint, 10*time.Second)) })},
		{"hint-without-limit", "The hint goes past the limit of the waits, and one bad header parks the agent.",
			"F012", "conforms", throttled(stopping(), func(wait, hint time.Duration) time.Duration { return max(wait, hint) })},
		{"hint-replaces-the-longer-wait", "A hint shorter than the own backoff replaces it.",
			"F009", "waits-in-window", throttled(slow(), func(wait, hint time.Duration) time.Duration {
				if hint > 0 {
					return hint
				}
				return wait
			})},
		{"hint-resets-the-backoff", "A hint starts the backoff anew, and a throttling tool is asked ever as often.",
			"rule 4", "waits-in-window", agents(policy(), throttling(), resetsOnHint)},
	}
}

// stopping is the contract of an agent that stops at hints above ten seconds.
func stopping() invariants.Policy {
	return with(func(p *invariants.Policy) { p.Hint.Limit = 10 * time.Second })
}

// slow is a contract whose backoff is longer than the usual hint.
func slow() invariants.Policy {
	return with(func(p *invariants.Policy) { p.Backoff.Base = 4 * time.Second })
}

// throttled plugs in the right loop with a law that combines wait and hint.
func throttled(p invariants.Policy, law func(wait, hint time.Duration) time.Duration) faultsim.Adapter {
	return agents(p, throttling(), func(ctx context.Context, call tool) (forecast, error) {
		wait := p.Backoff.Base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			if n == attempts || final(ctx, err) {
				return forecast{}, err
			}
			if err := sleep(ctx, law(wait, hinted(err))); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
	})
}

func resetsOnHint(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		pause := wait
		wait *= 2
		if hint := hinted(err); hint > pause {
			pause, wait = hint, base
		}
		if err := sleep(ctx, pause); err != nil {
			return forecast{}, err
		}
	}
}
