package faultsim

import (
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// longestServed is how long a tool under test may try below, in one call.
const longestServed = 10 * time.Minute

// horizon is how long the policy, with the schedule's hints and latencies,
// could still cause work: twice the longest trial, and a minute. The odd
// nanoseconds keep its end apart from whatever a program may plan.
func (x *trial) horizon() time.Duration {
	p := &x.a.Policy
	attempts := max(mostOf(p), 1)
	sum := time.Duration(0)
	add := func(d time.Duration) {
		sum = min(sum+min(d, longestTime), 10*longestTime)
	}
	work := func(p *invariants.Policy) {
		for n := 1; n <= max(p.Most(), 1) && n < 64; n++ {
			_, hi := p.Backoff.Window(n, sum)
			add(hi)
			add(p.Attempt)
		}
	}
	work(p)
	for _, name := range named(p) {
		own := p.Tools[name]
		work(&own)
		add(own.Budget)
	}
	if l := x.a.Loop; l != nil { // each turn may call the tools, and needs the model
		work(&l.Model)
		one := sum
		for range min(max(l.Turns, loopTurns), 32) {
			add(one)
		}
	}
	if x.s.AtOnce {
		one := sum
		for range len(x.s.Actions) - drawnAtOnce { // they may wait for each other
			add(one)
		}
	}
	if len(x.s.Serial) > 0 {
		one := sum
		for range x.s.Actions { // each attempt may wait for all the others'
			add(one)
		}
	}
	add(p.Budget)
	if r := x.a.Repeats; r != nil {
		add(r.Lease)
		add(longestServed)
	}
	x.addCrashes(sum, add)
	for i := range x.s.Actions {
		plan := &x.s.Actions[i]
		add(plan.After)
		add(plan.Deadline)
		add(max(plan.Cancel, 0))
		for _, faults := range plan.Faults {
			for i := range faults {
				add(faults[i].takes())
				add(faults[i].Hint)
				add(faults[i].Work)
			}
		}
	}
	for _, at := range x.s.Expiries {
		add(at)
	}
	add(x.s.Calm)
	for i := range x.a.Sinks {
		for range min(attempts, 64) + 1 { // each attempt may be held up by its records
			add(x.a.Sinks[i].Wait)
		}
	}
	for i := range x.s.Outages {
		add(x.s.Outages[i].To)
	}
	for i := range x.s.Quotas {
		for range min(attempts, 64) { // each attempt may wait for a window
			add(x.s.Quotas[i].Per)
		}
	}
	return 2*sum + time.Minute + 977
}
