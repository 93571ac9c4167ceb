package faultsim

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func breaking(a *Adapter) {
	a.Breaker = &invariants.Breaker{Consecutive: 5, Cooldown: 30 * time.Second}
	a.Reason = func(error) trace.Reason { return 0 }
}

func TestOutagesAreDrawnForABreakerOnly(t *testing.T) {
	for _, s := range drawn(t, 2_000, func(*Adapter) {}) {
		require.LessOrEqual(t, len(s.Actions), drawnAtOnce)
		for _, p := range s.Actions {
			require.Zero(t, p.After)
		}
	}
	long, paused, atOnce := 0, map[string]int{}, 0
	for _, s := range drawn(t, 2_000, breaking) {
		require.LessOrEqual(t, len(s.Actions), breakerActions)
		require.Zero(t, s.Actions[0].After)
		if len(s.Actions) > drawnAtOnce {
			long++
			if s.AtOnce {
				atOnce++
			}
		}
		for _, p := range s.Actions {
			switch {
			case p.After == 0:
			case p.After < 30*time.Second:
				paused["within the cooldown"]++
			default:
				paused["behind it"]++
			}
		}
	}
	require.Greater(t, long, 800)
	require.Greater(t, atOnce, 100)
	require.Greater(t, paused["within the cooldown"], 500)
	require.Greater(t, paused["behind it"], 500)
}

// Where only a budget bounds the attempts, what counts failures sees many all the same.
func TestWithoutALimitManyAttemptsFail(t *testing.T) {
	for name, edit := range map[string]func(*Adapter){
		"breaker":    breaking,
		"allowance":  func(a *Adapter) { a.Allowance = &invariants.Allowance{Calls: 10} },
		"escalation": func(a *Adapter) { a.EscalatesAfter = 3 },
		"waves":      func(a *Adapter) { a.Spreads = true },
	} {
		many := 0
		for _, s := range drawn(t, 500, func(a *Adapter) {
			a.Policy.MaxAttempts, a.Policy.Budget = invariants.Unlimited, time.Minute
			edit(a)
		}) {
			if slices.ContainsFunc(s.Actions, func(p Plan) bool { return len(p.Faults["weather"]) == 16 }) {
				many++
			}
		}
		require.Greater(t, many, 20, name)
	}
}

// begins lists the instants at which the actions begin.
func begins(t *testing.T, text string) []time.Duration {
	t.Helper()
	s, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, s.String())
	var list []time.Duration
	r := Trial(t, homeAdapter(), s)
	require.NoError(t, r.Err)
	for _, a := range r.Trace.Actions() {
		list = append(list, a.Begin)
	}
	return list
}

func TestAPausePrecedesItsAction(t *testing.T) {
	require.Equal(t, []time.Duration{0, 30*time.Second + 200*time.Millisecond},
		begins(t, "rehearse schedule 1\naction after=1s\n  weather 1 ok after=200ms\naction after=30s\n"))
	require.Equal(t, []time.Duration{0, 30*time.Second + 3, 30*time.Second + 6},
		begins(t, "rehearse schedule 1\naction\n  weather 1 ok after=200ms\naction after=30s\naction\nat-once\n"))
}

func TestANegativePauseIsUnplayable(t *testing.T) {
	r := Trial(t, homeAdapter(), Schedule{Actions: []Plan{{After: -1}}})
	require.ErrorContains(t, r.Err, "the pause before action 1 is -1ns")
}

func TestABreakerNeedsAReasonAndAThreshold(t *testing.T) {
	a := homeAdapter()
	a.Breaker = &invariants.Breaker{Consecutive: 5, Cooldown: time.Second}
	require.ErrorContains(t, a.validate(), "Reason is nil")
	breaking(&a)
	a.Breaker.Cooldown = 0
	require.ErrorContains(t, a.validate(), "breaker: Cooldown")
	a.Breaker.Cooldown = 1 << 62
	require.ErrorContains(t, a.validate(), "breaker: Cooldown is")
}

func TestABreakerGuardsToolsOfTheStage(t *testing.T) {
	for field, b := range map[string]invariants.Breaker{"Tool": {Tool: "wether"}, "Fallback": {Fallback: "wether"}} {
		a := homeAdapter()
		breaking(&a)
		b.Consecutive, b.Cooldown = 5, time.Second
		a.Breaker = &b
		want := "faultsim: breaker: " + field + ` is "wether", the stage has "weather": correct the name, or leave it empty`
		require.EqualError(t, Trial(t, a, One()).Err, want)
		_, err := Explore(t, a)
		require.EqualError(t, err, want)
	}
}

// The clock of a trial ends in the year 2262.
func TestPausesEndBeforeTheClockDoes(t *testing.T) {
	s := Schedule{Actions: []Plan{{After: 1 << 62}}}
	require.ErrorContains(t, Trial(t, homeAdapter(), s).Err, "After is 1281023h53m38.427387904s before action 1")
	s.Actions = slices.Repeat([]Plan{{After: longestTime}}, 300)
	require.ErrorContains(t, Trial(t, homeAdapter(), s).Err, "before action 25")
	s.Actions = s.Actions[:3]
	require.NoError(t, Trial(t, homeAdapter(), s).Err)
}

// F052: fifty callers come in the instant in which the cooldown is over, and
// the tool hangs.
func TestOneOfFiftyCallersProbes(t *testing.T) {
	errOpen := errors.New("open")
	for name, careless := range map[string]bool{"a probe": false, "everybody": true} {
		t.Run(name, func(t *testing.T) {
			a := homeAdapter()
			a.Policy.MaxAttempts, a.Policy.Attempt = 1, 30*time.Second
			a.Breaker = &invariants.Breaker{Consecutive: 1, Cooldown: 10 * time.Second}
			a.Reason = func(err error) trace.Reason {
				if err == errOpen {
					return trace.ReasonBreakerOpen
				}
				return 0
			}
			a.Subject = func(s *Stage) Action {
				tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy})
				b := &switchboard{careless: careless}
				return func(ctx context.Context) (any, error) {
					if !b.enter() {
						return nil, errOpen
					}
					ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
					defer cancel()
					out, err := tool(ctx, "Pune")
					b.leave(err)
					return out, err
				}
			}
			s := Schedule{AtOnce: true, Actions: make([]Plan, 51)}
			s.Actions[0].Faults = map[string][]Fault{Main: {Fail(trace.Transient)}}
			s.Actions[1].After = 10*time.Second + 1
			for i := range 50 {
				s.Actions[i+1].Faults = map[string][]Fault{Main: {{Hang: true}}}
			}
			r := Trial(t, a, s)
			require.NoError(t, r.Err)
			if careless {
				require.NotEmpty(t, r.Findings)
				require.Equal(t, "circuit-breaker", r.Findings[0].Invariant)
				require.Contains(t, r.Findings[0].Text, "1 of 1 probes")
				return
			}
			require.Empty(t, r.Findings)
		})
	}
}

func nineteen(context.Context, string) (int, error) { return 19, nil }

// A switchboard is a breaker that opens at the first failure.
type switchboard struct {
	careless bool
	mu       sync.Mutex
	since    time.Time // zero: closed
	probing  bool
}

func (b *switchboard) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.since.IsZero():
		return true
	case time.Since(b.since) < 10*time.Second, b.probing && !b.careless:
		return false
	}
	b.probing = true
	return true
}

func (b *switchboard) leave(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing, b.since = false, time.Time{}
	if err != nil {
		b.since = time.Now()
	}
}
