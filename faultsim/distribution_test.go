package faultsim

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const many = 100_000

// drawnFrom draws many values of the distribution through rapid, as a property does.
func drawnFrom[V int | time.Duration](d Distribution[V], seed int) []V {
	return rapid.Custom(func(t *rapid.T) []V { return valuesOf(&source{rapid: t}, d) }).Example(seed)
}

// streamedFrom draws them from a stream of their own, as a trial of Check does.
func streamedFrom[V int | time.Duration](d Distribution[V], seed int) []V {
	return valuesOf(seeded(trialSeed(1, seed)), d)
}

func valuesOf[V int | time.Duration](t *source, d Distribution[V]) []V {
	list := make([]V, many)
	for i := range list {
		list[i] = valueOf(t, d)
	}
	return list
}

// sampleOf draws many values of a generator, in one example: its own cost is that of
// a few draws.
func sampleOf[V any](gen *rapid.Generator[V], seed int) []V {
	return rapid.Custom(func(t *rapid.T) []V {
		list := make([]V, many)
		for i := range list {
			list[i] = gen.Draw(t, "value")
		}
		return list
	}).Example(seed)
}

// unlikely is the share of faithful samples that the checkers call unfaithful.
const unlikely = 0.01

// astray is the statistic of Kolmogorov and Smirnov over its critical value: 1 or more
// says that the sample is not of the distribution.
func astray(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	d, n := 0.0, float64(len(sample))
	for i, x := range sample {
		f := cdf(x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d * math.Sqrt(n) / math.Sqrt(-math.Log(unlikely/2)/2)
}

// uneven is the chi-square statistic over its critical value, by the approximation of
// Wilson and Hilferty; numbers of which less than twenty are wanted count as one.
func uneven(sample []int, chance func(n int) float64) float64 {
	counts := map[int]float64{}
	for _, v := range sample {
		counts[v]++
	}
	all := float64(len(sample))
	chi, cells, rest, restWanted := 0.0, 0.0, all, all
	for n := 0; restWanted > 20 && n < 10_000; n++ {
		want := all * chance(n)
		if want < 20 {
			continue
		}
		chi += (counts[n] - want) * (counts[n] - want) / want
		rest, restWanted = rest-counts[n], restWanted-want
		cells++
	}
	if restWanted > 20 {
		chi += (rest - restWanted) * (rest - restWanted) / restWanted
		cells++
	} else if rest > 60 {
		return math.Inf(1) // what should not come does
	}
	free := max(cells-1, 1)
	const z = 2.3263 // of a normal, exceeded by the share that is unlikely
	critical := free * math.Pow(1-2/(9*free)+z*math.Sqrt(2/(9*free)), 3)
	return chi / critical
}

// A claimedCount is a distribution of counts, the chance of each number by its
// definition, and the same distribution with a bias of two in a hundred.
type claimedCount struct {
	d      Distribution[int]
	chance func(n int) float64
	biased Distribution[int]
}

func claimedCounts() []claimedCount {
	return []claimedCount{
		{Geometric(0.3), func(n int) float64 { return 0.3 * math.Pow(0.7, float64(n)) }, Geometric(0.306)},
		{Geometric(1), func(n int) float64 { return only(n, 0) }, Geometric(0.98)},
		{DiscretePareto(1.5), func(n int) float64 { return math.Pow(float64(n+1), -1.5) - math.Pow(float64(n+2), -1.5) }, DiscretePareto(1.53)},
		{Even(2, 6), func(n int) float64 { return 0.2 * (1 - only(n, 0) - only(n, 1)) * within(n, 6) }, Frequencies(0, 0, 1.02, 1, 1, 1, 0.98)},
		{Frequencies(3, 0, 1), func(n int) float64 { return 0.75*only(n, 0) + 0.25*only(n, 2) }, Frequencies(3, 0, 1.04)},
		{Fixed(3), func(n int) float64 { return only(n, 3) }, Frequencies(0, 0, 0.02, 0.98)},
		{AtMost(2, Geometric(0.5)), func(n int) float64 { return []float64{0.5, 0.25, 0.25}[min(n, 2)] * within(n, 2) }, AtMost(2, Geometric(0.51))},
	}
}

func only(n, at int) float64 { return within(n, at) * within(at, n) }

// yes is the chance of 1, where the others are 0.
func yes(p float64) func(n int) float64 {
	return func(n int) float64 { return p*only(n, 1) + (1-p)*only(n, 0) }
}

func within(n, most int) float64 {
	if n > most {
		return 0
	}
	return 1
}

func TestCountsAreDrawnAsDeclared(t *testing.T) {
	for i, c := range claimedCounts() {
		name := fmt.Sprintf("%#v", c.d)
		require.NoError(t, c.d.Validate(), name)
		require.Less(t, uneven(drawnFrom(c.d, i+10), c.chance), 1.0, name)
		require.Less(t, uneven(streamedFrom(c.d, i+1), c.chance), 1.0, name)
		require.Greater(t, uneven(streamedFrom(c.biased, i+1), c.chance), 1.0, "a bias of 2 %% of %s is seen", name)
	}
}

// A claimedTime is a distribution of times and its cumulative distribution function.
type claimedTime struct {
	d      Distribution[time.Duration]
	cdf    func(seconds float64) float64
	biased Distribution[time.Duration]
}

func claimedTimes() []claimedTime {
	ms := time.Millisecond
	return []claimedTime{
		{Uniform(time.Second, 3*time.Second), func(x float64) float64 { return min(max((x-1)/2, 0), 1) }, Uniform(1020*ms, 3060*ms)},
		{Exponential(2 * time.Second), func(x float64) float64 { return 1 - math.Exp(-x/2) }, Exponential(2040 * ms)},
		{Lognormal(200*ms, 0.8), func(x float64) float64 { return math.Erfc(-math.Log(x/0.2)/0.8/math.Sqrt2) / 2 }, Lognormal(204*ms, 0.8)},
		{Pareto(100*ms, 1.2), func(x float64) float64 { return max(0, 1-math.Pow(0.1/x, 1.2)) }, Pareto(102*ms, 1.2)},
	}
}

func TestTimesAreDrawnAsDeclared(t *testing.T) {
	for i, c := range claimedTimes() {
		name := fmt.Sprintf("%#v", c.d)
		require.NoError(t, c.d.Validate(), name)
		require.Less(t, astray(seconds(drawnFrom(c.d, i+10)), c.cdf), 1.0, name)
		require.Less(t, astray(seconds(streamedFrom(c.d, i+1)), c.cdf), 1.0, name)
		require.Greater(t, astray(seconds(streamedFrom(c.biased, i+1)), c.cdf), 1.0, "a bias of 2 %% of %s is seen", name)
	}
}

func seconds(times []time.Duration) []float64 {
	list := make([]float64, len(times))
	for i, d := range times {
		list[i] = d.Seconds()
	}
	return list
}

func TestMeasuredTimesComeAsOftenAsTheyWereMeasured(t *testing.T) {
	d := Empirical(3*time.Second, time.Second, 3*time.Second, 2*time.Second)
	sample := make([]int, many)
	for i, v := range drawnFrom(d, 1) {
		sample[i] = int(v / time.Second)
	}
	require.Less(t, uneven(sample, func(n int) float64 { return []float64{0, 0.25, 0.25, 0.5}[min(n, 3)] * within(n, 3) }), 1.0)
	require.Equal(t, time.Minute, Generator(Constant(time.Minute)).Example(1))
	require.Equal(t, time.Second, AtMost(time.Second, Constant(time.Minute)).Quantile(0.5))
}

// Rapid's own ranges are no distributions: the checkers see it.
func TestNaiveRangesAreFoundUnfaithful(t *testing.T) {
	require.Greater(t, uneven(sampleOf(rapid.IntRange(0, 99), 1), func(n int) float64 { return 0.01 * within(n, 99) }), 10.0)
	require.Greater(t, astray(sampleOf(rapid.Float64Range(0, 1), 1), func(x float64) float64 { return x }), 10.0)
	evenly := rapid.Custom(func(t *rapid.T) float64 { return fraction(&source{rapid: t}) })
	require.Less(t, astray(sampleOf(evenly, 1), func(x float64) float64 { return x }), 1.0)
}

func TestSharesAreDrawnAsDeclared(t *testing.T) {
	for i, p := range []float64{0, 0.01, 0.3, 0.98, 1} {
		sample := make([]int, many)
		for n, s := 0, seeded(uint64(i)); n < many; n++ {
			if chance(s, p) {
				sample[n] = 1
			}
		}
		require.Less(t, uneven(sample, yes(p)), 1.0, "%v", p)
	}
}

func TestADistributionShrinksToItsLeastValue(t *testing.T) {
	for _, c := range claimedCounts() {
		require.Equal(t, c.d.Quantile(0), leastDrawn(t, Generator(c.d)), "%#v", c.d)
	}
	for _, c := range claimedTimes() {
		require.Equal(t, c.d.Quantile(0), leastDrawn(t, Generator(c.d)), "%#v", c.d)
	}
}

// leastDrawn is what rapid comes to whose every draw is the least one.
func leastDrawn[V any](t *testing.T, gen *rapid.Generator[V]) (v V) {
	rapid.MakeFuzz(func(rt *rapid.T) { v = gen.Draw(rt, "value") })(t, make([]byte, 8*64))
	return v
}

func TestQuantilesRise(t *testing.T) {
	for _, c := range claimedCounts() {
		require.True(t, rises(c.d), "%#v", c.d)
	}
	for _, c := range claimedTimes() {
		require.True(t, rises(c.d), "%#v", c.d)
	}
}

func rises[V int | time.Duration](d Distribution[V]) bool {
	last := d.Quantile(0)
	for i := range 1000 {
		v := d.Quantile((float64(i) + 0.5) / 1000)
		if v < last || v < 0 {
			return false
		}
		last = v
	}
	return d.Quantile(1-1.0/(1<<fractionBits)) >= last
}

func TestNoDistributionSaysWhy(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		err  error
		want string
	}{
		{Fixed(-1).Validate(), "Fixed(-1): a count is 0 or more"},
		{Even(3, 2).Validate(), "Even(3, 2): say a least of 0 or more"},
		{Geometric(0).Validate(), "Geometric(0): p is the chance that an attempt succeeds"},
		{Geometric(1.5).Validate(), "Geometric(1.5)"},
		{Geometric(nan).Validate(), "Geometric(NaN)"},
		{DiscretePareto(-1).Validate(), "DiscretePareto: alpha is -1: say a number above 0"},
		{Frequencies().Validate(), "Frequencies: the weights come to 0"},
		{Frequencies(1, -2).Validate(), "Frequencies: the weight of 1 is -2"},
		{Frequencies(1, nan).Validate(), "Frequencies: the weight of 1 is NaN"},
		{Constant(-1).Validate(), "Constant: the time is -1ns: say 0s or more"},
		{Uniform(2, 1).Validate(), "Uniform(2ns, 1ns): the second time is the end"},
		{Exponential(0).Validate(), "Exponential: mean is 0s: say 1ns or more"},
		{Lognormal(time.Second, nan).Validate(), "Lognormal: sigma is NaN"},
		{Lognormal(time.Second, 1.5e308).Validate(), "Lognormal: sigma is 1.5e+308: say 1e+06 at most"},
		{Lognormal(-1, 1).Validate(), "Lognormal: median is -1ns"},
		{Pareto(time.Second, inf).Validate(), "Pareto: alpha is +Inf"},
		{Pareto(2*longestTime, 1).Validate(), "a trial plays a year"},
		{Empirical().Validate(), "Empirical: there are no times"},
		{Empirical(1, -1).Validate(), "the shortest time is -1ns"},
		{AtMost[int](1, nil).Validate(), "AtMost(1, nil): give the distribution"},
		{AtMost(-1, Fixed(1)).Validate(), "AtMost(-1, …): a bound is 0 or more"},
		{AtMost(1, Fixed(-1)).Validate(), "Fixed(-1)"},
	} {
		require.ErrorContains(t, c.err, c.want)
	}
	require.PanicsWithValue(t, "faultsim.Generator: Fixed(-1): a count is 0 or more", func() { Generator(Fixed(-1)) })
	for _, d := range []Distribution[time.Duration]{Pareto(time.Second, 0.01), Lognormal(time.Hour, 50), Lognormal(time.Hour, mostSigma)} {
		require.NoError(t, d.Validate())
		require.LessOrEqual(t, d.Quantile(1-1.0/(1<<fractionBits)), longestTime, "a tail without a mean ends")
		require.Positive(t, d.Quantile(0.5))
	}
}

func TestDistributionsPrintAsGo(t *testing.T) {
	for want, d := range map[string]any{
		"faultsim.Geometric(0.3)":                                             Geometric(0.3),
		"faultsim.Frequencies(3, 0, 1.5)":                                     Frequencies(3, 0, 1.5),
		"faultsim.AtMost(5, faultsim.DiscretePareto(1.5))":                    AtMost(5, DiscretePareto(1.5)),
		"faultsim.Constant(0)":                                                Constant(0),
		"faultsim.Uniform(time.Second, 90*time.Second)":                       Uniform(time.Second, 90*time.Second),
		"faultsim.Lognormal(200*time.Millisecond, 0.8)":                       Lognormal(200*time.Millisecond, 0.8),
		"faultsim.AtMost(2*time.Hour, faultsim.Pareto(3*time.Nanosecond, 2))": AtMost(2*time.Hour, Pareto(3, 2)),
		"faultsim.Empirical(time.Second, 1500*time.Millisecond)":              Empirical(1500*time.Millisecond, time.Second),
		"faultsim.Even(1, 3)":                                                 Even(1, 3),
		"faultsim.Fixed(2)":                                                   Fixed(2),
		"faultsim.Exponential(time.Minute)":                                   Exponential(time.Minute),
	} {
		require.Equal(t, want, fmt.Sprintf("%#v", d))
	}
}
