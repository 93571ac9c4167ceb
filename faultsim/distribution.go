package faultsim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// A Distribution is a distribution of counts (int) or of times (time.Duration), for a
// [Profile]. It is a value that can be compared with reflect.DeepEqual, is never
// changed, and prints as Go code with %#v. Draws are put through its quantile
// function, so that nothing is biased but by what is declared, and a draw of zero
// bits is its least value.
//
// Own distributions are made by implementing it.
type Distribution[V int | time.Duration] interface {
	// Quantile is the least value that a share of more than u of the draws do not
	// exceed. u is from 0 up to 1, which is left out; the function rises with it, and
	// is never below 0.
	Quantile(u float64) V

	// Validate reports a parameter that makes no distribution.
	Validate() error
}

// Generator is a rapid generator of values of the distribution, for properties of
// one's own:
//
//	pause := faultsim.Generator(faultsim.Exponential(time.Second)).Draw(rt, "pause")
//
// It draws through fair Bools, since rapid's own ranges favour small and extreme
// values, and shrinks to the least value. It panics where the distribution does not
// validate.
func Generator[V int | time.Duration](d Distribution[V]) *rapid.Generator[V] {
	if err := valid(d); err != nil {
		panic("faultsim.Generator: " + err.Error())
	}
	return rapid.Custom(func(t *rapid.T) V { return valueOf(&source{rapid: t}, d) })
}

// valueOf draws a value of the distribution; nil has the zero value.
func valueOf[V int | time.Duration](t *source, d Distribution[V]) (zero V) {
	if d == nil {
		return zero
	}
	return max(zero, d.Quantile(fraction(t)))
}

// valid is what is wrong with the distribution; nil has nothing wrong with it. One of
// the user's own is asked for values too, since a draw has nobody to report to.
func valid[V int | time.Duration](d Distribution[V]) (err error) {
	if d == nil {
		return nil
	}
	asked := "Validate()"
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s of %T panicked: %v at %s", asked, d, p, panicSite())
		}
	}()
	if err := d.Validate(); err != nil {
		return err
	}
	for n := range probes + 1 {
		u := min(float64(n)/probes, 1-1.0/(1<<fractionBits)) // the greatest that is drawn
		asked = fmt.Sprintf("Quantile(%v)", u)
		if v := d.Quantile(u); v < 0 {
			return fmt.Errorf("%s of %T is %v: return 0 or more (NaN and infinities have no whole number, and may become such a one)", asked, d, v)
		}
	}
	return nil
}

// probes is how many values a distribution is asked for before it is drawn from.
const probes = 256

// share reports what makes p no share of the draws.
func share(what string, p float64) error {
	if !(p >= 0 && p <= 1) { // NaN included
		return fmt.Errorf("%s is %v: a share is from 0 to 1", what, p)
	}
	return nil
}

// goNumber is the number as Go code.
func goNumber(x float64) string {
	switch {
	case math.IsNaN(x):
		return "math.NaN()"
	case math.IsInf(x, 0):
		return fmt.Sprintf("math.Inf(%d)", int(math.Copysign(1, x)))
	}
	return fmt.Sprintf("%v", x)
}

// durationOf is x nanoseconds, within what a schedule can hold.
func durationOf(x float64) time.Duration {
	return time.Duration(min(max(x, 0), float64(longestTime)))
}

// Fixed is always n.
func Fixed(n int) Distribution[int] { return fixed{n} }

type fixed struct{ n int }

func (d fixed) Quantile(float64) int { return d.n }
func (d fixed) GoString() string     { return fmt.Sprintf("faultsim.Fixed(%d)", d.n) }
func (d fixed) Validate() error {
	if d.n < 0 {
		return fmt.Errorf("Fixed(%d): a count is 0 or more", d.n)
	}
	return nil
}

// Even is each number from least to most, both included, as often as the others.
func Even(least, most int) Distribution[int] { return even{least, most} }

type even struct{ least, most int }

func (d even) Quantile(u float64) int { return d.least + int(u*float64(d.most-d.least+1)) }
func (d even) GoString() string       { return fmt.Sprintf("faultsim.Even(%d, %d)", d.least, d.most) }
func (d even) Validate() error {
	if d.least < 0 || d.most < d.least || d.most > maxAttempt {
		return fmt.Errorf("Even(%d, %d): say a least of 0 or more, and a most from there to %d", d.least, d.most, maxAttempt)
	}
	return nil
}

// Geometric is the number of failures before the first success where each attempt
// succeeds with the chance p, from above 0 to 1, whatever came before it: n with the
// chance p(1-p)ⁿ, (1-p)/p on average.
func Geometric(p float64) Distribution[int] { return geometric{p} }

