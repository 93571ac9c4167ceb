package faultsim

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// shapes are the plainest faults of each tool.
type shapes struct {
	plain   map[string]Fault // a failure, retried where there is one
	refused map[string]Fault // a failure that ends the action
	lost    map[string]Fault // a reply lost after the work was done
}

// simpler yields schedules that are one step simpler than s.
func simpler(s Schedule, sh *shapes) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for i := range s.Actions {
			if len(s.Actions) > 1 && !yield(with(s, func(c *Schedule) { c.Actions = slices.Delete(c.Actions, i, i+1) })) {
				return
			}
		}
		if s.AtOnce && !yield(with(s, func(c *Schedule) { c.AtOnce = false })) {
			return
		}
		for i := range s.Actions {
			if !simplerPlan(s, i, sh, yield) {
				return
			}
		}
	}
}

func simplerPlan(s Schedule, i int, sh *shapes, yield func(Schedule) bool) bool {
	p := &s.Actions[i]
	if p.Deadline != 0 && !yield(with(s, func(c *Schedule) { c.Actions[i].Deadline = 0 })) {
		return false
	}
	if p.Cancel != 0 && !yield(with(s, func(c *Schedule) { c.Actions[i].Cancel = 0 })) {
		return false
	}
	for _, d := range rounder(p.Deadline) {
		if !yield(with(s, func(c *Schedule) { c.Actions[i].Deadline = d })) {
			return false
		}
	}
	for _, d := range rounder(p.Cancel) {
		if !yield(with(s, func(c *Schedule) { c.Actions[i].Cancel = d })) {
			return false
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(p.Faults)) {
		for n := range p.Faults[tool] {
			if !simplerFault(s, i, tool, n, sh, yield) {
				return false
			}
		}
	}
	return true
}

// simplerFault takes fault n out, then each of its options.
func simplerFault(s Schedule, i int, tool string, n int, sh *shapes, yield func(Schedule) bool) bool {
	out := with(s, func(c *Schedule) {
		f := c.Actions[i].Faults
		if f[tool] = slices.Delete(f[tool], n, n+1); len(f[tool]) == 0 {
			delete(f, tool)
		}
	})
	if !yield(out) {
		return false
	}
	if refused, ok := sh.refused[tool]; ok && n+1 < len(s.Actions[i].Faults[tool]) {
		cut := with(s, func(c *Schedule) {
			f := c.Actions[i].Faults
			f[tool] = append(f[tool][:n], refused) // the rest was there to use the attempts up
		})
		if !yield(cut) {
			return false
		}
	}
	for _, f := range plainer(s.Actions[i].Faults[tool][n], sh.plain[tool]) {
		if !yield(with(s, func(c *Schedule) { c.Actions[i].Faults[tool][n] = f })) {
			return false
		}
	}
	for _, set := range []func(*Fault){
		func(f *Fault) { f.Hint, f.Form = 0, HintSeconds },
		func(f *Fault) { f.Form = HintSeconds },
		func(f *Fault) { f.Latency = 0 },
		func(f *Fault) { f.Done = false },
		func(f *Fault) { f.Deaf = false },
		func(f *Fault) { f.Cancel = 0 },
	} {
		f := s.Actions[i].Faults[tool][n]
		if set(&f); f == s.Actions[i].Faults[tool][n] {
			continue
		}
		if !yield(with(s, func(c *Schedule) { c.Actions[i].Faults[tool][n] = f })) {
			return false
		}
	}
	return true
}

// plainer lists faults that are easier to read than f: the plain failure, or
// the same with a cancel; and f with rounder times.
func plainer(f, plain Fault) []Fault {
	var list []Fault
	if plain != (Fault{}) && (f.Class != plain.Class || f.Hang) && f.class() != 0 {
		list = append(list, plain)
		if f.Cancel != 0 {
			cancelled := plain
			cancelled.Cancel = time.Millisecond
			list = append(list, cancelled)
		}
	}
	for _, d := range rounder(f.Latency) {
		r := f
		r.Latency = d
		list = append(list, r)
	}
	for _, d := range rounder(f.Cancel) {
		r := f
		r.Cancel = d
		list = append(list, r)
	}
	return list
}

// rounder lists rounder times than d: a millisecond, a second, and d without
// the part below a millisecond. Times before the action stay as they are.
func rounder(d time.Duration) []time.Duration {
	var list []time.Duration
	if d <= 0 || d == time.Millisecond {
		return nil
	}
	list = append(list, time.Millisecond)
	if d != time.Second {
		list = append(list, time.Second)
	}
	if whole := d.Truncate(time.Millisecond); whole != d && whole > 0 && whole != time.Millisecond {
		list = append(list, whole)
	}
	if d == time.Second {
		return list[:1]
	}
	return list
}

// with returns a changed deep copy of s.
func with(s Schedule, change func(*Schedule)) Schedule {
	c := Schedule{Actions: slices.Clone(s.Actions), AtOnce: s.AtOnce}
	for i := range c.Actions {
		faults := make(map[string][]Fault, len(c.Actions[i].Faults))
		for tool, list := range c.Actions[i].Faults {
			faults[tool] = slices.Clone(list)
		}
		c.Actions[i].Faults = faults
	}
	change(&c)
	return c
}
