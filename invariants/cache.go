package invariants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Cache is the contract of a cache in front of a tool, or of actions that share
// one request: for how long an answer may be served again. What is served is in
// the trace as an event of trace.KindHit, which is no attempt; see
// trace.Recorder.Hit (article: testing agent tool-call retry behavior: "label
// cache hits separately from tool executions in the trace"; field case F079).
//
// The contract is beside the policy, as [Breaker] is. The zero Cache keeps
// successes for good and failures not at all.
type Cache struct {
	// Tool is the tool whose answers are kept. Empty: every tool.
	Tool string

	// TTL is for how long a success may be served, from its answer on. 0: for
	// as long as the process lives.
	TTL time.Duration

	// FailureTTL is the same for a failure, from the end of the action that met
	// it on. 0: a failure is served to nobody
	// but the actions that waited for the same request.
	FailureTTL time.Duration
}

// Validate reports what cannot hold; nil where there is nothing.
func (c *Cache) Validate() error {
	var errs []error
	if c.TTL < 0 {
		errs = append(errs, fmt.Errorf("cache: TTL is %v: say 0 where answers are kept for good", c.TTL))
	}
	if c.FailureTTL < 0 {
		errs = append(errs, fmt.Errorf("cache: FailureTTL is %v: say 0 where failures are not kept", c.FailureTTL))
	}
	return errors.Join(errs...)
}

// Invariants returns the rules that the contract implies, each with the leave of
// [WhereItApplies]:
//
//   - cached-failure: a failure is served no longer than FailureTTL, not again
//     and again at one instant, and not where it is the end of another caller's time
//   - cache-fresh: a success that is served is the tool's own to the same
//     arguments, and no older than TTL
//   - cache-hit-no-call: after a success that was served the tool is not called
//     with the same arguments
//
// Put them before those of the policy: an action that is served a failure which
// nobody should keep looks like one that gave up.
func (c Cache) Invariants() []Invariant {
	if err := c.Validate(); err != nil {
		return []Invariant{unsound("cached-failure", err)}
	}
	return []Invariant{
		WhereItApplies(c.hits("cached-failure", "a failure is not served beyond its time", c.failure)),
		WhereItApplies(c.hits("cache-fresh", "what is served is what the tool answered, and not too old", c.fresh)),
		WhereItApplies(c.hits("cache-hit-no-call", "a call that was answered by a hit is not made", c.called)),
	}
}

// A hit is one answer without a call.
type hit struct {
	tr    *trace.Trace
	a     *trace.Action
	n     int // its number among the action's hits
	event int
	*trace.Event
}

// hits makes a rule of a function that looks at one hit.
func (c Cache) hits(name, text string, look func(*hit) Verdict) Invariant {
	return rule(name, text, func(tr *trace.Trace, a *trace.Action) (v Verdict) {
		for n, event := range a.Hits {
			e := &tr.Events[event]
			if c.Tool != "" && c.Tool != e.Tool {
				continue
			}
			w := look(&hit{tr, a, n, event, e})
			if v.Applied += w.Applied; len(w.Findings) > 0 {
				v.Findings = w.Findings
				return v
			}
		}
		return v
	})
}

func (h *hit) failed() bool { return h.Outcome.Class != trace.OK }

// An origin is an answer of the tool to the same arguments, and the action that
// asked for it.
type origin struct {
	at *trace.Attempt
	of *trace.Action
}

// since is the instant from which on a failure is kept: the answer, or the end of
// the action that gave up with it, which may have waited for a limit.
func (o origin) since(now time.Duration) time.Duration {
	if o.of.Ended && o.of.End <= now && o.of.Attempts[len(o.of.Attempts)-1].Event == o.at.Event {
		return max(o.at.End, o.of.End)
	}
	return o.at.End
}

// origins lists the answers before the hit that it may serve: failures or
// successes, the latest last. Where some of several failures have the words that
// were served, it was one of those.
func (h *hit) origins() (all []origin) {
	actions := h.tr.Actions()
	for i := range actions {
		for j := range actions[i].Attempts {
			b := &actions[i].Attempts[j]
			if b.Tool == h.Tool && b.AnswerEvent >= 0 && b.AnswerEvent < h.event && b.Outcome.Failed() == h.failed() && trace.SameArgs(b.Args, h.Args) {
				all = append(all, origin{b, &actions[i]})
			}
		}
	}
	slices.SortFunc(all, func(x, y origin) int { return x.at.AnswerEvent - y.at.AnswerEvent })
	said := slices.DeleteFunc(slices.Clone(all), func(o origin) bool {
		words := h.tr.Events[o.at.AnswerEvent].Error
		return words == "" || !strings.Contains(h.Error, words)
	})
	if len(said) > 0 {
		return said
	}
	return all
}