type geometric struct{ p float64 }

func (d geometric) Quantile(u float64) int {
	if d.p == 1 {
		return 0
	}
	return count(math.Log1p(-u) / math.Log1p(-d.p))
}
func (d geometric) GoString() string { return "faultsim.Geometric(" + goNumber(d.p) + ")" }
func (d geometric) Validate() error {
	if !(d.p > 0 && d.p <= 1) {
		return fmt.Errorf("Geometric(%v): p is the chance that an attempt succeeds, from above 0 to 1", d.p)
	}
	return nil
}

// DiscretePareto has a heavy tail: n or more with the chance (n+1)^-alpha. With an
// alpha of 1 or less its mean is infinite, and what bounds a draw is what it is drawn
// for: a streak ends at 256 attempts.
func DiscretePareto(alpha float64) Distribution[int] { return discretePareto{alpha} }

type discretePareto struct{ alpha float64 }

func (d discretePareto) Quantile(u float64) int {
	return max(0, count(math.Exp(-math.Log1p(-u)/d.alpha))-1)
}
func (d discretePareto) GoString() string {
	return "faultsim.DiscretePareto(" + goNumber(d.alpha) + ")"
}
func (d discretePareto) Validate() error { return positiveNumber("DiscretePareto", "alpha", d.alpha) }

// Frequencies is n with a chance in proportion to the weight at place n: of
// Frequencies(3, 0, 1) three quarters are 0, and a quarter is 2.
func Frequencies(weights ...float64) Distribution[int] { return frequencies{slices.Clone(weights)} }

type frequencies struct{ weights []float64 }

func (d frequencies) Quantile(u float64) int { return pick(u, d.weights) }
func (d frequencies) GoString() string {
	return "faultsim.Frequencies(" + joined(d.weights, goNumber) + ")"
}
func (d frequencies) Validate() error {
	total := 0.0
	for n, w := range d.weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("Frequencies: the weight of %d is %v: say a number of 0 or more", n, w)
		}
		total += w
	}
	if total == 0 || math.IsInf(total, 0) {
		return fmt.Errorf("Frequencies: the weights come to %v: give at least one that is more than 0", total)
	}
	return nil
}

// pick is the place at which the share u of the weights is exceeded.
func pick(u float64, weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	last, below := 0, 0.0
	for n, w := range weights {
		if w == 0 {
			continue
		}
		if below += w; u*total < below {
			return n
		}
		last = n
	}
	return last
}

// Constant is always d.
func Constant(d time.Duration) Distribution[time.Duration] { return constant{d} }

type constant struct{ d time.Duration }

func (d constant) Quantile(float64) time.Duration { return d.d }
func (d constant) GoString() string               { return "faultsim.Constant(" + durationGo(d.d) + ")" }
func (d constant) Validate() error                { return playableTime("Constant", "the time", d.d, 0) }

// Uniform is any time from least up to most with the same density.
func Uniform(least, most time.Duration) Distribution[time.Duration] { return uniform{least, most} }

type uniform struct{ least, most time.Duration }

func (d uniform) Quantile(u float64) time.Duration {
	return d.least + time.Duration(u*float64(d.most-d.least))
}
func (d uniform) GoString() string {
	return "faultsim.Uniform(" + durationGo(d.least) + ", " + durationGo(d.most) + ")"
}
func (d uniform) Validate() error {
	if d.most < d.least {
		return fmt.Errorf("Uniform(%v, %v): the second time is the end, and lies before the first: exchange them", d.least, d.most)
	}
	return errors.Join(playableTime("Uniform", "least", d.least, 0), playableTime("Uniform", "most", d.most, 0))
}

// Exponential has the mean and no memory: how long it still takes does not depend on
// how long it has taken.
func Exponential(mean time.Duration) Distribution[time.Duration] { return exponential{mean} }

type exponential struct{ mean time.Duration }

func (d exponential) Quantile(u float64) time.Duration {
	return durationOf(-float64(d.mean) * math.Log1p(-u))
}
func (d exponential) GoString() string { return "faultsim.Exponential(" + durationGo(d.mean) + ")" }
func (d exponential) Validate() error  { return playableTime("Exponential", "mean", d.mean, 1) }

// Lognormal has the median, and its logarithm is normal with the deviation sigma:
// with a sigma of 1 one answer in a hundred takes ten times the median. Latencies of
// services over a network look like it as a rule.
func Lognormal(median time.Duration, sigma float64) Distribution[time.Duration] {
	return lognormal{median, sigma}
}

