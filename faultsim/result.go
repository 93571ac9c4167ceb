package faultsim

import (
	"errors"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A result is a judged trial.
type result struct {
	tr    *trace.Trace
	found []invariants.Finding
	err   error
	other *trace.Difference // to a second run of the same trial; nil: none, or there was no second one

	applied []bool   // by number of the invariant: it could have been broken; nil: nobody counts
	labels  []string // the adapter's own, of a drawn trial
	unmet   string   // of a trial that is shown: see Result.Unmet
}

func (r *result) broken() bool { return len(r.found) > 0 }

// passes reports whether there is nothing to tell of the trial.
func (r *result) passes() bool { return !r.broken() && r.err == nil && r.other == nil }

// breaks reports whether the invariant is among the findings.
func (r *result) breaks(name string) bool {
	for i := range r.found {
		if r.found[i].Invariant == name {
			return true
		}
	}
	return false
}

// broke lists the invariants that are broken, each once, in the order of the findings:
// the catch-all only where no other one that the contract implies says more.
func (c *check) broke(r *result) []string {
	var names []string
	told := false
	for i := range r.found {
		name := r.found[i].Invariant
		own := slices.ContainsFunc(c.a.Invariants, func(inv invariants.Invariant) bool { return inv.Name == name })
		told = told || !own && name != catchAll
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return told && name == catchAll })
}

// unending is the name of the rule that every action returns.
const unending = "returns"

// longTrace is how many events are many to read, and to play again and again.
const longTrace = 2000

// leadsShort lets the rule that broke first lead the findings on a long trace that shows
// that the code does not return, in the place of that one: a much smaller schedule shows
// it.
func (r *result) leadsShort() {
	if !r.broken() || r.found[0].Invariant != unending || len(r.tr.Events) < longTrace {
		return
	}
	first, at := unending, len(r.tr.Events)
	for i := range r.found {
		f := &r.found[i]
		if n := len(f.Events); n > 0 && f.Events[n-1] < at && f.Invariant != catchAll && f.Invariant != unending {
			first, at = f.Invariant, f.Events[n-1]
		}
	}
	r.lead(first)
}

// trial runs and judges one schedule alone, to see whether it breaks a rule. To
// look for the places of what is left behind takes longer with each leak.
func (c *check) trial(s *Schedule) *result {
	x := c.newTrial(s, nil)
	x.brief = true
	return c.alone(x)
}

// shown is trial for a result that is reported.
func (c *check) shown(s *Schedule) *result {
	x := c.newTrial(s, nil)
	r := c.alone(x)
	if r.err == nil && !r.broken() {
		if names := x.uncalled(); len(names) > 0 {
			r.unmet = x.unmet(names)
		}
	}
	return r
}

// breaksIn runs one schedule and judges it by one invariant. There is no trace where
// it could not be played. It may be written over a trace that nobody reads any more;
// nil: over none.
func (c *check) breaksIn(s *Schedule, name string, old *trace.Trace) (tr *trace.Trace, broken bool) {
	x := c.newTrial(s, old)
	x.brief = true
	tr, err := c.playAlone(x)
	if err != nil {
		return nil, false
	}
	for i := range c.invs {
		if c.invs[i].Name == name && slices.ContainsFunc(c.invs[i].Check(tr).Findings, c.alike) {
			return tr, true
		}
	}
	return tr, false
}

// alike reports whether a finding of the invariant that is made small is of the same
// kind. The catch-all has many, which its advice tells apart: a schedule that breaks it
// in another way shows another mistake.
func (c *check) alike(f invariants.Finding) bool {
	return c.advice == "" || f.Advice == c.advice || f.Invariant != catchAll
}

// kind is the advice of the first finding, where it is the catch-all's.
func (r *result) kind() string {
	if f := &r.found[0]; f.Invariant == catchAll {
		return f.Advice
	}
	return ""
}

func (c *check) alone(x *trial) *result {
	tr, err := c.playAlone(x)
	r := c.judge(tr, err, nil)
	return &r
}

func (c *check) playAlone(x *trial) (*trace.Trace, error) {
	c.played++
	tr, err := watched(c.t, x)
	if _, frozen := errors.AsType[*FrozenError](err); frozen {
		c.stands(err, x.s)
	} else {
		c.crowded = x.seeds() && !x.claim.seeded
	}
	return tr, err
}

// stands ends the test with the second trial that was run alone and whose clock stands
// still. Each costs ten seconds of real time; one may be of a step that shrinks another
// failure.
func (c *check) stands(err error, s *Schedule) {
	c.t.Helper()
	if c.frozen++; c.frozen > 1 {
		c.unplayable(err, s, "a failing trial, as it was run again", nil)
	}
}

// newTrial takes the storage of a trace that nobody reads any more, unless functions of
// the user have seen it: they may have kept it.
func (c *check) newTrial(s *Schedule, storage *trace.Trace) *trial {
	if c.a.Label != nil || len(c.a.Invariants) > 0 {
		storage = nil
	}
	x := newTrial(c.a, s, c.content, storage)
	x.rec.Beside = c.beside
	return x
}

// judge reads a trial's trace, and notes which invariants applied; nil: it does not.
func (c *check) judge(tr *trace.Trace, err error, applied []bool) result {
	r := result{tr: tr, err: err, applied: applied}
	if err != nil {
		return r
	}
	for i := range c.invs {
		v := c.invs[i].Check(tr)
		if applied != nil {
			applied[i] = v.Applied > 0
		}
		if len(v.Findings) == 0 {
			continue
		}
		if _, ok := c.a.Accept[c.invs[i].Name]; ok {
			c.seen.Store(c.invs[i].Name, true)
			continue
		}
		r.found = append(r.found, v.Findings...)
	}
	return r
}
