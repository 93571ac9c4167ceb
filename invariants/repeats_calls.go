package invariants

import (
	"fmt"
	"math"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A served call is one call of the tool whose contract is [Repeats].
type served struct {
	*trace.Action
	quiet   int           // index of the last event that shows it or its work alive; math.MaxInt: no end of it is seen
	lastAt  time.Duration // instant of that event
	effects []int         // those that are counted
}

// A group is the calls that share a key, in the order in which they begin. Of
// a tool that knows repeats by the state it is those with equal arguments.
type group []served

// groups sorts the calls of the trace. Calls without a key belong to none, and
// neither do those that come when the key need no longer be known.
func (r *Repeats) groups(tr *trace.Trace) []group {
	var all []group
	actions := tr.Actions()
	for i := range actions {
		a := &actions[i]
		if a.BeginAt < 0 || r.By == ByKey && a.Key == "" {
			continue
		}
		g := r.groupOf(&all, a)
		if len(*g) > 0 && r.Retention > 0 && a.Begin >= (*g)[0].Begin+r.Retention {
			continue
		}
		*g = append(*g, r.call(tr, a))
	}
	return all
}

// groupOf finds the group that the call belongs to, or makes it.
func (r *Repeats) groupOf(all *[]group, a *trace.Action) *group {
	for i := range *all {
		first := (*all)[i][0]
		if r.By == ByKey && first.Key == a.Key || r.By == ByState && trace.SameArgs(first.Args, a.Args) {
			return &(*all)[i]
		}
	}
	*all = append(*all, nil)
	return &(*all)[len(*all)-1]
}

// call reads what a call and its work left in the trace.
func (r *Repeats) call(tr *trace.Trace, a *trace.Action) served {
	c := served{Action: a, quiet: a.EndEvent}
	if !a.Ended {
		c.quiet = math.MaxInt
	}
	for i := range a.Attempts {
		if a.Attempts[i].AnswerEvent < 0 && !c.crashed() {
			c.quiet = math.MaxInt
		}
		c.quiet = max(c.quiet, a.Attempts[i].AnswerEvent)
	}
	for _, e := range a.Effects {
		c.quiet = max(c.quiet, e)
		if r.Work == "" || tr.Events[e].Tool == r.Work {
			c.effects = append(c.effects, e)
		}
	}
	if c.quiet < len(tr.Events) {
		c.lastAt = tr.Events[c.quiet].At
	}
	return c
}

// allowed is how many effects the work of one key has.
func (r *Repeats) allowed() int { return max(r.Effects, 1) }

// crashed reports whether the tool's process died in the call.
func (c *served) crashed() bool { return len(c.Restarts) > 0 }

// succeeded reports whether the call returned no error and none of its attempts
// was a decline, which is a valid answer and no work.
func (c *served) succeeded() bool { return c.Ended && c.Error == "" && !c.declined() }

// failed reports whether the call returned an error.
func (c *served) failed() bool { return c.Ended && c.Error != "" }

func (c *served) declined() bool {
	n := len(c.Attempts)
	return n > 0 && c.Attempts[n-1].Outcome.Class != trace.OK && c.Error == ""
}

// left reports whether the caller went away before the call ended, the process
// died, or something happened that has a rule of its own.
func (c *served) left() bool {
	return len(c.Troubles) > 0 || c.crashed() || c.Cancelled() || c.Deadline != 0 && (!c.Ended || c.End >= c.Deadline)
}

// smooth reports whether nothing stood in the call's way: every tool that it
// asked answered, and its caller stayed.
func (c *served) smooth() bool {
	for i := range c.Attempts {
		if c.Attempts[i].Outcome.Class != trace.OK {
			return false
		}
	}
	return c.Ended && !c.left()
}

// over reports whether the call and its work were over when d began.
func (c *served) over(d *served) bool { return c.quiet < d.BeginAt }

// returned reports whether the call had returned when d began.
func (c *served) returned(d *served) bool { return c.Ended && c.EndEvent < d.BeginAt }

// sameArgs reports whether the two calls ask for the same.
func (c *served) sameArgs(d *served) bool { return trace.SameArgs(c.Args, d.Args) }

// sure reports whether no attempt of the call can have done anything that a
// new attempt would do again, as far as the tool can know.
func (r *Repeats) sure(c *served) bool {
	if r.Key != "" {
		return true
	}
	if c.crashed() {
		return false
	}
	p := Policy{Undone: r.Undone}
	for i := range c.Attempts {
		if p.effect(&c.Attempts[i].Outcome) != trace.EffectNotDone {
			return false
		}
	}
	return true
}

var (
	passingClasses  = classSet(trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected, trace.Cancelled)
	definiteClasses = classSet(trace.Invalid, trace.NotFound, trace.Conflict, trace.Forbidden, trace.Declined)
)

// joined reports whether the call failed without asking for anything while an
// earlier one that failed for a reason that passes was under way: it waited for it.
func (c *served) joined(before group) bool {
	if !c.failed() || len(c.Attempts) > 0 || len(c.Effects) > 0 {
		return false
	}
	for i := range before {
		if b := &before[i]; b.passed() && !b.returned(c) {
			return true
		}
	}
	return false
}

// lastIs reports whether the last attempt of the call failed in one of the classes.
func (c *served) lastIs(set classes) bool {
	n := len(c.Attempts)
	return n > 0 && set.has(c.Attempts[n-1].Outcome.Class)
}

// passed reports whether the call failed for a reason that passes: a tool below
// was not there for it, or the process died.
func (c *served) passed() bool { return c.crashed() || c.failed() && c.lastIs(passingClasses) }

// idle reports whether the caller left before the call asked for anything.
func (c *served) idle() bool {
	return c.failed() && c.left() && !c.crashed() && len(c.Attempts) == 0 && len(c.Effects) == 0
}

// groupRule makes an invariant of a function that looks at one group.
func (r Repeats) groupRule(name, text string, look func(tr *trace.Trace, g group) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) Verdict {
		var v Verdict
		for _, g := range r.groups(tr) {
			v.add(name, look(tr, g))
		}
		return v
	}}
}

// says is what the group has in common, for a finding.
func (r *Repeats) says(c *served) string {
	if r.By == ByState || c.Key == "" {
		return "these arguments"
	}
	return fmt.Sprintf("key %q", c.Key)
}

// ended is how the call ended, for a finding.
func (c *served) ended() string {
	switch {
	case !c.Ended:
		return "did not return"
	case c.Error == "":
		return "succeeded"
	case c.Code != "":
		return fmt.Sprintf("was refused as %s (%q)", c.Code, c.Error)
	}
	return fmt.Sprintf("failed with %q", c.Error)
}