// mostSigma is far from where the median is no number any more.
const mostSigma = 1e6

type lognormal struct {
	median time.Duration
	sigma  float64
}

func (d lognormal) Quantile(u float64) time.Duration {
	if u == 0 {
		return 0
	}
	return durationOf(float64(d.median) * math.Exp(d.sigma*math.Sqrt2*math.Erfinv(2*u-1)))
}
func (d lognormal) GoString() string {
	return "faultsim.Lognormal(" + durationGo(d.median) + ", " + goNumber(d.sigma) + ")"
}
func (d lognormal) Validate() error {
	if d.sigma > mostSigma && !math.IsInf(d.sigma, 0) {
		return fmt.Errorf("Lognormal: sigma is %v: say %v at most, with which nearly all times are 0 or a year already", d.sigma, mostSigma)
	}
	return errors.Join(playableTime("Lognormal", "median", d.median, 1), positiveNumber("Lognormal", "sigma", d.sigma))
}

// Pareto is least or more, and longer than t with the chance (least/t)^alpha. With an
// alpha of 2 or less its variance is infinite, with one of 1 or less its mean as well;
// a draw is never longer than a year, the most that a trial plays. See [AtMost] for a
// nearer end.
func Pareto(least time.Duration, alpha float64) Distribution[time.Duration] {
	return pareto{least, alpha}
}

type pareto struct {
	least time.Duration
	alpha float64
}

func (d pareto) Quantile(u float64) time.Duration {
	return durationOf(float64(d.least) * math.Exp(-math.Log1p(-u)/d.alpha))
}
func (d pareto) GoString() string {
	return "faultsim.Pareto(" + durationGo(d.least) + ", " + goNumber(d.alpha) + ")"
}
func (d pareto) Validate() error {
	return errors.Join(playableTime("Pareto", "least", d.least, 1), positiveNumber("Pareto", "alpha", d.alpha))
}

// Empirical is each of the times as often as the others: what was measured, and
// nothing between it. A time that is given twice comes twice as often.
func Empirical(times ...time.Duration) Distribution[time.Duration] {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	return empirical{sorted}
}

type empirical struct{ sorted []time.Duration }

func (d empirical) Quantile(u float64) time.Duration {
	return d.sorted[min(int(u*float64(len(d.sorted))), len(d.sorted)-1)]
}
func (d empirical) GoString() string {
	return "faultsim.Empirical(" + joined(d.sorted, durationGo) + ")"
}
func (d empirical) Validate() error {
	if len(d.sorted) == 0 {
		return errors.New("Empirical: there are no times: give at least one")
	}
	return errors.Join(playableTime("Empirical", "the shortest time", d.sorted[0], 0), playableTime("Empirical", "the longest time", d.sorted[len(d.sorted)-1], 0))
}

// AtMost is the distribution with all that lies above most at most.
func AtMost[V int | time.Duration](most V, d Distribution[V]) Distribution[V] {
	return atMost[V]{most, d}
}

type atMost[V int | time.Duration] struct {
	most V
	d    Distribution[V]
}

func (d atMost[V]) Quantile(u float64) V { return min(d.most, d.d.Quantile(u)) }
func (d atMost[V]) GoString() string {
	most := any(d.most)
	if t, ok := most.(time.Duration); ok {
		return fmt.Sprintf("faultsim.AtMost(%s, %#v)", durationGo(t), d.d)
	}
	return fmt.Sprintf("faultsim.AtMost(%d, %#v)", most, d.d)
}
func (d atMost[V]) Validate() error {
	switch {
	case d.d == nil:
		return fmt.Errorf("AtMost(%v, nil): give the distribution that it bounds", d.most)
	case d.most < 0:
		return fmt.Errorf("AtMost(%v, …): a bound is 0 or more", d.most)
	}
	return d.d.Validate()
}

// count is x as a count, within what a schedule can hold.
func count(x float64) int { return int(min(max(x, 0), maxAttempt)) }

func playableTime(name, field string, d, least time.Duration) error {
	switch {
	case d < least:
		return fmt.Errorf("%s: %s is %v: say %v or more", name, field, d, least)
	case d > longestTime:
		return fmt.Errorf("%s: %s is %v: a trial plays a year (%v) at most", name, field, d, longestTime)
	}
	return nil
}

func positiveNumber(name, field string, x float64) error {
	if !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%s: %s is %v: say a number above 0", name, field, x)
	}
	return nil
}

func joined[E any](list []E, text func(E) string) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = text(e)
	}
	return strings.Join(parts, ", ")
}
