package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// reach is what the schedules are drawn to meet of rehearse's own labels: in 500
// trials of a right program each of them, 99 times of 100 and more. Quotas and buckets
// are used up in fewer trials than that takes. Of a loop that a model drives, and of a
// tool under test, too much is for the program to say.
func (d *drawer) reach() (l labels) {
	if d.loop != nil || d.served != nil || len(d.tools) == 0 {
		return 0
	}
	see := func(label int, when bool) {
		if when {
			l |= 1 << label
		}
	}
	main := &d.tools[0]
	again := main.retries()
	d.reachStreaks(main, see)
	see(labelCancelBefore, true)
	see(labelCancelFlight, true)
	see(labelCancelBeside, again)
	see(labelCancelBackoff, again && main.waits(d.p))
	see(labelDeadlineFlight, true)
	see(labelDeadlineBackoff, again && main.waits(d.p))
	see(labelHintAbove, main.asks(d.p))
	see(labelHintLimit, main.asks(d.p) && d.p.Hint.Limit > 0)
	see(labelHintDeadline, main.asks(d.p) && !d.drains) // drains take the place of deadlines
	see(labelTimeout, d.p.Attempt > 0)
	see(labelLost, slices.ContainsFunc(slices.Concat(main.retried, main.refused), func(f Fault) bool { return f.Done }))
	see(labelInTurn, !d.single)
	see(labelAtOnce, !d.single)
	see(labelOutage, main.down().Class != 0)
	see(labelCrash, d.crashes)
	see(labelDrain, d.drains)
	see(labelAgain, d.again)
	see(endLabel(trace.ReasonSuccess), true)
	see(endLabel(trace.ReasonCancelled), true)
	see(endLabel(trace.ReasonDeadline), true)
	see(endLabel(trace.ReasonExhausted), again && !d.bounded() && main.most > 0 && main.most <= longestReached)
	see(endLabel(trace.ReasonHintTooLong), main.asks(d.p) && d.p.Hint.Limit > 0 && d.p.Hint.Over == invariants.OverStop)
	return l
}

// longestReached is the longest streak that 500 trials reach for certain.
const longestReached = 8

// bounded reports whether something else than the attempts can end a streak.
func (d *drawer) bounded() bool { return d.p.Budget > 0 || d.p.Spend > 0 || d.shared }

func (d *drawer) reachStreaks(main *drawnTool, see func(int, bool)) {
	most := min(main.most, longestReached)
	if main.most == invariants.Unlimited {
		most = longestReached
	}
	switch {
	case d.bounded() || main.most == invariants.Unlimited:
		most = min(most, 2)
	case d.crashes:
		most = min(most, 3)
	case !main.retries():
		most = min(1, len(main.refused)+len(main.retried))
	}
	for i, n := range streaks {
		see(labelStreak+i, n <= most)
	}
}

// waits reports whether there is a wait before the second attempt that is long
// enough for something to happen in it.
func (t *drawnTool) waits(p *invariants.Policy) bool {
	lo, _ := p.Of(t.name).Backoff.Window(1, 0)
	return lo >= time.Millisecond
}

// missing lists what the trials of the run were drawn to meet and have not.
func (d *drawer) missing(v Coverage) (names []string) {
	for label := range d.reach().each {
		if name := labelNames[label]; v.Labels[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}
