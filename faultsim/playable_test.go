package faultsim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// What is sound as a policy can be more than a trial plays.
func TestAPolicyThatNoTrialCanPlayIsRefused(t *testing.T) {
	const years = 3 * 365 * 24 * time.Hour
	for want, change := range map[string]func(*invariants.Policy){
		"Attempt: is 26280h0m0s, and a trial plays 1095h0m0s":           func(p *invariants.Policy) { p.Attempt = years },
		"Budget: is 26280h0m0s":                                         func(p *invariants.Policy) { p.Budget = years },
		"Backoff.Base: is 26280h0m0s":                                   func(p *invariants.Policy) { p.Backoff = invariants.Backoff{Base: years} },
		"Backoff.Delays: is 26280h0m0s":                                 func(p *invariants.Policy) { p.Backoff = invariants.Backoff{Delays: []time.Duration{1, years}} },
		"Backoff: makes waits of":                                       func(p *invariants.Policy) { p.Backoff.Factor = 1e300 },
		"Backoff: makes the waits of one action longer than 4380h0m0s":  func(p *invariants.Policy) { p.MaxAttempts, p.Backoff = 64, invariants.Backoff{Base: time.Second} },
		"Hint.Limit: is 26280h0m0s":                                     func(p *invariants.Policy) { p.Hint.Limit = years },
		"MaxAttempts: is 9223372036854775807, and a trial plays 100000": func(p *invariants.Policy) { p.MaxAttempts, p.Backoff = math.MaxInt, invariants.Backoff{} },
		`policy "loop": Tools["other"].Attempt: is 26280h0m0s`: func(p *invariants.Policy) {
			p.Tools = map[string]invariants.Policy{"other": {MaxAttempts: 1, Attempt: years}}
		},
		"Hedge.After: is 26280h0m0s, and a trial plays 1095h0m0s at most:": func(p *invariants.Policy) { p.Hedge, p.Attempt = invariants.Hedge{After: years, Max: 2}, 0 },
	} {
		p := invariants.Policy{ID: "loop", MaxAttempts: 3, Repeatable: true, Retry: []trace.Class{trace.Transient}, Backoff: invariants.Backoff{Base: 100 * time.Millisecond}}
		change(&p)
		require.NoError(t, p.Validate(), want)
		a := homeAdapter()
		a.Policy = p
		require.ErrorContains(t, a.validate(), want)
	}
}

// An attempt of a few nanoseconds leaves no room before its end.
func TestDrawnTimesAreNeverNegative(t *testing.T) {
	for _, s := range drawn(t, 300, func(a *Adapter) { a.Policy.Attempt = 1 }) {
		for _, p := range s.Actions {
			for _, faults := range p.Faults {
				for _, f := range faults {
					require.NoError(t, f.validate(), s)
				}
			}
		}
	}
}

// What is declared beside the policy has bounds as well.
func TestAContractThatNoTrialCanPlayIsRefused(t *testing.T) {
	const years = 3 * 365 * 24 * time.Hour
	door := func(change func(*invariants.Breaker)) func(*Adapter) {
		return func(a *Adapter) {
			b := invariants.Breaker{Consecutive: 2, Cooldown: time.Second}
			change(&b)
			a.Breaker, a.Reason = &b, func(error) trace.Reason { return trace.ReasonBreakerOpen }
		}
	}
	for want, change := range map[string]func(*Adapter){
		"breaker: Cooldown is 26280h0m0s":             door(func(b *invariants.Breaker) { b.Cooldown = years }),
		"breaker: Lease is 26280h0m0s":                door(func(b *invariants.Breaker) { b.Lease = years }),
		"breaker: Consecutive is 9223372036854775807": door(func(b *invariants.Breaker) { b.Consecutive = math.MaxInt }),
		"breaker: Probes is 9223372036854775807":      door(func(b *invariants.Breaker) { b.Probes = math.MaxInt }),
		"breaker: Successes is 9223372036854775807":   door(func(b *invariants.Breaker) { b.Successes = math.MaxInt }),
		"Pages is 9223372036854775807":                func(a *Adapter) { a.Pages = math.MaxInt },
	} {
		a := homeAdapter()
		change(&a)
		require.ErrorContains(t, a.validate(), want)
	}
	for want, s := range map[string]Schedule{
		"an outage of *: To is 26280h0m0s": {Outages: []Outage{{Tool: Main, To: years, Class: trace.Transient}}},
		"a quota of *: Per is 26280h0m0s":  {Quotas: []Quota{{Tool: Main, N: 1, Per: years}}},
	} {
		require.ErrorContains(t, Trial(t, homeAdapter(), s).Err, want)
	}
	for want, change := range map[string]func(*Served[string, string]){
		"repeats: Retention or Lease is 26280h0m0s": func(v *Served[string, string]) { v.Repeats.Retention = years },
		`repeats: Key: is "a..b"`:                   func(v *Served[string, string]) { v.Repeats.Key = "a..b" },
	} {
		v := Served[string, string]{Name: "label", Args: "x", Subject: func(*Stage) Serve[string, string] { return nil }}
		change(&v)
		a := v.Adapter()
		require.ErrorContains(t, a.validate(), want)
		require.NotContains(t, a.validate().Error(), "one try below", "the policy is none of the tool's")
	}
}

// What very many actions can use up together is no number that turns negative.
func TestAnAllowanceOfVeryManyActions(t *testing.T) {
	a := homeAdapter()
	a.Reason = func(error) trace.Reason { return 0 }
	a.Policy.MaxAttempts, a.Policy.Attempt = 16, 2*time.Hour
	for _, al := range []invariants.Allowance{{Time: time.Hour}, {Cost: 1 << 50, Prices: map[string]int{"weather": 1 << 50}}} {
		a.Allowance = &al
		require.NoError(t, a.validateFor(mostAgents))
	}
}
