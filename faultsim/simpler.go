package faultsim

import (
	"iter"
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// simpler yields the steps that take something out of s.
func simpler(s Schedule, d *drawer) iter.Seq[step] {
	return func(yield func(step) bool) {
		for i := range s.Actions {
			if len(s.Actions) > 1 && !yield(func(c *Schedule) { c.Actions = slices.Delete(c.Actions, i, i+1) }) {
				return
			}
			if i+1 < len(s.Actions) && s.Actions[i].After > 0 && !s.AtOnce && !yield(func(c *Schedule) { // one long pause in place of two
				c.Actions[i+1].After += c.Actions[i].After
				c.Actions = slices.Delete(c.Actions, i, i+1)
			}) {
				return
			}
		}
		if s.AtOnce && !yield(func(c *Schedule) { c.AtOnce = false }) {
			return
		}
		if !simplerCalls(s, yield) || !simplerSpells(s, d, yield) {
			return
		}
		for i := range s.Actions {
			if !simplerPlan(s, i, d, yield) {
				return
			}
		}
	}
}

func simplerPlan(s Schedule, i int, d *drawer, yield func(step) bool) bool {
	p := &s.Actions[i]
	if p.Again && !yield(func(c *Schedule) { c.Actions[i].Again = false }) {
		return false
	}
	if p.After != 0 && !yield(func(c *Schedule) { c.Actions[i].After = 0 }) {
		return false
	}
	if p.Deadline != 0 && !yield(func(c *Schedule) { c.Actions[i].Deadline = 0 }) {
		return false
	}
	if p.Cancel != 0 && !yield(func(c *Schedule) { c.Actions[i].Cancel = 0 }) {
		return false
	}
	if p.Key != 0 && !yield(func(c *Schedule) { c.Actions[i].Key = 0 }) {
		return false
	}
	if p.Key > 2 && !yield(func(c *Schedule) { c.Actions[i].Key = 2 }) {
		return false
	}
	if p.Other && !yield(func(c *Schedule) { c.Actions[i].Other = false }) {
		return false
	}
	if p.Grace != 0 && !yield(func(c *Schedule) { c.Actions[i].Grace = 0 }) {
		return false
	}
	if !simplerCrash(s, i, yield) {
		return false
	}
	for _, tool := range slices.Sorted(maps.Keys(p.Faults)) {
		if !cutStreak(s, i, tool, yield) {
			return false
		}
		for n, end := range together(p.Faults[tool]) {
			if !simplerFault(s, i, tool, n, end, d, yield) {
				return false
			}
		}
	}
	return true
}

// together yields the faults that are changed together, from n to end: each by itself, but
// those of a long run of the same one at once. One attempt at a time would take too long,
// and leave a long list in which none is like the next.
func together(list []Fault) iter.Seq2[int, int] {
	return func(yield func(n, end int) bool) {
		for n, end := 0, 0; n < len(list); n = end {
			for end = n + 1; end < len(list) && list[end] == list[n]; end++ {
			}
			if end-n > longestGarnished {
				if !yield(n, end) {
					return
				}
				continue
			}
			for ; n < end; n++ {
				if !yield(n, n+1) {
					return
				}
			}
		}
	}
}

// set puts one fault in the place of those from n to end.
func set(list []Fault, n, end int, f Fault) {
	for ; n < end; n++ {
		list[n] = f
	}
}

// cutStreak cuts the end off a long streak.
func cutStreak(s Schedule, i int, tool string, yield func(step) bool) bool {
	n := len(s.Actions[i].Faults[tool])
	for cut := n / 2; n > longestGarnished && cut > 0; cut /= 2 {
		if !yield(func(c *Schedule) { c.Actions[i].Faults[tool] = c.Actions[i].Faults[tool][:n-cut] }) {
			return false
		}
	}
	return true
}

// simplerFault takes fault n out, then each option of those up to end.
func simplerFault(s Schedule, i int, tool string, n, end int, d *drawer, yield func(step) bool) bool {
	out := func(c *Schedule) {
		f := c.Actions[i].Faults
		if f[tool] = slices.Delete(f[tool], n, n+1); len(f[tool]) == 0 {
			delete(f, tool)
		}
	}
	same := n > 0 && s.Actions[i].Faults[tool][n] == s.Actions[i].Faults[tool][n-1] // without either it is one schedule
	if !same && !yield(out) {
		return false
	}
	if refused := d.tool(tool).refused; len(refused) > 0 && n+1 < len(s.Actions[i].Faults[tool]) {
		faults := s.Actions[i].Faults[tool]
		worded := faults[len(faults)-1]
		worded.Class, worded.Hang, worded.Done, worded.Hint, worded.Form = refused[0].Class, refused[0].Hang, refused[0].Done, 0, HintSeconds
		for _, last := range []Fault{refused[0], worded} {
			cut := func(c *Schedule) { // what follows was there to use the attempts up
				f := c.Actions[i].Faults
				f[tool] = append(f[tool][:n], last)
			}
			if !yield(cut) {
				return false
			}
		}
	}
	for _, without := range []func(*Fault){
		func(f *Fault) { f.Hint, f.Form = 0, HintSeconds },
		func(f *Fault) { f.Form = HintSeconds },
		withoutLastItem,
		withoutFirstItem,
		func(f *Fault) { f.Empty = false },
		func(f *Fault) { f.Latency = 0 },
		func(f *Fault) { f.Body = 0 },
		func(f *Fault) { f.Twice = false },
		func(f *Fault) { f.Done, f.Work = f.works(), 0 },
		func(f *Fault) { f.Done, f.Work, f.Twice = false, 0, false },
		func(f *Fault) { f.Deaf = false },
		func(f *Fault) { f.Cancel = 0 },
		func(f *Fault) { f.Crash = 0 },
		func(f *Fault) { f.Drain = 0 },
		func(f *Fault) { f.Say = "" },
		func(f *Fault) { f.Advice = trace.AdviceNone },
		func(f *Fault) { f.Wrap = WrapNone },
		func(f *Fault) { f.Panic = false },
		func(f *Fault) { f.Move = MoveNone },
		func(f *Fault) { f.Valid = 0 },
		func(f *Fault) {
			if f.Move == MoveStubborn {
				f.Move = MoveAgain
			}
		},
	} {
		f := s.Actions[i].Faults[tool][n]
		if without(&f); f == s.Actions[i].Faults[tool][n] {
			continue
		}
		if !yield(func(c *Schedule) { set(c.Actions[i].Faults[tool], n, end, f) }) {
			return false
		}
	}
	return true
}

// with returns a changed deep copy of s.
func with(s Schedule, change step) Schedule {
	c := s
	c.Actions, c.Outages, c.Quotas = slices.Clone(s.Actions), slices.Clone(s.Outages), slices.Clone(s.Quotas)
	c.Buckets = slices.Clone(s.Buckets)
	c.Serial, c.Expiries = slices.Clone(s.Serial), slices.Clone(s.Expiries)
	for i := range c.Actions {
		faults := make(map[string][]Fault, len(c.Actions[i].Faults))
		for tool, list := range c.Actions[i].Faults {
			faults[tool] = slices.Clone(list)
		}
		c.Actions[i].Faults = faults
	}
	change(&c)
	for i := range c.Actions {
		if p := &c.Actions[i]; p.Restart != 0 && p.deaths() == 0 {
			p.Restart = 0
		}
		if p := &c.Actions[i]; p.Grace != 0 && p.drains() == 0 {
			p.Grace = 0
		}
	}
	return c
}
