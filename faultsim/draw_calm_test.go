package faultsim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// stormy draws schedules whose faults never stop, to compare what else is drawn.
func stormy(a *Adapter, tools []*tool) *rapid.Generator[Schedule] {
	d := newDrawer(a, tools)
	d.stormy = true
	return d.schedules()
}

// The faults of one schedule in eight stop, with actions behind them, and no other
// draw depends on it.
func TestACalmIsDrawnBehindAllElse(t *testing.T) {
	a := homeAdapter()
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	with, without := newDrawer(&a, tools).schedules(), stormy(&a, tools)
	calms := 0
	for seed := 1; seed <= 1000; seed++ {
		s, want := with.Example(seed), without.Example(seed)
		if s.Calm > 0 {
			calms++
			behind := s.Actions[len(want.Actions):]
			require.Condition(t, func() bool { return len(behind) >= 1 && len(behind) <= 3 })
			for i := range behind {
				require.Empty(t, behind[i].Faults)
				require.Positive(t, behind[i].After)
			}
		}
		s.Calm, s.Actions = 0, s.Actions[:len(want.Actions)]
		require.Equal(t, want, s)
	}
	require.InDelta(t, 125, calms, 40)
}

// Actions behind the calm come just before and just behind the end of what the code may
// hold against the tool.
func TestActionsComeAroundTheCooldown(t *testing.T) {
	a := homeAdapter()
	a.Reason = func(error) trace.Reason { return 0 }
	a.Breaker = &invariants.Breaker{Consecutive: 3, Cooldown: 30 * time.Second}
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	var before, behind int
	for seed := 1; seed <= 1000; seed++ {
		if s := gen.Example(seed); s.Calm > 0 {
			switch last := s.Actions[len(s.Actions)-1].After; {
			case last >= 30*time.Second-100 && last <= 30*time.Second:
				before++
			case last > 30*time.Second && last <= 31*time.Second+100:
				behind++
			}
		}
	}
	require.Positive(t, before)
	require.Positive(t, behind)
}

// Policies that wait for months are played within the year that a trial has.
func TestWhatIsDrawnForALongPolicyCanBePlayed(t *testing.T) {
	for name, edit := range map[string]func(*Adapter){
		"base":    func(a *Adapter) { a.Policy.Backoff.Base, a.Policy.Backoff.Factor = longestPromise, 1 },
		"attempt": func(a *Adapter) { a.Policy.Attempt = longestPromise },
		"hint":    func(a *Adapter) { a.Policy.Hint.Limit = longestPromise },
		"budget":  func(a *Adapter) { a.Policy.Budget = longestPromise },
	} {
		for _, s := range drawn(t, 1000, edit) {
			require.LessOrEqual(t, s.Calm, longestTime, name)
			for i := range s.Outages {
				require.NoError(t, s.Outages[i].validate(), name)
			}
		}
	}
}
