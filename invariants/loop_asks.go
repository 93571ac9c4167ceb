package invariants

import (
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// ofAsks are the rules of a policy that hold for the attempts of one ask by itself.
var ofAsks = []string{
	"attempt-timeout", "whole-attempt", "new-credential-used", "refreshed-once", "refresh-shared",
	"rejected-payload", "protected-arguments", "correction-grounded", "corrected-once",
	"no-retry-after-refusal", "stop-after-success", "same-arguments", "hint-honoured", "waits-in-window",
	"advice-heeded", "reconciled-first", "attempts-bounded", "within-budget", "within-spend", "hedged", "no-overlap", "conforms",
}

// notOfTurns are those of them that a turn cannot break: its calls have no arguments,
// and a reply ends it.
var notOfTurns = []string{"same-arguments", "stop-after-success"}

// ofIntentions are those that hold for all attempts of an intention together.
var ofIntentions = []string{"one-key", "one-effect"}

// pick returns the rules of the policy that have one of the names.
func (p *Policy) pick(names []string) []Invariant {
	return slices.DeleteFunc(p.Invariants(), func(inv Invariant) bool { return !slices.Contains(names, inv.Name) })
}

// A cutter makes a part of a trace in which each ask, or each intention, is an action.
type cutter struct {
	slice
	whole  *trace.Trace
	runs   map[string]*cutting
	calls  map[int]string // call → its action in the part
	apart  bool           // by intention: nothing but attempts and their effects
	closed map[int]string // answers that end an ask → the error that it ends with
}

// A cutting is a run while it is cut.
type cutting struct {
	a      *trace.Action
	groups map[grouping]string // → name of the action
	active []string            // those that were called since a model was
	twins  map[int]bool        // asks whose calls cannot be told from those of another one
	skip   bool
}

// A grouping is what is one action in the part.
type grouping struct {
	ask int
	of  intention
}

func (l *Loop) asksOf(p *Policy) func(*trace.Trace) *slice {
	return func(tr *trace.Trace) *slice {
		c := newCutter(tr)
		for _, r := range l.runsOf(p, tr) {
			c.ends(r)
		}
		return c.cut()
	}
}

func intentionsOf(tr *trace.Trace) *slice {
	c := newCutter(tr)
	c.apart = true
	return c.cut()
}

func newCutter(tr *trace.Trace) *cutter {
	c := &cutter{whole: tr, runs: map[string]*cutting{}, calls: map[int]string{}, closed: map[int]string{}}
	c.slice = sliceOf(tr)
	actions := tr.Actions()
	for i := range actions {
		a := &actions[i]
		c.runs[a.Name] = &cutting{a: a, groups: map[grouping]string{}, skip: len(a.Restarts) > 0} // an ask may go on in another life
	}
	return c
}

// ends notes the asks of the run that were brought to their end: the model was shown
// what came of them, nothing had cut the run short, and nobody asked for the same
// again, so that giving up too early can be seen.
func (c *cutter) ends(r *run) {
	times, twins := map[intention]int{}, map[int]bool{}
	for i := range r.asks {
		times[r.asks[i].intention()]++
		if r.twin(&r.asks[i]) {
			twins[r.asks[i].N] = true
		}
	}
	c.runs[r.a.Name].twins = twins
	for i := range r.asks {
		k := &r.asks[i]
		next := r.turns[k.turn].Next
		if next < 0 || times[k.intention()] > 1 || len(k.Attempts) == 0 || r.limited(next) {
			continue
		}
		last, whole := -1, true
		r.each(k, func(w *work) {
			whole = whole && w.at != nil && w.seen && w.answer >= 0 && w.answer < next && w.at.Interrupted == 0
			last = max(last, w.answer)
		})
		if f, _ := r.fate(k); whole {
			c.closed[last] = ""
			if f == fateFailed {
				c.closed[last] = "the ask failed"
			}
		}
	}
}

// limited reports whether something that is no business of one ask may have cut the
// run short before the event.
func (r *run) limited(event int) bool {
	at := r.tr.Events[event].At
	return r.a.Cancelled() && r.a.Cancel <= at || r.a.Deadline != 0 && r.a.Deadline <= at ||
		r.l.Attempts > 0 && len(r.a.Attempts) >= r.l.Attempts || r.l.Intention > 0
}

// cut walks over the whole.
func (c *cutter) cut() *slice {
	for i := range c.whole.Events {
		e := &c.whole.Events[i]
		if r := c.runs[e.Action]; r != nil && !r.skip && !e.Ambiguous {
			c.take(r, i, e)
		}
	}
	return &c.slice
}

func (c *cutter) take(r *cutting, i int, e *trace.Event) {
	switch e.Kind {
	case trace.KindCall:
		switch {
		case e.Role == trace.RoleAttempt:
			c.attempt(r, i, e)
		case e.Role == trace.RoleModel:
			r.active = r.active[:0]
		case talking(e.Role) || c.apart:
		case len(r.active) == 1:
			c.calls[e.Call] = r.active[0]
			c.add(c.whole, i, r.active[0])
		case len(r.active) > 1: // it may be of any of them
			c.add(c.whole, i, "").Ambiguous = true
		}
	case trace.KindAnswer, trace.KindInterrupt, trace.KindEffect:
		name, mine := c.calls[e.Call]
		if !mine {
			return
		}
		c.add(c.whole, i, name)
		if err, ends := c.closed[i]; ends && e.Kind == trace.KindAnswer {
			c.end(c.whole, i, name, err)
		}
	case trace.KindWait:
		if len(r.active) == 1 && !c.apart {
			c.add(c.whole, i, r.active[0])
		}
	}
}

// attempt takes over an attempt, as one of the action that it belongs to.
func (c *cutter) attempt(r *cutting, i int, e *trace.Event) {
	if r.twins[e.Ask] {
		return
	}
	g := grouping{ask: e.Ask}
	if g.ask == 0 || c.apart {
		g = grouping{of: intention{tool: e.Tool}}
		if e.Outcome.Items == "" { // the requests of a batch differ
			g.of.args = string(e.Args)
		}
	}
	name, known := r.groups[g]
	if !known {
		name = partName(r.a.Name, len(r.groups))
		r.groups[g] = name
		c.begin(c.whole, i, name, r.a.Deadline)
	}
	if !slices.Contains(r.active, name) {
		if len(r.active) > 1 {
			r.active = r.active[:1] // two are as undecided as many
		}
		r.active = append(r.active, name)
	}
	c.calls[e.Call] = name
	c.add(c.whole, i, name)
}
