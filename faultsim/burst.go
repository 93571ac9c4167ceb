package faultsim

import (
	"fmt"
	"math"
)

// GilbertElliott is a chain of two states over the attempts of a tool, good and bad,
// with a share of failures in each: Gilbert (Capacity of a burst-noise channel, BSTJ
// 39, 1960), and Elliott (Estimates of error rates for codes on burst-noise channels,
// BSTJ 42, 1963). It goes on with each attempt that the policy has an action make, 256
// in a row at most, and remembers its state from one action to the next. The first
// attempt of a trial finds it in either state with the share of time that it spends
// there.
type GilbertElliott struct {
	ToBad  float64 // chance that a good state is followed by a bad one, the p of the papers
	ToGood float64 // chance that a bad state is followed by a good one, r
	Good   float64 // share of failures in the good state, 1-k
	Bad    float64 // share of failures in the bad state, 1-h; in Gilbert's simplest model 1
}

// Validate reports shares that make no chain; the zero chain is none.
func (g GilbertElliott) Validate() error {
	if g == (GilbertElliott{}) {
		return nil
	}
	for _, d := range [...]struct {
		name  string
		value float64
	}{{"ToBad", g.ToBad}, {"ToGood", g.ToGood}, {"Good", g.Good}, {"Bad", g.Bad}} {
		if err := share(d.name, d.value); err != nil {
			return g.ofBursts(err)
		}
	}
	switch {
	case g.ToBad+g.ToGood == 0:
		return fmt.Errorf("ToBad and ToGood are 0, so that neither state is ever left: give one of them a share")
	case g.Good == 0 && g.Bad == 0:
		return fmt.Errorf("Good and Bad are 0, so that nothing fails: give Bad a share")
	case g.Share() == 0:
		return fmt.Errorf("ToBad and Good are 0, so that nothing fails: give ToBad a share, or BurstsOf one above 0")
	}
	return nil
}

// ofBursts adds the arguments of BurstsOf that make no chain, where the chain looks as
// if it was made so.
func (g GilbertElliott) ofBursts(err error) error {
	if g.Good != 0 || g.Bad != 1 {
		return err
	}
	part, mean := g.Share(), 1/g.ToGood
	if math.IsInf(g.ToBad, 0) {
		part = 1
	}
	return fmt.Errorf("BurstsOf(%.4g, %.4g) is no chain (%w): the share is below 1, and the mean is 1 or more, and share/(1-share) or more", part, mean, err)
}

// Share is the share of all attempts that fail.
func (g GilbertElliott) Share() float64 {
	bad := g.inBad()
	return bad*g.Bad + (1-bad)*g.Good
}

// inBad is the share of time that is spent in the bad state.
func (g GilbertElliott) inBad() float64 {
	if g.ToBad == 0 {
		return 0
	}
	return g.ToBad / (g.ToBad + g.ToGood)
}

// BurstsOf is the chain whose bad state fails always and whose good one never, with a
// share of attempts that fail and a mean number of failures in a row. It is the
// simplest model of Gilbert: the mean burst is 1/ToGood. The share is above 0 and below
// 1, and the mean 1 or more, and long enough for the share: share/(1-share) at least.
func BurstsOf(share, mean float64) GilbertElliott {
	return GilbertElliott{ToBad: share / (1 - share) / mean, ToGood: 1 / mean, Bad: 1}
}

// step is whether an attempt fails, and whether the state behind it is bad.
func (g GilbertElliott) step(t *source, bad bool) (fails, next bool) {
	if bad {
		return chance(t, g.Bad), !chance(t, g.ToGood)
	}
	return chance(t, g.Good), chance(t, g.ToBad)
}

// AirborneLink is a link from an aeroplane to the ground or to a satellite: the middle
// of the ranges that F. Michel takes for such links in his work on QUIC with forward
// error correction, p from 0.01 to 0.08, r from 0.08 to 0.5, k from 0.98 to 1 and h
// from 0 to 0.1. They are of packets; for calls of a tool over such a link they are
// a shape rather than a measure.
func AirborneLink() GilbertElliott {
	return GilbertElliott{ToBad: 0.045, ToGood: 0.29, Good: 0.01, Bad: 0.95}
}
