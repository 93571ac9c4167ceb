package matrix_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// Intervals that were published for the same formula, to four digits: the
// examples of Newcombe's two papers, Statistics in Medicine 17, 1998, from pages 857
// and 873.
func TestIntervalsAreThePublishedOnes(t *testing.T) {
	for _, c := range []struct {
		rate      matrix.Rate
		low, high float64
	}{
		{matrix.Rate{Passed: 81, Of: 263}, 0.2553, 0.3662},
		{matrix.Rate{Passed: 15, Of: 148}, 0.0624, 0.1605},
		{matrix.Rate{Passed: 0, Of: 20}, 0, 0.1611},
		{matrix.Rate{Passed: 1, Of: 29}, 0.0061, 0.1718},
	} {
		i := c.rate.Interval(0.95)
		require.InDelta(t, c.low, i.Low, 5e-5, "%v", c.rate)
		require.InDelta(t, c.high, i.High, 5e-5, "%v", c.rate)
	}
	for _, c := range []struct {
		now, before matrix.Rate
		low, high   float64
	}{
		{matrix.Rate{Passed: 56, Of: 70}, matrix.Rate{Passed: 48, Of: 80}, 0.0524, 0.3339},
		{matrix.Rate{Passed: 9, Of: 10}, matrix.Rate{Passed: 3, Of: 10}, 0.1705, 0.8090},
		{matrix.Rate{Passed: 6, Of: 7}, matrix.Rate{Passed: 2, Of: 7}, 0.0582, 0.8062},
		{matrix.Rate{Passed: 5, Of: 56}, matrix.Rate{Passed: 0, Of: 29}, -0.0381, 0.1926},
		{matrix.Rate{Passed: 0, Of: 10}, matrix.Rate{Passed: 0, Of: 20}, -0.1611, 0.2775},
		{matrix.Rate{Passed: 0, Of: 10}, matrix.Rate{Passed: 0, Of: 10}, -0.2775, 0.2775},
		{matrix.Rate{Passed: 10, Of: 10}, matrix.Rate{Passed: 0, Of: 20}, 0.6791, 1},
		{matrix.Rate{Passed: 10, Of: 10}, matrix.Rate{Passed: 0, Of: 10}, 0.6075, 1},
	} {
		i := c.now.Since(c.before, 0.95)
		require.InDelta(t, c.low, i.Low, 5e-5, "%v since %v", c.now, c.before)
		require.InDelta(t, c.high, i.High, 5e-5, "%v since %v", c.now, c.before)
		back := c.before.Since(c.now, 0.95)
		require.InDelta(t, -c.high, back.Low, 5e-5, "the other way round")
		require.InDelta(t, -c.low, back.High, 5e-5, "the other way round")
	}
}

// At the edges an end is exact; where nothing is known the interval is all there is.
func TestIntervalsAtTheEdges(t *testing.T) {
	all := matrix.Interval{Low: 0, High: 1}
	none := matrix.Rate{}
	require.Equal(t, all, none.Interval(0.95))
	require.Zero(t, none.Share())
	require.Equal(t, matrix.Interval{Low: -1, High: 1}, none.Since(matrix.Rate{Passed: 1, Of: 1}, 0.95))
	for _, n := range []int{1, 2, 20, 1_000_000_000} {
		nobody, everybody := matrix.Rate{Passed: 0, Of: n}.Interval(0.95), matrix.Rate{Passed: n, Of: n}.Interval(0.95)
		require.Zero(t, nobody.Low)
		require.Equal(t, 1.0, everybody.High)
		require.InDelta(t, nobody.High, 1-everybody.Low, 1e-12)
		require.Positive(t, nobody.High)
		require.Less(t, everybody.Low, 1.0)
	}
	for _, bad := range []matrix.Rate{{Passed: -1, Of: 3}, {Passed: 4, Of: 3}, {Passed: 0, Of: -3}, {Passed: math.MinInt, Of: math.MinInt}} {
		require.Equal(t, all, bad.Interval(0.95), "%v", bad)
	}
	for _, confidence := range []float64{0, 1, -1, 95, math.NaN(), math.Inf(1)} {
		require.Equal(t, all, matrix.Rate{Passed: 1, Of: 2}.Interval(confidence), "%v", confidence)
		require.Equal(t, matrix.Interval{Low: -1, High: 1}, matrix.Rate{Passed: 1, Of: 2}.Since(matrix.Rate{Passed: 1, Of: 2}, confidence), "%v", confidence)
	}
	require.InDelta(t, 0.5, (matrix.Rate{Passed: 10, Of: 20}.Interval(0.99).Low+matrix.Rate{Passed: 10, Of: 20}.Interval(0.99).High)/2, 1e-12)
}