// failure is the rule of failures that are served.
func (c *Cache) failure(h *hit) (v Verdict) {
	if !h.failed() {
		return v
	}
	v.Applied++
	if again := h.again(); again >= 0 {
		v.report(h.a, fmt.Sprintf("a failure of %s that was kept was served twice at one instant", h.Tool),
			"wait before the next look, as after a failure of the tool itself, and count it among the attempts", h.event, again)
		return v
	}
	all := h.origins()
	for _, o := range all {
		if !h.gone(o) && h.At-o.since(h.At) <= c.FailureTTL {
			return v
		}
	}
	for _, o := range all {
		if h.gone(o) {
			v.report(h.a, fmt.Sprintf("%s was asked by %s, whose own time ended, and the failure was served to %s as well", h.Tool, named(o.of), named(h.a)),
				"let the request live for as long as somebody waits for it, or ask anew: a caller who leaves leaves alone", o.at.AnswerEvent, o.of.EndEvent, h.event)
			return v
		}
	}
	if len(all) > 0 {
		o := all[len(all)-1]
		last := o.at
		v.report(h.a, fmt.Sprintf("a failure of %s (%v) was served %v after it, failures may be served for %v", h.Tool, last.Outcome.Class, h.At-o.since(h.At), c.FailureTTL),
			"keep successes only, or give a failure a short time of its own: the next caller may do better", last.AnswerEvent, h.event)
	}
	return v
}

// gone reports whether another action had asked, and the failure is the end of
// that action's own time.
func (h *hit) gone(o origin) bool {
	if o.of.Name == h.a.Name || timeUp(h.a) {
		return false
	}
	cut := ended(o.at.Outcome.Class) && outOfTime(o.of, o.at)
	left := o.of.Ended && timeUp(o.of) && o.of.End == h.At && o.at.End < h.At // it was waiting
	return cut || left
}

func named(a *trace.Action) string {
	if a.Name == "" {
		return "an action"
	}
	return a.Name
}

// outOfTime reports whether the attempt ended when its caller's time did.
func outOfTime(a *trace.Action, at *trace.Attempt) bool {
	return a.Cancelled() && a.Cancel <= at.End || a.Deadline != 0 && a.Deadline <= at.End
}

// again is the action's next hit, where it serves a failure to the same
// arguments at the same instant and no call came between; -1: there is none.
func (h *hit) again() int {
	if h.n+1 >= len(h.a.Hits) {
		return -1
	}
	next := h.a.Hits[h.n+1]
	e := &h.tr.Events[next]
	if e.At != h.At || e.Tool != h.Tool || e.Outcome.Class == trace.OK || !trace.SameArgs(e.Args, h.Args) || calledBetween(h.a, h.event, next) {
		return -1
	}
	return next
}

// fresh is the rule of successes that are served.
func (c *Cache) fresh(h *hit) (v Verdict) {
	if h.failed() {
		return v
	}
	all := h.origins()
	if len(all) == 0 {
		if other := h.foreign(); other != nil {
			v.Applied++
			v.report(h.a, fmt.Sprintf("what was served for %s is the answer of %s to %s", short(h.Args), h.Tool, short(other.Args)),
				"put every argument that changes the answer into the cache's key", other.AnswerEvent, h.event)
		}
		return v
	}
	v.Applied++
	src := all[len(all)-1].at
	switch age := h.At - src.End; {
	case c.TTL > 0 && age > c.TTL:
		v.report(h.a, fmt.Sprintf("an answer of %s was served %v after it, answers may be served for %v", h.Tool, age, c.TTL),
			"look at the age of an entry where it is read, and count it from the answer on", src.AnswerEvent, h.event)
	case !trace.SameArgs(src.Result, h.Result):
		v.report(h.a, fmt.Sprintf("%s was served, %s had answered %s", short(h.Result), h.Tool, short(src.Result)),
			"serve what the tool answered last: copy it where it is kept, and put every argument into the key", src.AnswerEvent, h.event)
	}
	return v
}

// foreign is a success to other arguments with the result that was served; nil:
// there is none.
func (h *hit) foreign() *trace.Attempt {
	actions := h.tr.Actions()
	for i := range actions {
		for j := range actions[i].Attempts {
			b := &actions[i].Attempts[j]
			if b.Tool == h.Tool && b.AnswerEvent >= 0 && b.AnswerEvent < h.event && !b.Outcome.Failed() &&
				len(b.Result) > 0 && trace.SameArgs(b.Result, h.Result) {
				return b
			}
		}
	}
	return nil
}

// called is the rule of the calls behind a hit.
func (c *Cache) called(h *hit) (v Verdict) {
	if h.failed() {
		return v
	}
	v.Applied++
	for i := range h.a.Attempts {
		at := &h.a.Attempts[i]
		if at.Event > h.event && at.Tool == h.Tool && trace.SameArgs(at.Args, h.Args) {
			v.report(h.a, fmt.Sprintf("%s was called although its answer had been served", h.Tool),
				"return where the entry is found", h.event, at.Event)
			return v
		}
	}
	return v
}
