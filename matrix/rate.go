package matrix

import (
	"fmt"
	"math"
	"strconv"
)

// usualConfidence is that of all intervals for which none is asked.
const usualConfidence = 0.95

// A Rate is how many of how many samples passed.
type Rate struct{ Passed, Of int }

// String is the rate as a fraction, "18/20".
func (r Rate) String() string { return fmt.Sprintf("%d/%d", r.Passed, r.Of) }

// Share is the part that passed, from 0 to 1. Where nothing was sampled it is 0.
func (r Rate) Share() float64 {
	if !r.known() {
		return 0
	}
	return float64(r.Passed) / float64(r.Of)
}

// known reports whether there is a sample, and no number that cannot be.
func (r Rate) known() bool { return r.Of > 0 && r.Passed >= 0 && r.Passed <= r.Of }

// An Interval is where a share, or the difference of two, lies with the confidence
// that was asked for. Both ends belong to it.
type Interval struct{ Low, High float64 }

// Interval is the Wilson score interval of the share from which the samples come,
// two-sided. With p for the share that passed, n for the number of samples and z
// for the quantile of the normal distribution it is
//
//	(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)
//
// the set of all shares that a score test would not reject (E. B. Wilson, Journal
// of the American Statistical Association 22, 1927, page 209). It is right for few
// samples too, and at 0 and n of n, where the usual ± of the normal distribution is
// too narrow or nothing (Brown, Cai, DasGupta, Statistical Science 16, 2001, page
// 101). Its coverage is the confidence on the average over all shares, and up to ten
// points less for some that are near 0 or 1.
//
// confidence is a part of 1, such as 0.95. Where nothing was sampled, or a number
// is none that can be, the interval is all of [0, 1].
func (r Rate) Interval(confidence float64) Interval {
	z := quantile(confidence)
	if !r.known() || z == 0 {
		return Interval{0, 1}
	}
	n, p := float64(r.Of), r.Share()
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	i := Interval{max(0, (middle-half)/whole), min(1, (middle+half)/whole)}
	if r.Passed == 0 {
		i.Low = 0 // exactly
	}
	if r.Passed == r.Of {
		i.High = 1
	}
	return i
}

// Since is the interval of how much the share has changed since before, by
// Newcombe's method 10 for two samples that are independent of each other. With p
// for a share, l and u for the ends of its Wilson interval, 1 for r and 2 for
// before, it is from
//
//	p1-p2 - √((p1-l1)² + (u2-p2)²)   to   p1-p2 + √((u1-p1)² + (p2-l2)²)
//
// (R. G. Newcombe, Statistics in Medicine 17, 1998, page 873). Where it lies below 0
// the rate has certainly fallen. Where one of the two cannot be known it is all of
// [-1, 1].
func (r Rate) Since(before Rate, confidence float64) Interval {
	if !r.known() || !before.known() || quantile(confidence) == 0 {
		return Interval{-1, 1}
	}
	p1, p2 := r.Share(), before.Share()
	one, two := r.Interval(confidence), before.Interval(confidence)
	return Interval{
		max(-1, p1-p2-math.Hypot(p1-one.Low, two.High-p2)),
		min(1, p1-p2+math.Hypot(one.High-p1, p2-two.Low)),
	}
}

// quantile is how many standard deviations to both sides hold that part of the
// normal distribution; 0: there is no such part.
func quantile(confidence float64) float64 {
	if !(confidence > 0 && confidence < 1) { // NaN is neither
		return 0
	}
	return math.Sqrt2 * math.Erfinv(confidence)
}

// A Verdict is what samples say of a share that is wanted.
type Verdict int

const (
	// Unasked is a check that wants nothing and is only counted.
	Unasked Verdict = iota
	// Enough: all of the interval is at or above what is wanted.
	Enough
	// TooLow: all of the interval is below it.
	TooLow
	// Undecided: the samples are too few to say.
	Undecided
)

// String is the verdict in a word or two.
func (v Verdict) String() string {
	switch v {
	case Unasked:
		return "-"
	case Enough:
		return "ok"
	case TooLow:
		return "too low"
	case Undecided:
		return "undecided"
	}
	return "Verdict(" + strconv.Itoa(int(v)) + ")"
}

// Decide holds the rate to the share that is wanted, a part of 1; 0: nothing is
// asked. Only what the interval excludes passes or fails. At a confidence of 0.95,
// samples whose share is just what is wanted fail one time in forty, as meant,
// where they are many; one in twenty at the most where five of them or more should
// fail the check; and up to one in six where not one should, since a single failure
// then counts: of a share of 0.97 take more than five samples.
func (r Rate) Decide(wanted, confidence float64) Verdict {
	i := r.Interval(confidence)
	switch {
	case wanted == 0:
		return Unasked
	case i.Low >= wanted:
		return Enough
	case i.High < wanted:
		return TooLow
	}
	return Undecided
}

// farthest is the greatest number of further samples that is told.
const farthest = 1_000_000

// More is about how many further samples would decide, if the rate stays what it
// is; 0: more than a million, or nothing is sampled yet. It is exact where all
// samples or none have passed, and else a little off, since samples are whole. A
// share w is at an end of the interval of n samples where n(p-w)² = z²w(1-w), which
// is the score test from which the interval comes.
func (r Rate) More(wanted, confidence float64) int {
	off, z := r.Share()-wanted, quantile(confidence)
	if !r.known() {
		return 0
	}
	n := math.Ceil(z*z*wanted*(1-wanted)/(off*off)) - float64(r.Of)
	if !(n <= farthest) { // infinite where the rate is what is wanted
		return 0
	}
	return max(1, int(n))
}

// undecided says how far the samples are from a verdict.
func (r Rate) undecided(wanted, confidence float64) string {
	switch n := r.More(wanted, confidence); n {
	case 0:
		return "undecided: at this rate no number of samples would decide"
	case 1:
		return "undecided: 1 more sample at this rate would decide"
	default:
		return fmt.Sprintf("undecided: about %d more samples at this rate would decide", n)
	}
}

// percent words a share with one digit behind the point, where it has one.
func percent(x float64) string {
	return strconv.FormatFloat(math.Round(x*1000)/10, 'f', -1, 64)
}

// span words an interval in hundredths. The ends are rounded outwards, since an
// interval that reads smaller than it is would claim too much.
func (i Interval) span(dash string) string {
	const dust = 1e-9 // of a tenth of a hundredth, so that 0.3 does not become 0.2
	low, high := math.Floor(i.Low*1000+dust)/1000, math.Ceil(i.High*1000-dust)/1000
	return percent(low) + dash + percent(high)
}
