package invariants

import (
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// passing is: after a failure that passes, and that certainly did nothing, a
// repeat does the work.
func (r Repeats) passing() Invariant {
	return r.groupRule("passing-failure-forgotten", "after a failure that passes, a repeat does the work", func(_ *trace.Trace, g group) (v Verdict) {
		for i := 1; i < len(g); i++ {
			c, d := &g[i-1], &g[i]
			if d.Code == CodeBusy || !d.smooth() || !r.free(g[:i], d) || g.contested(i) {
				continue
			}
			if v.Applied++; d.failed() {
				v.report(d.Action, fmt.Sprintf("a repeat with %s %s, though the call before had failed for a reason that passes and nothing stood in its way%s", r.says(d), d.ended(), untried(d)),
					"keep final outcomes only: where a tool below was not there, release the key, so that an honest repeat does the work", c.EndEvent, d.EndEvent)
			}
		}
		return v
	})
}

// free reports whether all calls before d are over and failed for a reason
// that passes, and certainly did nothing. Calls that asked for nothing, or that
// waited for one that failed so, do not count: see fresh-key-works.
func (r *Repeats) free(before group, d *served) bool {
	failed := false
	for i := range before {
		c := &before[i]
		definite := r.Failures == FailuresForgotten && c.failed() && c.lastIs(definiteClasses)
		failed = failed || c.passed() || definite
		forgotten := c.passed() || definite || c.idle() || c.joined(before[:i])
		if !c.over(d) || !forgotten && c.Code != CodeBusy || !r.sure(c) || !c.sameArgs(d) {
			return false
		}
		if r.Key == "" && len(c.effects) > 0 {
			return false
		}
	}
	return failed
}

// contested reports whether a later call wanted something else while this one was
// under way: the key may stand for that now.
func (g group) contested(i int) bool {
	d := &g[i]
	for j := range g[i+1:] {
		if c := &g[i+1+j]; (!d.Ended || c.BeginAt < d.EndEvent) && !c.sameArgs(d) {
			return true
		}
	}
	return false
}

func untried(d *served) string {
	if len(d.Attempts) == 0 {
		return "; no tool was asked again"
	}
	return ""
}

// definite is: a definite failure is answered again, or tried again, as declared.
func (r Repeats) definite() Invariant {
	text := "after a definite failure a repeat is answered with it, and no tool is asked again"
	if r.Failures == FailuresForgotten {
		text = "after a definite failure a repeat is tried anew"
	}
	return r.groupRule("definite-failure-as-declared", text, func(_ *trace.Trace, g group) (v Verdict) {
		if len(g) == 0 || !g[0].failed() || !g[0].lastIs(definiteClasses) || g[0].crashed() || !r.sure(&g[0]) {
			return v
		}
		c := &g[0]
		for i := range g[1:] {
			d := &g[1+i]
			if !c.sameArgs(d) {
				return v // the key may stand for that now
			}
			if !c.over(d) || d.left() || !d.Ended || d.Code == CodeBusy || r.Failures == FailuresForgotten && (!r.free(g[:1+i], d) || g.contested(1+i)) {
				continue
			}
			v.Applied++
			switch {
			case r.Failures == FailuresKept && (len(d.Attempts) > 0 || d.Error != c.Error):
				v.report(d.Action, fmt.Sprintf("a repeat with %s %s, and the contract says that it is answered with the failure before: %q", r.says(d), d.ended(), c.Error),
					"keep a definite failure with the key, as a result is kept, or declare FailuresForgotten", c.EndEvent, d.EndEvent)
				return v
			case r.Failures == FailuresForgotten && len(d.Attempts) == 0 && d.failed():
				v.report(d.Action, fmt.Sprintf("a repeat with %s %s without a new try, and the contract says that failures are forgotten", r.says(d), d.ended()),
					"release the key where the call fails, or declare FailuresKept", c.EndEvent, d.EndEvent)
				return v
			}
		}
		return v
	})
}

// fresh is: a call with a key under which nothing was asked for yet does its work, whatever was
// done for other keys.
func (r Repeats) fresh() Invariant {
	const name = "fresh-key-works"
	return Invariant{Name: name, Rule: "a call with a new key does its work, whatever was done for others", Check: func(tr *trace.Trace) (v Verdict) {
		for _, g := range r.groups(tr) {
			c := g.first()
			if c == nil || !c.smooth() || c.Code == CodeBusy || r.By == ByKey && accompanied(tr, c) {
				continue
			}
			if v.Applied++; c.failed() {
				w := Verdict{}
				w.report(c.Action, fmt.Sprintf("the first call with %s %s, and nothing stood in its way", r.says(c), c.ended()),
					"know a repeat by its key and nothing else: two orders can look alike", c.BeginAt, c.EndEvent)
				v.add(name, w)
			}
		}
		return v
	}}
}

// first is the first call of the group that asked for anything; nil where there
// is none, or where an earlier one was still under way or wanted something else.
func (g group) first() *served {
	for i := range g {
		if !g[i].idle() {
			return &g[i]
		}
		if i+1 < len(g) && (!g[i].over(&g[i+1]) || !g[i].sameArgs(&g[i+1])) {
			return nil
		}
	}
	return nil
}

// accompanied reports whether any other call was under way while c was: a tool
// may do one thing at a time, and say so.
func accompanied(tr *trace.Trace, c *served) bool {
	actions := tr.Actions()
	for i := range actions {
		a := &actions[i]
		if a.BeginAt != c.BeginAt && a.BeginAt < c.EndEvent && (!a.Ended || a.EndEvent > c.BeginAt) {
			return true
		}
	}
	return false
}
