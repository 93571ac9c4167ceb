package faultsim

import (
	"math"
	"slices"
	"time"
)

// A family is a distribution of times that has been fitted: its greatest
// log-likelihood, and how many parameters it took.
type family struct {
	d          Distribution[time.Duration]
	cdf        func(seconds float64) float64
	likelihood float64
	parameters float64
}

// fitTimes is the distribution of the times; nil: none was measured, or all were zero.
func fitTimes(times []time.Duration) Distribution[time.Duration] {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 || sorted[len(sorted)-1] == 0 {
		return nil
	}
	least, most := sorted[0], sorted[len(sorted)-1]
	if least == most || len(sorted) < fewest || least <= 0 {
		return measured(sorted)
	}
	x := make([]float64, len(sorted))
	for i, d := range sorted {
		x[i] = d.Seconds()
	}
	best := family{likelihood: math.Inf(-1)}
	for _, f := range []family{exponentialOf(x), lognormalOf(x), paretoOf(x), uniformOf(x)} {
		if f.parameters-f.likelihood < best.parameters-best.likelihood { // Akaike's
			best = f
		}
	}
	if !agrees(x, best.cdf) {
		return measured(sorted)
	}
	return best.d
}

// agrees is the test of Kolmogorov and Smirnov at one in a hundred. The parameters
// come from the sample itself, so that it refuses less often than that.
func agrees(sorted []float64, cdf func(float64) float64) bool {
	d, n := 0.0, float64(len(sorted))
	for i, x := range sorted {
		f := cdf(x)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d*math.Sqrt(n) < math.Sqrt(-math.Log(0.01/2)/2)
}

func exponentialOf(x []float64) family {
	m := mean(x)
	return family{
		Exponential(digitsOf(timeOfSeconds(m))),
		func(v float64) float64 { return 1 - math.Exp(-v/m) },
		-float64(len(x)) * (math.Log(m) + 1), 1,
	}
}

func lognormalOf(x []float64) family {
	logs := make([]float64, len(x))
	for i, v := range x {
		logs[i] = math.Log(v)
	}
	mu, variance := mean(logs), 0.0
	for _, l := range logs {
		variance += (l - mu) * (l - mu) / float64(len(x))
	}
	sigma := math.Sqrt(variance)
	return family{
		Lognormal(digitsOf(timeOfSeconds(math.Exp(mu))), digits(sigma)),
		func(v float64) float64 { return math.Erfc(-(math.Log(v)-mu)/sigma/math.Sqrt2) / 2 },
		-float64(len(x)) * (mu + math.Log(sigma) + math.Log(2*math.Pi)/2 + 0.5), 2,
	}
}

func paretoOf(x []float64) family {
	least, sum := x[0], 0.0
	for _, v := range x {
		sum += math.Log(v / least)
	}
	alpha := float64(len(x)) / sum
	return family{
		Pareto(digitsOf(timeOfSeconds(least)), digits(alpha)),
		func(v float64) float64 { return max(0, 1-math.Pow(least/v, alpha)) },
		float64(len(x))*(math.Log(alpha)-math.Log(least)) - (alpha+1)*sum, 2,
	}
}

func uniformOf(x []float64) family {
	least, most := x[0], x[len(x)-1]
	return family{
		Uniform(digitsOf(timeOfSeconds(least)), digitsOf(timeOfSeconds(most))),
		func(v float64) float64 { return (v - least) / (most - least) },
		-float64(len(x)) * math.Log(most-least), 2,
	}
}

// measuredAtMost is how many quantiles stand for measured times.
const measuredAtMost = 100

// measured is the distribution of the times themselves, or of their quantiles.
func measured(times []time.Duration) Distribution[time.Duration] {
	sorted := slices.Sorted(slices.Values(times))
	if sorted[0] == sorted[len(sorted)-1] {
		return Constant(sorted[0])
	}
	n := min(len(sorted), measuredAtMost)
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = digitsOf(sorted[(2*i+1)*len(sorted)/(2*n)])
	}
	return Empirical(list...)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

func timeOfSeconds(x float64) time.Duration { return durationOf(x * float64(time.Second)) }
