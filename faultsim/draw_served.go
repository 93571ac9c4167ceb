package faultsim

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

// forServed draws calls of a tool under test: two to five, most of them with
// one key, in turn or at once, with faults of the tools below in the first ones.
func (d *drawer) forServed(t *source) Schedule {
	s := Schedule{Actions: make([]Plan, 2+below(t, 4))}
	for i := range s.Actions {
		s.Actions[i] = d.servedCall(t.nth(i), i)
	}
	if s.AtOnce = coin(t); s.AtOnce && coin(t) {
		d.dwell(t.of("dwell"), &s.Actions[0])
	}
	if d.crashes && oneIn(t, 2) {
		d.dies(t.of("death"), &s)
	}
	return s
}

// dies has the process die in one of the first calls: while a tool below is at
// work or when it has answered, or at a write of the disk.
func (d *drawer) dies(t *source, s *Schedule) {
	s.AtOnce = false
	p := &s.Actions[below(t, 2)]
	p.Deadline, p.Cancel, p.Faults = 0, 0, map[string][]Fault{}
	switch below(t, 3) {
	case 0:
		p.CrashBeforeWrite = 1 + below(t, 3)
	case 1:
		p.CrashAfterWrite = 1 + below(t, 3)
	default:
		if len(d.tools) == 0 {
			p.CrashAfterWrite = 1
			return
		}
		latency := time.Duration(1+below(t, 256))*10*time.Millisecond + 70
		f := Fault{Done: coin(t), Latency: latency, Crash: latency / 2}
		p.Faults[d.tools[below(t, len(d.tools))].name] = []Fault{f}
	}
	if coin(t) {
		p.Restart = d.lull(t)
	}
}

// servedCall draws one call. What comes before the third is faulty more often:
// there is something left to come behind it.
func (d *drawer) servedCall(t *source, i int) Plan {
	p := Plan{Faults: map[string][]Fault{}}
	if d.repeats.By == invariants.ByKey {
		d.ask(t.of("key"), &p)
	}
	if i > 0 && oneIn(t, 2) {
		p.After = d.lull(t)
	}
	if i > 2 || i > 0 && coin(t) || i == 2 && coin(t) {
		return p
	}
	for n := range d.tools {
		if faults := d.servedFaults(t.double(d.tools[n].name), &d.tools[n]); len(faults) > 0 {
			p.Faults[d.tools[n].name] = faults
		}
	}
	d.departs(t.of("departs"), &p)
	return p
}

// ask draws the key and the arguments.
func (d *drawer) ask(t *source, p *Plan) {
	if oneIn(t, 2) {
		p.Key = 1 + below(t, len(d.served.keys))
	}
	if p.Key == 1 {
		p.Key = 0
	}
	if d.repeats.Keyless != invariants.KeylessAny && oneIn(t, 3) {
		p.Key = NoKey
	}
	p.Other = d.served.hasOther && oneIn(t, 2)
}

// lull draws the time before a call: within a second, around the lease, just
// before the key need no longer be known, or long.
func (d *drawer) lull(t *source) time.Duration {
	whole := d.repeats.Retention
	if whole == 0 {
		whole = 64 * 24 * time.Hour
	}
	pauses := []time.Duration{time.Second, time.Minute, whole / 4, whole - whole/64}
	if lease := d.repeats.Lease; lease > 0 {
		pauses = append(pauses, lease/2, lease+time.Second)
	}
	return (pauses[below(t, len(pauses))] / 1024 * time.Duration(1+below(t, 1024))).Truncate(10) + 10
}

// servedFaults draws how a tool below answers: now and then with a success that
// takes its time, in which others can come.
func (d *drawer) servedFaults(t *source, tool *drawnTool) []Fault {
	faults := make([]Fault, below(t, 4))
	for n := range faults {
		f, t := &faults[n], t.nth(n)
		if all := slices.Concat(tool.retried, tool.refused); len(all) > 0 && coin(t) {
			*f = all[below(t, len(all))]
		} else if coin(t) {
			f.Done = true
		}
		if !f.Hang && coin(t) {
			f.Latency = time.Duration(1+below(t, 256))*10*time.Millisecond + 70
		}
		if !tool.can(f) {
			*f = Fault{}
		}
	}
	return faults
}

// dwell has the first call under way for a while, so that others come meanwhile.
func (d *drawer) dwell(t *source, p *Plan) {
	if len(d.tools) == 0 {
		return
	}
	name := d.tools[0].name
	if len(p.Faults[name]) == 0 {
		p.Faults[name] = make([]Fault, 1)
	}
	if f := &p.Faults[name][0]; !f.Hang && f.Latency == 0 {
		f.Latency = time.Duration(1+below(t, 256))*10*time.Millisecond + 70
	}
}

// departs draws that the caller leaves: at once, or while a tool below is at
// work. It does so wherever one never answers, since nobody else need end that.
func (d *drawer) departs(t *source, p *Plan) {
	leaves, hangs := oneIn(t, 3), p.hangs()
	if !hangs && !leaves {
		return
	}
	at := odd(time.Duration(1+below(t, 256)) * 10 * time.Millisecond)
	switch {
	case coin(t):
		p.Deadline = at
	case !hangs && coin(t):
		p.Cancel = -1
	default:
		p.Cancel = at
	}
}

// hangs reports whether a tool below does not answer in this call.
func (p *Plan) hangs() bool {
	for _, faults := range p.Faults {
		if slices.ContainsFunc(faults, func(f Fault) bool { return f.Hang }) {
			return true
		}
	}
	return false
}

// endless reports whether a call hangs that nobody ends.
func endless(s *Schedule) bool {
	return slices.ContainsFunc(s.Actions, func(p Plan) bool { return p.hangs() && p.Deadline == 0 && p.Cancel == 0 })
}
