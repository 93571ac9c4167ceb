package faultsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// persistent is weathered with code that calls each tool until it answers.
func persistent(p *Profile, names ...string) Adapter {
	a := weathered(p, names...)
	a.Subject = func(s *Stage) Action {
		var tools []trace.Func[string, int]
		for _, name := range append([]string{"weather"}, names...) {
			tools = append(tools, Tool(s, name, func(context.Context, string) (int, error) { return 19, nil },
				Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })}))
		}
		return func(ctx context.Context) (any, error) {
			for _, tool := range tools {
				for {
					attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
					_, err := tool(attempt, "Pune")
					cancel()
					if err == nil || ctx.Err() != nil {
						break
					}
					time.Sleep(time.Millisecond)
				}
			}
			return 19, nil
		}
	}
	return a
}

// recorded plays trials that are drawn by the profile.
func recorded(t *testing.T, trials int, a Adapter) []*trace.Trace {
	t.Helper()
	a.Policy.Attempt = 5 * time.Second
	d := profiler(t, a)
	list := make([]*trace.Trace, trials)
	for n := range list {
		r := Trial(t, a, d.draw(seeded(trialSeed(3, n))))
		require.NoError(t, r.Err)
		list[n] = r.Trace
	}
	return list
}

func fitted(t *testing.T, trials int, b Behaviour) Behaviour {
	t.Helper()
	p := of(b)
	p.Actions = Fixed(MostActions)
	got, err := Fit(recorded(t, trials, persistent(p))...)
	require.NoError(t, err)
	return got.Tools["weather"]
}

func TestAProfileIsFoundAgainInItsTraces(t *testing.T) {
	b := fitted(t, 150, Behaviour{
		Streak:  Geometric(0.4),
		Classes: Weights{trace.Transient: 3, trace.Throttled: 1},
		Hang:    0.1,
		Latency: Lognormal(200*time.Millisecond, 0.8),
		Hint:    Hints{Share: 0.5, Wait: wholeSeconds()},
	})
	require.InDelta(t, 0.4, b.Streak.(geometric).p, 0.03)
	require.InDelta(t, 3, b.Classes[trace.Transient]/b.Classes[trace.Throttled], 0.5)
	require.InDelta(t, 0.1, b.Hang, 0.02)
	latency := b.Latency.(lognormal)
	require.InDelta(t, 0.2, latency.median.Seconds(), 0.02)
	require.InDelta(t, 0.8, latency.sigma, 0.05)
	require.InDelta(t, 0.5, b.Hint.Share, 0.06, "of what is throttled; transient answers here carry none")
	require.Equal(t, []trace.Class{trace.Throttled}, b.Hint.Classes)
	require.Equal(t, 2*time.Second, b.Hint.Wait.Quantile(0.5))
	require.NoError(t, of(b).Validate())
}

func TestBurstsAreToldFromStreaks(t *testing.T) {
	only := Weights{trace.Transient: 1}
	chain := fitted(t, 60, Behaviour{Burst: BurstsOf(0.3, 5), Classes: only})
	require.Nil(t, chain.Streak)
	require.InDelta(t, 0.2, chain.Burst.ToGood, 0.03)
	require.InDelta(t, 0.3/0.7/5, chain.Burst.ToBad, 0.02)

	same := fitted(t, 60, Behaviour{Streak: Geometric(0.7), Classes: only})
	require.Zero(t, same.Burst)
	require.InDelta(t, 0.7, same.Streak.(geometric).p, 0.04)

	places := fitted(t, 60, Behaviour{Streak: Frequencies(1, 0, 0, 1), Classes: only})
	require.Zero(t, places.Burst)
	weights := places.Streak.(frequencies).weights
	require.Len(t, weights, 4)
	require.InDelta(t, 0.5, weights[0], 0.06)
	require.InDelta(t, 0.5, weights[3], 0.06)
	require.Zero(t, weights[1]+weights[2])

	never := fitted(t, 10, Behaviour{})
	require.Equal(t, Behaviour{}, never)
}

