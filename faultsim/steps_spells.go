package faultsim

import (
	"slices"
	"time"
)

// simplerSpells takes outages and quotas out, one at a time. An outage that only makes
// attempts fail is told more plainly by these failures.
func simplerSpells(s Schedule, d *drawer, yield func(step) bool) bool {
	for i, o := range s.Outages {
		out := func(c *Schedule) { c.Outages = slices.Delete(c.Outages, i, i+1) }
		if !yield(out) {
			return false
		}
		for n := s.failsInstead(d, o); n > 0; n-- {
			if !yield(func(c *Schedule) { out(c); c.Actions[0].Faults[o.Tool] = slices.Repeat([]Fault{{Class: o.Class}}, n) }) {
				return false
			}
		}
	}
	for i := range s.Quotas {
		if !yield(func(c *Schedule) { c.Quotas = slices.Delete(c.Quotas, i, i+1) }) {
			return false
		}
	}
	for i := range s.Buckets {
		if !yield(func(c *Schedule) { c.Buckets = slices.Delete(c.Buckets, i, i+1) }) {
			return false
		}
	}
	if s.Jitter != JitterLoose && !yield(func(c *Schedule) { c.Jitter = JitterLoose }) {
		return false
	}
	if s.Seed != 0 && !yield(func(c *Schedule) { c.Seed = 0 }) {
		return false
	}
	for i := range s.Serial {
		if !yield(func(c *Schedule) { c.Serial = slices.Delete(c.Serial, i, i+1) }) {
			return false
		}
	}
	for i := range s.Expiries {
		if !yield(func(c *Schedule) { c.Expiries = slices.Delete(c.Expiries, i, i+1) }) {
			return false
		}
	}
	return s.Calm == 0 || yield(func(c *Schedule) { c.Calm = 0 })
}

// fewFailures is how many failures are plainer to read than the two times of an outage.
const fewFailures = 6

// failsInstead is how many failures do at most what the outage does, whatever the time:
// as many as an action has attempts; 0: an outage is plainer.
func (s *Schedule) failsInstead(d *drawer, o Outage) int {
	n := d.tool(o.Tool).most
	if len(s.Actions) != 1 || n > fewFailures {
		return 0
	}
	return n
}

// rounderSpells makes the times of outages, quotas and buckets rounder. An outage that
// begins at once is rounder than any other.
func rounderSpells(s Schedule, yield func(step) bool) bool {
	for i, o := range s.Outages {
		if o.From > 0 && !yield(func(c *Schedule) { c.Outages[i].From = 0 }) {
			return false
		}
		if !shorter(o.To, func(c *Schedule) *time.Duration { return &c.Outages[i].To }, o.From, yield) {
			return false
		}
	}
	for i, q := range s.Quotas {
		if !shorter(q.Per, func(c *Schedule) *time.Duration { return &c.Quotas[i].Per }, 0, yield) {
			return false
		}
	}
	for i, b := range s.Buckets {
		if b.Burst > 1 && !yield(func(c *Schedule) { c.Buckets[i].Burst = 1 }) {
			return false
		}
		if !shorter(b.Every, func(c *Schedule) *time.Duration { return &c.Buckets[i].Every }, 0, yield) {
			return false
		}
	}
	for i, at := range s.Expiries {
		if !shorter(at, func(c *Schedule) *time.Duration { return &c.Expiries[i] }, 0, yield) {
			return false
		}
	}
	return shorter(s.Calm, func(c *Schedule) *time.Duration { return &c.Calm }, 0, yield)
}

// shorter makes one time rounder, but not less than the other.
func shorter(d time.Duration, at func(*Schedule) *time.Duration, least time.Duration, yield func(step) bool) bool {
	for t := range rounderTimes(d) {
		if t > least && !yield(func(c *Schedule) { *at(c) = t }) {
			return false
		}
	}
	return true
}