const draws = 10_000

// binomial counts the successes of n.
func binomial(dice *rand.Rand, n int, p float64) matrix.Rate {
	r := matrix.Rate{Of: n}
	for range n {
		if dice.Float64() < p {
			r.Passed++
		}
	}
	return r
}

func holds(i matrix.Interval, x float64) bool { return i.Low <= x && x <= i.High }

// Simulated samples with fixed seeds: how often the interval holds the share from which
// they come. It is the confidence on the average, and nowhere far below it.
func TestIntervalsHoldTheShareAsOftenAsTheySay(t *testing.T) {
	for _, confidence := range []float64{0.9, 0.95, 0.99} {
		sum, lowest, cases := 0.0, 1.0, 0
		for _, n := range []int{5, 20, 50, 200} {
			for _, p := range []float64{0.05, 0.1, 0.3, 0.5, 0.8, 0.9, 0.97} {
				dice, held := rand.New(rand.NewPCG(uint64(n), uint64(p*1000))), 0
				for range draws {
					if holds(binomial(dice, n, p).Interval(confidence), p) {
						held++
					}
				}
				share := float64(held) / draws
				sum, cases = sum+share, cases+1
				lowest = min(lowest, share)
			}
		}
		t.Logf("confidence %v: held %.4f on the average, %.4f at the least", confidence, sum/float64(cases), lowest)
		require.InDelta(t, confidence, sum/float64(cases), 0.02, "confidence %v", confidence)
		require.Greater(t, lowest, confidence-0.1, "confidence %v", confidence)
	}
}

// The same for the difference of two shares, and how often it calls a regression where
// there is none, and finds one that is there.
func TestDifferencesHoldTheChangeAsOftenAsTheySay(t *testing.T) {
	sum, lowest, cases, falselyCalled := 0.0, 1.0, 0, 0.0
	for _, n := range [][2]int{{20, 20}, {20, 50}, {50, 50}} {
		for _, p := range [][2]float64{{0.9, 0.9}, {0.95, 0.8}, {0.5, 0.5}, {0.9, 0.55}, {0.99, 0.99}} {
			dice := rand.New(rand.NewPCG(uint64(n[0]*1000+n[1]), uint64(p[0]*1000)))
			held, fallen := 0, 0
			for range draws {
				i := binomial(dice, n[1], p[1]).Since(binomial(dice, n[0], p[0]), 0.95)
				if holds(i, p[1]-p[0]) {
					held++
				}
				if i.High < 0 {
					fallen++
				}
			}
			share, called := float64(held)/draws, float64(fallen)/draws
			sum, cases = sum+share, cases+1
			lowest = min(lowest, share)
			if p[0] == p[1] {
				falselyCalled = max(falselyCalled, called)
			}
			if p == [2]float64{0.9, 0.55} && n == [2]int{50, 50} {
				require.Greater(t, called, 0.95, "a fall from 0.9 to 0.55 is found by 50 samples")
			}
		}
	}
	t.Logf("held %.4f on the average, %.4f at the least; a regression without a change in %.4f at the most", sum/float64(cases), lowest, falselyCalled)
	require.InDelta(t, 0.955, sum/float64(cases), 0.015)
	require.Greater(t, lowest, 0.93)
	require.Less(t, falselyCalled, 0.035)
}

// A share that is wanted is where the interval ends, so the number of samples that
// would decide is one that does, and one less does not.
func TestTheNumberOfFurtherSamplesDecides(t *testing.T) {
	for _, n := range []int{1, 5, 20, 33} {
		for passed := 0; passed <= n; passed += max(1, n) { // rates that stay what they are with each sample
			for _, wanted := range []float64{0.05, 0.5, 0.8, 0.9, 0.99} {
				checkMore(t, matrix.Rate{Passed: passed, Of: n}, wanted)
			}
		}
	}
}

