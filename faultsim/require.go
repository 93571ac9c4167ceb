package faultsim

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Required shares are decided by the sequential test of QuickCheck's checkCoverage
// (Test.QuickCheck, sufficientlyCovered and insufficientlyCovered): trials go on, twice as many each time, until the Wilson score interval of each share lies
// at or above tolerance times what is required, or below what is required (E. B.
// Wilson, Journal of the American Statistical Association 22, 1927, page 209). The
// tolerance lets a share that is just what is required be decided at all.
const (
	tolerance = 0.9
	certainty = 1e-9 // how often one look decides wrongly
)

// deviations is how many standard deviations of the normal distribution leave
// certainty outside, on both sides together.
var deviations = math.Sqrt2 * math.Erfinv(1-certainty)

// extraTrials bounds the trials of a run with required shares: so many times the
// number that was planned.
const extraTrials = 64

// wilson is the Wilson score interval of the share of which met were seen in so many
// trials.
func wilson(met, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	n, z := float64(of), deviations
	p := float64(met) / n
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	return max(0, (middle-half)/whole), min(1, (middle+half)/whole)
}

// reached is what the trials say of a required share.
type reached int

const (
	undecided reached = iota
	enough
	tooRare
)

func decide(met, of int, required float64) reached {
	switch low, high := wilson(met, of); {
	case low >= tolerance*required:
		return enough
	case high < required:
		return tooRare
	}
	return undecided
}

// mayExtend reports whether the number of trials is for this run to say: it is not
// where it was asked for, in a campaign, in a shard, whose number has to be that of
// the others, and where shards have played the trials.
func (c *check) mayExtend() bool {
	return !c.set.brief && c.campaign == nil && c.whole() && c.set.merge == ""
}

// extends reports whether further trials would tell more of the required shares, and
// plans them: as many again as there were.
func (c *check) extends() bool {
	if !c.mayExtend() || c.set.trials >= c.most {
		return false
	}
	v := c.coverage()
	open := false
	for label, share := range c.a.Require {
		switch decide(v.Labels[label], v.Trials, share) {
		case tooRare:
			return false
		case undecided:
			open = true
		}
	}
	if open {
		c.set.trials = min(2*c.set.trials, c.most)
	}
	return open
}

// shares wants each required share reached.
func (m *demand) shares() {
	for _, label := range slices.Sorted(maps.Keys(m.c.a.Require)) {
		share, met := m.c.a.Require[label], m.Labels[label]
		low, high := wilson(met, m.Trials)
		seen := fmt.Sprintf("was met in %d of %d trials (%s%%), and Require wants %s%%", met, m.Trials, percent(float64(met)/float64(max(m.Trials, 1))), percent(share))
		guess := ""
		if met == 0 {
			guess = meant(label, slices.Sorted(maps.Keys(m.Labels)))
		}
		switch decide(met, m.Trials, share) {
		case tooRare:
			m.lack(label, "require less, or bring it about more often: by what the doubles can show, or by the policy",
				"%s: the share is below %s%% for certain%s", seen, percentUp(high), guess)
		case undecided:
			open := fmt.Sprintf("%s: undecided, it lies between %s%% and %s%%%s", seen, percentDown(low), percentUp(high), guess)
			if !m.c.mayExtend() {
				m.open = append(m.open, label+" "+open)
				continue
			}
			m.lack(label, "require a share that is not so near to what the trials have, or more Trials", "%s", open)
		}
	}
}

// percentDown and percentUp round an end of an interval outwards.
func percentDown(x float64) string { return percent(math.Floor(x*1000) / 1000) }
func percentUp(x float64) string   { return percent(math.Ceil(x*1000) / 1000) }
