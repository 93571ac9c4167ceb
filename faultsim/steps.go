package faultsim

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// A step makes a copy of a schedule one step simpler; see [with].
type step func(*Schedule)

// steps yields what makes s one step simpler, the greatest ones first:
// without a part, then with a plainer fault, then with rounder times. Every step makes
// a schedule smaller in the same order, so that shrinking ends.
func steps(s Schedule, d *drawer) iter.Seq[step] {
	return func(yield func(step) bool) {
		for change := range simpler(s, d) {
			if !yield(change) {
				return
			}
		}
		for i := range s.Actions {
			if !plainer(s, i, d, yield) || !rounder(s, i, yield) {
				return
			}
		}
		if !rounderSpells(s, yield) {
			return
		}
		single(s, d, yield)
	}
}

// single puts one failure in the place of a tool's whole list, or of what it does by the
// clock: several are often there only to use the attempts up.
func single(s Schedule, d *drawer, yield func(step) bool) bool {
	spells := len(s.Outages)+len(s.Quotas)+len(s.Buckets) > 0
	for i := range s.Actions {
		for k := range d.tools {
			tool := &d.tools[k]
			if len(s.Actions[i].Faults[tool.name]) < 2 && !spells {
				continue
			}
			for _, f := range slices.Concat(tool.refused, tool.retried) {
				if !yield(func(c *Schedule) {
					c.Actions[i].Faults[tool.name] = []Fault{f}
					c.Outages, c.Quotas, c.Buckets = nil, nil, nil
				}) {
					return false
				}
			}
		}
	}
	return true
}

// plainer puts plainer classes in the place of those that the faults have: the
// tool's plainest retried answer, then its plainest refusal.
func plainer(s Schedule, i int, d *drawer, yield func(step) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(s.Actions[i].Faults)) {
		tool := d.tool(name)
		for n, end := range together(s.Actions[i].Faults[name]) {
			f := s.Actions[i].Faults[name][n]
			for _, p := range tool.plainest() {
				if rank(tool, f) <= rank(tool, p) {
					break
				}
				g := f
				g.Class, g.Hang, g.Done, g.Body = p.Class, p.Hang, p.Done, 0
				if !yield(func(c *Schedule) { set(c.Actions[i].Faults[name], n, end, g) }) {
					return false
				}
			}
		}
	}
	return true
}

func (d *drawer) tool(name string) *drawnTool {
	for i := range d.tools {
		if d.tools[i].name == name {
			return &d.tools[i]
		}
	}
	for i := range d.models {
		if d.models[i].name == name {
			return &d.models[i].drawnTool
		}
	}
	return &drawnTool{}
}

// plainest lists the answers that others shrink to.
func (t *drawnTool) plainest() []Fault {
	var list []Fault
	if len(t.retried) > 0 {
		list = append(list, t.retried[0])
	}
	if len(t.refused) > 0 {
		list = append(list, t.refused[0])
	}
	return list
}

// rank is the place of a fault's class among the tool's answers.
func rank(t *drawnTool, f Fault) int {
	for i, g := range slices.Concat(t.retried, t.refused) {
		if g.Class == f.Class && g.Hang == f.Hang && g.Done == f.Done {
			return i
		}
	}
	return -1
}

// rounder makes times rounder, or else shorter.
func rounder(s Schedule, i int, yield func(step) bool) bool {
	p := &s.Actions[i]
	for _, at := range []func(*Plan) *time.Duration{
		func(p *Plan) *time.Duration { return &p.After },
		func(p *Plan) *time.Duration { return &p.Deadline },
		func(p *Plan) *time.Duration { return &p.Cancel },
		func(p *Plan) *time.Duration { return &p.Restart },
		func(p *Plan) *time.Duration { return &p.Grace },
	} {
		for t := range rounderTimes(*at(p)) {
			if !yield(func(c *Schedule) { *at(&c.Actions[i]) = t }) {
				return false
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Faults)) {
		for n, end := range together(p.Faults[name]) {
			for k, at := range []func(*Fault) *time.Duration{
				func(f *Fault) *time.Duration { return &f.Hint },
				func(f *Fault) *time.Duration { return &f.Latency },
				func(f *Fault) *time.Duration { return &f.Cancel },
				func(f *Fault) *time.Duration { return &f.Crash },
				func(f *Fault) *time.Duration { return &f.Drain },
				func(f *Fault) *time.Duration { return &f.Work },
				func(f *Fault) *time.Duration { return &f.Body },
				func(f *Fault) *time.Duration { return &f.Valid },
			} {
				now := *at(&p.Faults[name][n])
				for t := range rounderTimes(now) {
					if k == 0 && now%time.Second == 0 && t%time.Second != 0 {
						continue // Retry-After says whole seconds whatever the schedule asks
					}
					f := p.Faults[name][n]
					*at(&f) = t
					if !yield(func(c *Schedule) { set(c.Actions[i].Faults[name], n, end, f) }) {
						return false
					}
				}
			}
		}
	}
	return true
}

// rounderTimes yields shorter times with fewer digits. They keep d's part below
// a microsecond, which is what keeps the instants of a drawn schedule apart: at
// one instant, chance decides the order.
func rounderTimes(d time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		odd := d % time.Microsecond
		whole := d - odd
		if odd > 0 && whole > 0 && !yield(odd) {
			return
		}
		for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, time.Microsecond} {
			for _, t := range []time.Duration{unit, whole.Truncate(unit), (whole / 2).Truncate(unit)} {
				if t > 0 && t < whole && !yield(t+odd) {
					return
				}
			}
		}
	}
}
