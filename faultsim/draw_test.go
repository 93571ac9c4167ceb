package faultsim

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/trace"
)

const draws = 20_000

// drawn draws as Check does, for a tool that can fail in every way.
func drawn(t *testing.T, n int, change func(*Adapter)) []Schedule {
	t.Helper()
	a := homeAdapter()
	a.Policy.Retry = append(a.Policy.Retry, trace.Throttled)
	errs := Errors{trace.Throttled: Hinted(func(time.Duration) error { return errBusy })}
	for _, c := range trace.Classes() {
		if c != trace.OK && c != trace.Cancelled && c != trace.Throttled {
			errs[c] = errForbidden
		}
	}
	a.Subject = func(s *Stage) Action {
		Tool[string, int](s, "weather", nil, errs)
		return func(ctx context.Context) (any, error) { return nil, nil }
	}
	change(&a)
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	d := newDrawer(&a, tools)
	d.stormy = true
	list := make([]Schedule, n)
	for i := range list {
		list[i] = d.draw(seeded(trialSeed(nameSeed(t.Name()), i)))
	}
	return list
}

// swarmed is the share of schedules that have a kind of fault on: all that have
// them all, and half of the others.
const swarmed = 3.0 / 4

// rare bounds a count of n draws with probability p by six deviations.
func rare(t *testing.T, what string, got int, n float64, p float64) {
	t.Helper()
	d := 6*math.Sqrt(n*p*(1-p)) + 1
	if math.Abs(float64(got)-n*p) > d {
		t.Errorf("%s: %d of %.0f draws, about %.0f are wanted", what, got, n, n*p)
	}
}

func TestDrawnStreaksAreEven(t *testing.T) {
	for attempts, n := range map[int]int{1: 2_000, 3: draws, 10: 5_000} {
		all := drawn(t, n, func(a *Adapter) { a.Policy.MaxAttempts = attempts })
		counts := map[int]int{}
		plans := 0
		for _, s := range all {
			for _, p := range s.Actions {
				counts[len(p.Faults["weather"])]++
				plans++
			}
		}
		require.Len(t, counts, attempts+2, "0 to one more than MaxAttempts")
		for n := range attempts + 2 {
			rare(t, "a streak", counts[n], float64(plans), 1/float64(attempts+2))
		}
	}
}

func TestEveryClassIsDrawn(t *testing.T) {
	all := drawn(t, draws, func(*Adapter) {})
	classes := map[trace.Class]int{}
	retried, faults, done, hangs := 0, 0, 0, 0
	for _, s := range all {
		for _, p := range s.Actions {
			for _, f := range p.Faults["weather"] {
				faults++
				classes[f.class()]++
				if f.Hang {
					hangs++
				}
				if f.Done {
					done++
				}
				if f.Hang || f.Class == trace.Transient || f.Class == trace.Throttled || f.Class == trace.Timeout {
					retried++
				}
			}
		}
	}
	for _, c := range trace.Classes() {
		if c != trace.OK && c != trace.Cancelled {
			require.Greater(t, classes[c], faults/200, "%v", c)
		}
	}
	// Of what the swarm leaves both lists have something as a rule.
	require.InDelta(t, 7.0/8, float64(retried)/float64(faults), 0.03)
	require.Greater(t, done, faults/20, "replies that are lost after the work is done")
	require.Greater(t, hangs, faults/20)
}

func TestDrawnOptionsComeAsOftenAsDeclared(t *testing.T) {
	all := drawn(t, draws, func(*Adapter) {})
	var several, atOnce, plans, deadlines, cancels, before, faults, latencies, hints, hintable, faultCancels, answers float64
	for _, s := range all {
		if len(s.Actions) > 1 {
			several++
			if s.AtOnce {
				atOnce++
			}
		}
		for _, p := range s.Actions {
			plans++
			switch {
			case p.Deadline > 0:
				deadlines++
			case p.Cancel < 0:
				before++
				cancels++
			case p.Cancel > 0:
				cancels++
			}
			for _, f := range p.Faults["weather"] {
				faults++
				if !f.Hang {
					answers++
					if f.Latency > 0 {
						latencies++
					}
				}
				if f.Class == trace.Throttled {
					hintable++
					if f.Hint > 0 {
						hints++
					}
				}
				if f.Cancel > 0 {
					faultCancels++
				}
			}
		}
	}
	rare(t, "several actions", int(several), draws, 1.0/8)
	rare(t, "at once", int(atOnce), several, 1.0/2)
	rare(t, "a deadline", int(deadlines), plans, swarmed/4)
	rare(t, "a cancel", int(cancels), plans, (1-swarmed/3)*swarmed/8)
	require.Positive(t, before)
	rare(t, "a latency", int(latencies), answers, swarmed/2)
	rare(t, "a hint", int(hints), hintable, swarmed/2)
	rare(t, "a cancel by attempt", int(faultCancels), faults, swarmed/8)
}

func TestDrawnCancelsHitEachPhase(t *testing.T) {
	all := drawn(t, draws, func(a *Adapter) {})
	counts := map[string]int{}
	for _, s := range all {
		for _, p := range s.Actions {
			for _, f := range p.Faults["weather"] {
				if f.Cancel == 0 {
					continue
				}
				answer := min(f.Latency, 5*time.Second)
				if f.Hang {
					answer = 5 * time.Second
				}
				switch d := f.Cancel - answer; {
				case d == -1:
					counts["a nanosecond before the answer"]++
				case d == 1:
					counts["a nanosecond after the answer"]++
				case d < 0:
					counts["in flight"]++
				case d > 1 && d < max(100*time.Millisecond, f.Hint):
					counts["in backoff"]++
				case d == 0:
					counts["at the answer"]++
				}
			}
		}
	}
	for _, what := range []string{"a nanosecond before the answer", "a nanosecond after the answer", "in flight", "in backoff"} {
		require.Greater(t, counts[what], 200, "%v", counts)
	}
	require.Zero(t, counts["at the answer"], "a tie is decided by chance: %v", counts)
}

func TestDrawnLatenciesLieAroundTheAttemptsTime(t *testing.T) {
	all := drawn(t, draws, func(*Adapter) {})
	counts := map[time.Duration]int{}
	for _, s := range all {
		for _, p := range s.Actions {
			for _, f := range p.Faults["weather"] {
				counts[f.Latency-5*time.Second]++
				require.NotEqual(t, 5*time.Second, f.Latency, "a tie is decided by chance")
			}
		}
	}
	for _, d := range []time.Duration{-10, 10, 5 * time.Second, -2500 * time.Millisecond} {
		require.Greater(t, counts[d], 500)
	}
}

func TestBelowIsEvenAndShrinksToZero(t *testing.T) {
	for _, n := range []int{2, 3, 5, 7, 10, 17} {
		gen := rapid.Custom(func(t *rapid.T) int { return below(&source{rapid: t}, n) })
		counts := make([]int, n)
		for i := range draws {
			counts[gen.Example(int(trialSeed(1, i)))]++
		}
		for v := range n {
			rare(t, "a number", counts[v], draws, 1/float64(n))
		}
	}
}

// What is drawn fits the stage, since trials of drawn schedules do not look.
func TestWhatIsDrawnFits(t *testing.T) {
	a := homeAdapter()
	x := newTrial(&a, &Schedule{}, nil, nil)
	x.idle = true
	_, err := x.run(t)
	require.NoError(t, err)
	gen := newDrawer(&a, x.stage.tools).schedules()
	for i := range draws / 4 {
		s := gen.Example(i + 1)
		require.NoError(t, x.stage.fits(&s), "%v", s)
	}
}
