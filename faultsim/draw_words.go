package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// garnish adds what is rare to a schedule that has been drawn: the words and
// the packing of errors, and when work is done. Most failures look like themselves.
func (d *drawer) garnish(t *source, s *Schedule) {
	defer d.spells(t.of("spells"), s)
	for i := range s.Actions {
		for n := range d.tools {
			tool := &d.tools[n]
			faults := s.Actions[i].Faults[tool.name]
			if len(faults) > longestGarnished {
				continue // an overflow needs plain failures, and many
			}
			own := t.nth(i).double(tool.name)
			for n := range faults {
				f, t := &faults[n], own.nth(n)
				if !f.Hang && f.class() != trace.OK && d.may(words) && oneIn(t, 3) {
					tool.words(t, f)
				}
				if f.Done && coin(t) {
					d.work(t, f, n+1)
				}
			}
		}
	}
}

const longestGarnished = 17 // as many as a streak has

// words gives a failing answer, where the tool can, the words of a lie or a
// packing.
func (t *drawnTool) words(r *source, f *Fault) {
	g := *f
	if coin(r) {
		g.Say = lies[below(r, len(lies))]
	} else {
		g.Wrap = wrapForms[1+below(r, len(wrapForms)-1)]
	}
	if t.can(&g) {
		*f = g
	}
}

// work draws when the work of a lost reply is done: before the caller sees the
// outcome, just after it, in the wait that follows or long after it. Of a call
// with a key it may be delivered twice. The instants keep off all others.
func (d *drawer) work(t *source, f *Fault, n int) {
	_, hi := d.p.Backoff.Window(n, 0)
	seen := d.seen(f)
	at := [...]time.Duration{seen / 2, seen + 10, seen + min(hi, time.Hour)/2, 2*seen + 2*min(hi, time.Hour) + time.Second}[below(t, 4)]
	f.Work = at.Truncate(10) + 17
	f.Twice = d.p.Key != "" && coin(t)
}

// serial lets, every second time that actions run at once, a tool serve one call
// at a time.
func (d *drawer) serial(t *source, s *Schedule) {
	if s.AtOnce && len(d.tools) > 0 && coin(t) {
		s.Serial = []string{d.tools[below(t, len(d.tools))].name}
	}
}

// spells draws, now and then, an outage, a quota or a bucket of a tool, in place of a part
// of its own faults.
func (d *drawer) spells(t *source, s *Schedule) {
	if len(d.tools) == 0 || !d.may(spells) || !oneIn(t, 4) {
		return
	}
	tool := &d.tools[below(t, len(d.tools))]
	quota := Quota{Tool: tool.name, N: 1 + below(t, 3), Per: time.Duration(1+below(t, 16)) * time.Second}
	if over := quota.over(0); coin(t) && tool.can(&over) {
		if coin(t) {
			s.Buckets = []Bucket{{tool.name, quota.N, quota.Per}}
		} else {
			s.Quotas = []Quota{quota}
		}
		return
	}
	if f := tool.down(); f.Class != 0 {
		from := min(coinOr(t, d.moment(t)), longestTime/4)
		s.Outages = []Outage{{tool.name, from, from + min(d.moment(t), longestTime/4) + 10, f.Class}}
	}
}

// down is the plainest failure of a tool that answers.
func (t *drawnTool) down() Fault {
	for _, f := range append(slices.Clone(t.retried), t.refused...) {
		if !f.Hang {
			return f
		}
	}
	return Fault{}
}

// coinOr is nothing or d.
func coinOr(t *source, d time.Duration) time.Duration {
	if coin(t) {
		return 0
	}
	return d
}
