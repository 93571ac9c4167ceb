package faultsim

import (
	"context"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// withTools is homeAdapter with further tools on the stage.
func withTools(names ...string) Adapter {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		for _, name := range append([]string{"weather"}, names...) {
			Tool[string, int](s, name, nil, Errors{trace.Transient: errBusy, trace.Invalid: errForbidden})
		}
		return func(context.Context) (any, error) { return nil, nil }
	}
	return a
}

func drawerOf(t *testing.T, a Adapter) *drawer {
	t.Helper()
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	return newDrawer(&a, tools)
}

// Whatever an adapter declares, and so whatever kind of schedule is drawn for it.
func TestAnotherToolMovesNothingOfTheOthers(t *testing.T) {
	reason := func(error) trace.Reason { return 0 }
	called := func(d *drawer) {
		d.served, d.repeats = &served{keys: []string{"a", "b"}, hasOther: true}, &invariants.Repeats{By: invariants.ByKey}
	}
	for name, x := range map[string]struct {
		adapter func(*Adapter)
		drawer  func(*drawer)
	}{
		"plain":     {},
		"breaker":   {adapter: breaking},
		"lease":     {adapter: func(a *Adapter) { breaking(a); a.Breaker.Lease = time.Minute }},
		"allowance": {adapter: func(a *Adapter) { a.Allowance, a.Reason = &invariants.Allowance{Calls: 5}, reason }},
		"spreads":   {adapter: func(a *Adapter) { a.Policy.Backoff.Jitter, a.Spreads = invariants.FullJitter, true }},
		"escalates": {adapter: func(a *Adapter) { a.EscalatesAfter, a.Reason = 3, reason }},
		"served":    {drawer: called},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(names ...string) *drawer {
				a := withTools(names...)
				if x.adapter != nil {
					x.adapter(&a)
				}
				d := drawerOf(t, a)
				if x.drawer != nil {
					x.drawer(d)
				}
				return d
			}
			two, three := with("news"), with("mail", "news")
			moved := 0
			for n := range 1_000 {
				s, more := two.draw(seeded(trialSeed(1, n))), three.draw(seeded(trialSeed(1, n)))
				require.Equal(t, s.AtOnce, more.AtOnce)
				require.Len(t, more.Actions, len(s.Actions))
				for i := range s.Actions {
					p, q := &s.Actions[i], &more.Actions[i]
					moved += number(len(q.Faults["mail"]) > 0)
					if q.hangs() && !p.hangs() {
						p.Cancel, p.Deadline = q.Cancel, q.Deadline // somebody has to end it
					}
					own := Plan{After: q.After, Key: q.Key, Other: q.Other, Cancel: q.Cancel, Deadline: q.Deadline, Faults: maps.Clone(q.Faults)}
					delete(own.Faults, "mail")
					require.Equal(t, *p, own, "trial %d", n)
				}
			}
			require.Greater(t, moved, 500, "the other tool fails too, and apart from them")
		})
	}
}

// A tool may have the name of anything else that is drawn.
func TestTheNameOfAToolIsOfNoOtherDecision(t *testing.T) {
	a := homeAdapter()
	a.Policy.MaxAttempts = 2 // so that a streak has one of four lengths, by two bits
	a.Subject = func(s *Stage) Action {
		Tool[string, int](s, "caller", nil, Errors{trace.Transient: errBusy, trace.Invalid: errForbidden})
		return func(context.Context) (any, error) { return nil, nil }
	}
	d := drawerOf(t, a)
	var streaks []int
	for n := range draws {
		if p := d.plan(seeded(trialSeed(1, n))); p.Deadline > 0 {
			streaks = append(streaks, len(p.Faults["caller"]))
		}
	}
	require.Less(t, uneven(streaks, func(n int) float64 { return within(n, 3) / 4 }), 1.0)
}

// An attempt more moves none of those before it.
func TestALongerStreakMovesNoAttempt(t *testing.T) {
	d := drawerOf(t, withTools())
	more := *d
	more.tools = append([]drawnTool(nil), d.tools...)
	more.tools[0].most++
	for n := range 2_000 {
		short, long := d.streak(seeded(uint64(n)), &d.tools[0]), more.streak(seeded(uint64(n)), &more.tools[0])
		both := min(len(short), len(long))
		require.Equal(t, short[:both], long[:both])
	}
}

func TestActionsAreDrawnApart(t *testing.T) {
	d := drawerOf(t, withTools())
	same, pairs := 0, 0
	for n := range 4_000 {
		s := d.draw(seeded(trialSeed(1, n)))
		if len(s.Actions) < 2 || len(s.Actions[0].Faults["weather"]) < 3 {
			continue
		}
		if pairs++; reflect.DeepEqual(s.Actions[0], s.Actions[1]) {
			same++
		}
	}
	require.Greater(t, pairs, 100)
	require.Less(t, same, pairs/20)
}

func TestStreamsOfASourceAreEvenAndApart(t *testing.T) {
	counts := map[uint64]int{}
	for n := range draws {
		t := seeded(trialSeed(1, n/4)).nth(n % 4).double("weather")
		counts[t.bits(3)<<3|t.bits(3)]++
	}
	require.Len(t, counts, 64)
	for _, n := range counts {
		rare(t, "six bits", n, draws, 1.0/64)
	}
}
