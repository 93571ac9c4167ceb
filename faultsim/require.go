package faultsim

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/rehearse-go/rehearse/internal/near"
)

// Required shares are decided by the sequential test of QuickCheck's checkCoverage
// (Test.QuickCheck, sufficientlyCovered and insufficientlyCovered): trials go on, twice
// as many each time, until it is certain of each share that it is tolerance times what
// is required, or more, or that it is below what is required. The tolerance lets a share
// that is just what is required be decided at all.
//
// Certain means that the trials would come out as they did, or further off, with less
// than the chance of doubt if the share were just at the other side: the exact bound of
// C. J. Clopper and E. S. Pearson (Biometrika 26, 1934, page 404). Intervals that take
// the distribution for a normal one, as Wilson's does, are far too short out there.
const (
	tolerance = 0.9
	certainty = 1e-9              // how often a share is decided wrongly
	doubt     = certainty / looks // how often one look does so
)

// extraTrials bounds the trials of a run with required shares: so many times the
// number that was planned. It takes so many looks to get there, twice as far each time.
const (
	extraTrials = 64
	looks       = 7
)

// shareBetween says between which thousandths the share lies of which met were seen in
// so many trials: for certain, at either end.
func shareBetween(met, of int) (low, high float64) {
	const parts = 1000
	above := sort.Search(parts, func(i int) bool { return orMore(met, of, float64(i)/parts) > doubt })
	below := sort.Search(parts, func(i int) bool { return orFewer(met, of, float64(i)/parts) <= doubt })
	return float64(max(0, above-1)) / parts, float64(below) / parts
}

// reached is what the trials say of a required share.
type reached int

const (
	undecided reached = iota
	enough
	tooRare
)

func decide(met, of int, required float64) reached {
	switch {
	case orMore(met, of, tolerance*required) <= doubt:
		return enough
	case orFewer(met, of, required) <= doubt:
		return tooRare
	}
	return undecided
}

// mayExtend reports whether the number of trials is for this run to say: it is not
// where it was asked for, in a campaign, and in a shard, whose number has to be that of
// the others. Where shards are merged, the merged run goes on as one machine would have.
func (c *check) mayExtend() bool { return c.most > 0 && c.campaign == nil && c.whole() }

// further plays more trials as long as they would tell more of the required shares, and
// returns the first one that fails; nil: none does.
func (c *check) further() (n int, r *result) {
	c.t.Helper()
	for from := c.set.trials; r == nil && c.extends(); from = c.set.trials {
		n, r = c.firstFailing(from, c.set.trials)
	}
	return n, r
}

// extends reports whether further trials would tell more of the required shares, and
// plans them: as many again as there were.
func (c *check) extends() bool {
	if !c.mayExtend() || c.set.trials >= c.most || !c.open() {
		return false
	}
	if at, ok := c.t.Deadline(); ok && time.Until(at) < spareTimes*time.Since(c.began) {
		c.late = true
		return false
	}
	c.set.trials = min(2*c.set.trials, c.most)
	return true
}

// spareTimes is how many times as long as the trials up to now the rest of a test must
// have for as many again.
const spareTimes = 3

// open reports whether a share is undecided, and none is certainly too low.
func (c *check) open() (open bool) {
	v := c.coverage()
	for label, share := range c.a.Require {
		switch decide(v.Labels[label], v.Trials, share) {
		case tooRare:
			return false
		case undecided:
			open = true
		}
	}
	return open
}

// shares wants each required share reached.
func (m *demand) shares() {
	for _, label := range slices.Sorted(maps.Keys(m.c.a.Require)) {
		share, met := m.c.a.Require[label], m.Labels[label]
		low, high := shareBetween(met, m.Trials)
		seen := fmt.Sprintf("was met in %d of %d trials (%s%%), and Require wants %s%%", met, m.Trials, percent(float64(met)/float64(max(m.Trials, 1))), percent(share))
		guess := ""
		if met == 0 && !builtIn(label) {
			guess = near.Meant(label, slices.Sorted(maps.Keys(m.Labels)))
		}
		switch decide(met, m.Trials, share) {
		case tooRare:
			m.lack(label, "require less, or bring it about more often: by what the doubles can show, or by the policy",
				"%s: the share is below %s%% for certain%s", seen, percent(high), guess)
		case undecided:
			open := fmt.Sprintf("%s: undecided, it lies between %s%% and %s%%%s", seen, percent(low), percent(high), guess)
			if !m.c.mayExtend() {
				m.open = append(m.open, label+" "+open)
				continue
			}
			advice := "require a share that is not so near to what the trials have, or more Trials"
			if m.c.late {
				open += "; more trials would come too near to go test's own -timeout"
				advice = "give go test a longer -timeout, or 0 for none"
			}
			m.lack(label, advice, "%s", open)
		}
	}
}
