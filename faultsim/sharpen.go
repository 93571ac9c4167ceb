package faultsim

// catchAll is the invariant that knows all of the policy and names nothing.
const catchAll = "conforms"

// sharpen looks for a narrower name of the failure. The drawn schedule may
// have shown only that something does not conform, where the small one, or the
// same with a reply lost after the work was done, shows what.
func (c *check) sharpen(f *failure, runs int, alike bool) {
	if f.name != catchAll {
		return
	}
	s, r := f.s, f.r
	if r.narrow() == "" {
		if s, r = c.done(s); r == nil {
			return
		}
	}
	name := r.narrow()
	c.replace(f, c.shrink(s, name, runs), name, alike)
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

// worked is an attempt under which a process is told to stop, and whose tool has
// done its work by then; any other fault is as it was.
func (f Fault) worked() Fault {
	if f.Drain == 0 {
		return f
	}
	return Fault{Latency: f.Latency, Drain: f.Drain, Done: true}
}

// done returns the schedule with one reply lost, after the tool has done its
// work, that breaks a narrower rule; nil: there is none.
func (c *check) done(s Schedule) (Schedule, *result) {
	losses := c.drawer.first(func(f Fault) bool { return f.Done })
	for i := range s.Actions {
		for tool, faults := range inOrder(s.Actions[i].Faults) {
			lost, ok := losses[tool]
			for n := 0; ok && n < len(faults); n++ {
				if !lost.Hang {
					lost.Latency = faults[n].Latency
				}
				for _, f := range []Fault{lost, faults[n].worked()} {
					changed := with(s, func(c *Schedule) { c.Actions[i].Faults[tool][n] = f })
					if r := c.trial(&changed); r.err == nil && r.narrow() != "" {
						return changed, r
					}
				}
			}
		}
	}
	return s, nil
}