// However rare failures are, or successes, they are in what is fitted and in its code.
func TestWhatIsRareIsFitted(t *testing.T) {
	for want, failed := range map[string]int{"0.99999": 1, "0.9996": 40, "0.99877": 123, "0.88": 12_000, "0.12": 88_000, "0.0004": 99_960} {
		// Failures in rows as long as chance makes them.
		var r record
		source := seeded(1)
		for left := failed; left > 0 || len(r.row) < many; {
			if o := rowSuccess; left > 0 && fraction(source) < float64(left)/float64(many-len(r.row)) {
				r.row, left = append(r.row, rowFailure), left-1
			} else {
				r.row = append(r.row, o)
			}
		}
		streak, chain := r.failures()
		require.Zero(t, chain)
		require.Equal(t, "faultsim.Geometric("+want+")", fmt.Sprintf("%#v", streak))
	}
}

func TestTheFamilyOfLatenciesIsFoundAgain(t *testing.T) {
	for name, d := range map[string]Distribution[time.Duration]{
		"exponential": Exponential(2 * time.Second),
		"lognormal":   Lognormal(2*time.Second, 0.5),
		"pareto":      Pareto(time.Second, 2.5),
		"uniform":     Uniform(time.Second, 4*time.Second),
		"two humps":   twoHumps{},
		"constant":    Constant(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			times := make([]time.Duration, 2_000)
			s := seeded(7)
			for i := range times {
				times[i] = valueOf(s, d)
			}
			got := fitTimes(times)
			switch name {
			case "two humps":
				require.Len(t, got.(empirical).sorted, measuredAtMost)
			default:
				require.IsType(t, d, got)
			}
			for _, u := range []float64{0.1, 0.4, 0.9} {
				require.InEpsilon(t, d.Quantile(u).Seconds(), got.Quantile(u).Seconds(), 0.1, "%v", u)
			}
		})
	}
	require.Nil(t, fitTimes(nil))
	require.Nil(t, fitTimes(make([]time.Duration, 40)))
	require.Equal(t, Constant(5), fitTimes([]time.Duration{5, 5}))
}

// twoHumps is a tool with a cache: one answer in two is quick.
type twoHumps struct{}

func (twoHumps) Validate() error { return nil }
func (twoHumps) Quantile(u float64) time.Duration {
	if u < 0.5 {
		return 10*time.Millisecond + time.Duration(u*1e6)
	}
	return time.Second + time.Duration((u-0.5)*2e9)
}

func TestEachToolIsFittedByItself(t *testing.T) {
	p := &Profile{Actions: Fixed(10), Tools: map[string]Behaviour{
		"weather": {Streak: Geometric(0.5), Classes: Weights{trace.Transient: 1}},
		"news":    {Streak: Geometric(0.9), Classes: Weights{trace.Throttled: 1}},
	}}
	got, err := Fit(recorded(t, 60, persistent(p, "news"))...)
	require.NoError(t, err)
	require.InDelta(t, 0.5, got.Tools["weather"].Streak.(geometric).p, 0.05)
	require.InDelta(t, 0.9, got.Tools["news"].Streak.(geometric).p, 0.05)
	require.Equal(t, []trace.Class{trace.Throttled}, slices.Collect(maps.Keys(got.Tools["news"].Classes)))
}

func TestTooLittleToFitSaysWhy(t *testing.T) {
	_, err := Fit()
	require.EqualError(t, err, "faultsim: fit: there is no attempt in 0 traces: record calls of the tools")
	_, err = Fit(nil)
	require.EqualError(t, err, "faultsim: fit: trace 1 is nil: leave it out")
	_, err = Fit(recorded(t, 2, persistent(&Profile{Actions: Fixed(4)}))...)
	require.EqualError(t, err, "faultsim: fit: weather has 8 attempts, and 30 are the fewest that tell something: record more, or leave its traces out")
}
