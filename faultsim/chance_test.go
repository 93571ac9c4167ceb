package faultsim

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// judgedBy is the home adapter, whose trials run one at a time, with a rule that is
// broken where broken says so.
func judgedBy(broken func(*trace.Trace) bool) Adapter {
	a := homeAdapter()
	a.Serial, a.Unseeded = true, true
	a.Invariants = []invariants.Invariant{{Name: "dice", Rule: "the dice are kind", Check: func(tr *trace.Trace) (v invariants.Verdict) {
		if v.Applied = 1; broken(tr) {
			v.Findings = []invariants.Finding{{Text: "they are not"}}
		}
		return v
	}}}
	return a
}

// A hundred runs in a row fail by luck once in thirty-eight thousand times where nine of
// ten do, and once in a hundred and seventy where nineteen of twenty do. There must not
// be several such chances.
func TestAVerdictOfChanceIsSeldomTakenForCertain(t *testing.T) {
	n := 40
	if raceEnabled {
		n = 8
	}
	for _, rate := range []float64{0.9, 0.95} {
		dice, certain := rand.New(rand.NewPCG(1, 2)), 0
		a := judgedBy(func(*trace.Trace) bool { return dice.Float64() < rate })
		for range n {
			o, err := Explore(t, a)
			require.NoError(t, err)
			require.NotEmpty(t, o.Findings)
			require.Equal(t, "dice", o.Invariant())
			if o.Rate == 1 {
				certain++
				continue
			}
			require.InDelta(t, rate, o.Rate, 0.15)
		}
		require.LessOrEqual(t, certain, 2, "where %v of the runs fail", rate)
	}
}

// The rate is that of as many runs as are asked for.
func TestRateIsOfTheRunsThatAreAskedFor(t *testing.T) {
	t.Setenv("REHEARSE_RERUNS", "30")
	dice := rand.New(rand.NewPCG(1, 2))
	a := judgedBy(func(*trace.Trace) bool { return dice.Float64() < 0.5 })
	for range 10 {
		o, err := Explore(t, a)
		require.NoError(t, err)
		require.Less(t, o.Rate, 1.0)
		require.InDelta(t, math.Round(o.Rate*30), o.Rate*30, 1e-9)
	}
	c := newCheck(t, &a, settings{reruns: 30})
	runs := c.compared(new(One()), "dice")
	require.Equal(t, 30, runs.runs)
}

// Few reruns say less, and nothing that is not so.
func TestFewRerunsDoNotContradictThemselves(t *testing.T) {
	for _, rate := range []float64{0.5, 0.95} {
		dice := rand.New(rand.NewPCG(1, 2))
		a := judgedBy(func(*trace.Trace) bool { return dice.Float64() < rate })
		for range 40 {
			c := newCheck(t, &a, settings{trials: 100, seed: 1, reruns: reruns})
			f, err := c.search()
			require.NoError(t, err)
			c.minimise(f)
			if certain := f.rate == 1; !certain {
				require.Empty(t, c.elsewhere(f), "it fails by chance, and not by what was before")
				c.settle(f)
				require.Regexp(t, `^not deterministic: .*; fails in ([1-9]|1\d|2\d|3\d) of (20|40) runs$`, c.tell(&f.runs))
			}
		}
	}
}

// What shows that the smallest schedule always fails takes nothing from the search for it.
func TestRerunsAreNotCountedAsShrinking(t *testing.T) {
	a := judgedBy(func(*trace.Trace) bool { return true })
	c := newCheck(t, &a, settings{trials: 100, seed: 1, reruns: 300})
	f, err := c.search()
	require.NoError(t, err)
	c.enough, c.stop = c.played+10, time.Now().Add(time.Minute)
	left, until := c.enough-c.played, c.stop
	require.True(t, c.replace(f, f.s, "dice"))
	require.GreaterOrEqual(t, c.enough-c.played, left-1, "but for the one that is shown")
	require.True(t, c.stop.After(until))
}

