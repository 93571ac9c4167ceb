package faultsim

import (
	"errors"

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
		if c.invs[i].Name == name && len(c.invs[i].Check(tr).Findings) > 0 {
			return tr, true
		}
	}
	return tr, false
}

func (c *check) alone(x *trial) *result {
	tr, err := c.playAlone(x)
	r := c.judge(tr, err, nil)
	return &r
}

func (c *check) playAlone(x *trial) (*trace.Trace, error) {
	c.played++
	tr, err := watched(c.t, x)
	if _, frozen := errors.AsType[*FrozenError](err); !frozen {
		c.crowded = x.seeds() && !x.claim.seeded
	}
	return tr, err
}

func (c *check) newTrial(s *Schedule, storage *trace.Trace) *trial {
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
