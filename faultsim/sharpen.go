package faultsim

import "slices"

// catchAll is the invariant that knows all of the policy and names nothing.
const catchAll = "conforms"

// sharpen looks for a narrower name of the failure. The drawn schedule may
// have shown only that something does not conform, where the small one, the same
// with a caller who stays, or with a reply lost after the work was done, shows what.
func (c *check) sharpen(f *failure, runs int) {
	if f.name != catchAll {
		return
	}
	s, r := f.s, f.r
	if r.narrow() == "" {
		if s, r = c.patient(f.s); r == nil {
			s, r = c.done(f.s)
		}
		if r == nil {
			return
		}
	}
	name := r.narrow()
	c.advice = ""
	c.replace(f, c.shrink(s, name, runs), name)
}

// narrow is the first finding's invariant apart from the catch-all's; empty: none.
func (r *result) narrow() string {
	for i := range r.found {
		if r.found[i].Invariant != catchAll {
			return r.found[i].Invariant
		}
	}
	return ""
}

// patient returns the schedule with callers that neither leave nor have a deadline, if
// that breaks a narrower rule: what the code was about to do when they left. nil: it
// does not.
func (c *check) patient(s Schedule) (Schedule, *result) {
	left := with(s, func(c *Schedule) {
		for i := range c.Actions {
			c.Actions[i].orphan()
		}
	})
	if left.String() == s.String() {
		return s, nil
	}
	return left, c.narrower(&left)
}

// narrower is a run of the schedule that breaks a narrower rule; nil: it does not.
func (c *check) narrower(s *Schedule) *result {
	if r := c.trial(s); r.err == nil && r.narrow() != "" {
		return r
	}
	return nil
}

// worked is an attempt under which a process is told to stop, and whose tool has
// done its work by then; any other fault is as it was.
func (f Fault) worked() Fault {
	if f.Drain == 0 {
		return f
	}
	return Fault{Latency: f.Latency, Drain: f.Drain, Done: true}
}

// done returns the schedule with one reply lost, after the tool has done its
// work, that breaks a narrower rule; nil: there is none. The failure stays the same one
// to the code, where it can, so that what it breaks is what was found: another failure
// might show another mistake.
func (c *check) done(s Schedule) (Schedule, *result) {
	for i := range s.Actions {
		for name, faults := range inOrder(s.Actions[i].Faults) {
			tool := c.drawer.tool(name)
			for n, f := range faults {
				for _, g := range []Fault{tool.lost(f), f.worked()} {
					if g == f {
						continue
					}
					changed := with(s, func(c *Schedule) { c.Actions[i].Faults[name][n] = g })
					if r := c.narrower(&changed); r != nil {
						return changed, r
					}
				}
			}
		}
	}
	return s, nil
}

// lost is the failure with the work done, where the tool can fail so. Of one that takes
// long the code may have seen nothing but its own timeout: that is any failure with the
// work done.
func (t *drawnTool) lost(f Fault) Fault {
	for _, g := range slices.Concat(t.retried, t.refused) {
		switch {
		case g.Done && g.Class == f.Class && g.Hang == f.Hang:
			f.Done = true
			return f
		case g.Done && f.Latency > 0:
			if !g.Hang {
				g.Latency = f.Latency
			}
			return g
		}
	}
	return f
}