// Of a hundred seeds one seems to break a rule each time that is broken by chance. That
// is no seed to save.
func TestASeedThatDecidesNothingIsNotSaved(t *testing.T) {
	for _, rate := range []float64{0.8, 0.95} {
		dice := rand.New(rand.NewPCG(1, 2))
		a := judgedBy(func(*trace.Trace) bool { return dice.Float64() < rate })
		a.Unseeded = false
		for range 8 {
			o, err := Explore(t, a)
			require.NoError(t, err)
			require.Contains(t, []uint64{0, uint64(o.Trial)}, o.Schedule.Seed, "the trial's own, or none")
			require.Less(t, o.Rate, 1.0)
		}
	}
}

// Steps that hold by chance lead to a schedule that does not always fail: then they are
// taken with more care.
func TestChanceOnTheWayToTheSmallest(t *testing.T) {
	var judged atomic.Int64
	a := judgedBy(func(tr *trace.Trace) bool {
		n := len(tr.Actions()[0].Attempts)
		return n > 2 || n == 2 && judged.Add(1)%4 == 0
	})
	for range 10 {
		o, err := Explore(t, a)
		require.NoError(t, err)
		require.Equal(t, 1.0, o.Rate)
		require.Len(t, o.Trace.Actions()[0].Attempts, 3, "%s", o.Schedule)
		require.Len(t, o.Schedule.Actions[0].Faults["weather"], 2, "%s", o.Schedule)
	}
}

// The caller leaves, and the answer comes, at one instant.
func TestATieIsOneForEitherTrace(t *testing.T) {
	a := judgedBy(func(*trace.Trace) bool { return true })
	a.Unseeded = false
	c := newCheck(t, &a, settings{})
	s, err := Parse(scheduleHeader + "\naction cancel=1s\n weather 1 ok after=1s\n")
	require.NoError(t, err)
	require.Equal(t, moreReruns, untilTie(t, c, &s, "dice").runs)
}

// A rule that is made of others says which of them.
func TestFindingsBearTheNameOfTheirRule(t *testing.T) {
	a := loopAdapter(loop{attempts: 4})
	policy := a.Policy
	a.Invariants = []invariants.Invariant{{Name: "our-contract", Rule: "what we have agreed", Check: func(tr *trace.Trace) invariants.Verdict {
		return invariants.Verdict{Applied: 1, Findings: invariants.Find(tr, policy.Invariants()...)}
	}}}
	o, err := Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, 1.0, o.Rate)
	require.Equal(t, "our-contract", o.Invariant())
	require.Equal(t, "attempts-bounded: 4 attempts of weather, at most 3 are allowed", o.Findings[0].Text)
	require.Len(t, o.Schedule.Actions[0].Faults["weather"], 3)
}

// What did not hold before a step seldom holds behind it.
func TestShrinkingGoesOnWhereItWas(t *testing.T) {
	a := judgedBy(func(tr *trace.Trace) bool { return len(tr.Actions()[0].Attempts) >= 16 })
	a.Policy.MaxAttempts = 17
	a.Subject = loopAdapter(loop{attempts: 17}).Subject
	c := newCheck(t, &a, settings{})
	require.NoError(t, c.prepare())
	s := One()
	for n := range 16 {
		f := Fail(trace.Transient)
		f.Latency = time.Duration(n+1) * time.Millisecond
		s.Actions[0].Faults[Main] = append(s.Actions[0].Faults[Main], f)
	}
	c.enough, c.stop = shrinkRuns, time.Now().Add(time.Minute)
	small := c.shrink(s, "dice", 1)
	require.Len(t, small.Actions[0].Faults[Main], 15)
	for _, f := range small.Actions[0].Faults[Main] {
		require.Zero(t, f.Latency)
	}
	require.Less(t, c.played, 30, "46 where each step begins anew")
}

// What breaks the catch-all alone because its caller leaves is told by what it breaks
// where the caller stays.
func TestAnAttemptTooManyIsToldThoughItsCallerLeft(t *testing.T) {
	a := loopAdapter(loop{attempts: 4})
	c := newCheck(t, &a, settings{trials: 1})
	require.NoError(t, c.prepare())
	s, err := Parse(scheduleHeader + "\naction\n weather 1 transient\n weather 2 transient\n weather 3 transient cancel=1ns\n")
	require.NoError(t, err)
	r := c.trial(&s)
	require.Equal(t, []string{catchAll}, names(r.found))
	f := failure{s: s, r: r, rate: 1}
	c.minimise(&f)
	require.Equal(t, "attempts-bounded", f.name, "%s", f.s)
}