func checkMore(t *testing.T, r matrix.Rate, wanted float64) {
	t.Helper()
	verdict := func(r matrix.Rate) matrix.Verdict { return r.Decide(wanted, 0.95) }
	if verdict(r) != matrix.Undecided {
		return
	}
	more := r.More(wanted, 0.95)
	require.Positive(t, more, "%v wanted %v", r, wanted)
	grown := func(k int) matrix.Rate {
		if r.Passed == 0 {
			return matrix.Rate{Passed: 0, Of: r.Of + k}
		}
		return matrix.Rate{Passed: r.Of + k, Of: r.Of + k}
	}
	require.NotEqual(t, matrix.Undecided, verdict(grown(more)), "%v wanted %v: %d more", r, wanted, more)
	require.Equal(t, matrix.Undecided, verdict(grown(more-1)), "%v wanted %v: %d more", r, wanted, more-1)
}

// Samples whose share is exactly what is wanted seldom fail, and those far from it
// are decided.
func TestACheckFailsOnlyWhereItIsCertain(t *testing.T) {
	count := func(p, wanted float64, n int) map[matrix.Verdict]float64 {
		dice, seen := rand.New(rand.NewPCG(uint64(n), 7)), map[matrix.Verdict]float64{}
		for range draws {
			seen[binomial(dice, n, p).Decide(wanted, 0.95)] += 1.0 / draws
		}
		return seen
	}
	border := count(0.9, 0.9, 50)
	t.Logf("a share that is just what is wanted: %.4f too low, %.4f enough", border[matrix.TooLow], border[matrix.Enough])
	require.Less(t, border[matrix.TooLow], 0.05)
	require.Less(t, border[matrix.Enough], 0.05)
	require.Greater(t, count(0.6, 0.9, 50)[matrix.TooLow], 0.99)
	require.Greater(t, count(0.99, 0.9, 100)[matrix.Enough], 0.95)
	require.Equal(t, 1.0, math.Round(count(0.5, 0, 20)[matrix.Unasked]*1e9)/1e9)
}

// How often samples fail whose share is just what is wanted, by the binomial
// distribution itself: one in forty is meant. It is more where few of them should fail.
func TestHowOftenACheckFailsAtItsBorder(t *testing.T) {
	worst, worstOfMany := 0.0, 0.0
	for n := 5; n <= 400; n++ {
		for _, wanted := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99} {
			falls := failsAtBorder(n, wanted)
			worst = max(worst, falls)
			if float64(n)*(1-wanted) >= 5 {
				worstOfMany = max(worstOfMany, falls)
			}
		}
	}
	t.Logf("%.4f at the most, %.4f where five samples or more should fail", worst, worstOfMany)
	require.Less(t, worst, 0.17)
	require.Less(t, worstOfMany, 0.06)
}

// failsAtBorder is the probability that n samples are too low where their share is
// what is wanted.
func failsAtBorder(n int, wanted float64) (falls float64) {
	for passed := range n + 1 {
		if (matrix.Rate{Passed: passed, Of: n}).Decide(wanted, 0.95) != matrix.TooLow {
			break
		}
		whole, _ := math.Lgamma(float64(n + 1))
		some, _ := math.Lgamma(float64(passed + 1))
		rest, _ := math.Lgamma(float64(n - passed + 1))
		falls += math.Exp(whole - some - rest + float64(passed)*math.Log(wanted) + float64(n-passed)*math.Log(1-wanted))
	}
	return falls
}

// A rate tells how far samples carry.
func ExampleRate() {
	before, now := matrix.Rate{Passed: 18, Of: 20}, matrix.Rate{Passed: 11, Of: 20}
	i := now.Interval(0.95)
	fmt.Printf("%v: %.2f to %.2f\n", now, i.Low, i.High)
	d := now.Since(before, 0.95)
	fmt.Printf("since %v: %.2f to %.2f\n", before, d.Low, d.High)
	// Output:
	// 11/20: 0.34 to 0.74
	// since 18/20: -0.57 to -0.07
}
