package invariants

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Recovers is: within so long after the faults have stopped, the program works
// again. Every action that was under way has ended by then, and every one that begins
// then or later succeeds. What says nothing of that, as an action that its caller
// leaves, is left out: see [trace.Recovery].
//
// A fault that has ended is no excuse for what fails behind it: a breaker that never
// probes, a flag that nobody looks at again, a place at a limiter that was never given
// back and a failure that is kept for ever outlive the outage that made them (Bronson
// et al., Metastable Failures in Distributed Systems, HotOS 2021). A trace in which
// the faults do not stop, as one without [trace.Recorder.Calm], is not judged.
//
// [Policy.Invariants] and [Contract.Invariants] have the rule with what is declared
// in place of a time; see [Contract].RecoversWithin.
func Recovers(within time.Duration) Invariant {
	if within < 0 {
		return unsound("recovers", fmt.Errorf("recovers: within is %v: say how long the program may take once the faults have stopped", within))
	}
	return recovers(&Contract{RecoversWithin: within}, false)
}

// recovers is Recovers of a program with the contract. declared says that the
// contract is the whole one: it then excuses what the program may do by it, and no
// time that is 0 is a promise to recover at once.
func recovers(c *Contract, declared bool) Invariant {
	return Invariant{Name: "recovers", Rule: "once the faults have stopped, actions end and succeed again", Check: func(tr *trace.Trace) (v Verdict) {
		calm := calmOf(tr)
		if calm < 0 {
			return v
		}
		g := regained{Recovery: tr.Recovery(), c: c, declared: declared, event: calm, tr: tr, sc: lookAt(tr), actions: tr.Actions()}
		for _, look := range []func() Verdict{g.ends, g.succeed, g.returns} {
			v.add("recovers", look())
			if len(v.Findings) > 0 {
				return v // what follows comes of it
			}
		}
		return v
	}}
}

// calmOf is the event at which the faults stop; -1: they do not.
func calmOf(tr *trace.Trace) int {
	for i := len(tr.Events) - 1; i >= 0; i-- {
		if tr.Events[i].Kind == trace.KindCalm {
			return i
		}
	}
	return -1
}

// A regained is a trace behind its calm.
type regained struct {
	trace.Recovery
	c        *Contract
	declared bool
	event    int // of the calm
	tr       *trace.Trace
	sc       scene
	actions  []trace.Action
}

// due is the instant by which the program works again.
func (g *regained) due() time.Duration { return plus(g.Calm, g.c.RecoversWithin) }

// timed reports whether a time is promised. Without one an action may take as long as
// its policy has it, which other rules know.
func (g *regained) timed() bool { return !g.declared || g.c.RecoversWithin > 0 }

// ends looks at the actions that have no end, or a late one.
func (g *regained) ends() (v Verdict) {
	for i := range g.actions {
		a := &g.actions[i]
		open := slices.Contains(g.Open, i)
		if !open && a.Begin < g.Calm {
			continue
		}
		v.Applied++
		hang := hangOf(g.tr, a)
		switch late := g.timed() && open && (a.Ended && a.End > g.due() || !a.Ended && goesOn(g.tr, g.due())); {
		case hang >= 0 && !a.Ended:
			v.report(a, fmt.Sprintf("the faults stopped at %v, and the action that began at %v never ended", g.Calm, a.Begin),
				"give every call a limit of its own, and every worker, place and lock back on every way out: a call that hung in the outage is answered by nobody behind it", g.event, a.BeginAt, hang)
		case late:
			v.report(a, fmt.Sprintf("the action was under way when the faults stopped, and had not ended %v later", g.c.RecoversWithin),
				"bound the waits and the attempts of an action, and do not let waits grow with the length of an outage", g.event, a.BeginAt, a.EndEvent)
		default:
			continue
		}
		return v
	}
	return v
}

// hangOf is the event that says that the action never returned; -1: there is none.
func hangOf(tr *trace.Trace, a *trace.Action) int {
	for _, i := range a.Troubles {
		if tr.Events[i].Kind == trace.KindHang {
			return i
		}
	}
	return -1
}

// succeed looks at the actions that failed behind the calm.
func (g *regained) succeed() (v Verdict) {
	for _, i := range g.Failed {
		a := &g.actions[i]
		if a.Begin < g.Calm || g.timed() && a.Begin < g.due() {
			continue
		}
		v.Applied++
		if g.declared && g.excused(a) {
			continue
		}
		v.report(a, fmt.Sprintf("the action began %v after the faults had stopped and failed%s%s", a.Begin-g.Calm, g.unasked(a), saying(a)),
			"let nothing that was learned of an outage outlast it: look at the service again after a while, give places back on every way out, and keep no failure for good", g.event, a.BeginAt, a.EndEvent)
		return v
	}
	return v
}

// unasked words that the action did not ask any tool.
func (g *regained) unasked(a *trace.Action) string {
	if len(a.Attempts) > 0 {
		return ""
	}
	return " without a call of a tool"
}

// saying words how the action failed.
func saying(a *trace.Action) string {
	switch {
	case a.Error != "":
		return fmt.Sprintf(": %q", short([]byte(a.Error)))
	case a.Reason != 0:
		return fmt.Sprintf(": it ended as %v", a.Reason)
	}
	return ""
}

// excused reports whether an action may fail behind the calm by what is declared.
// Whether a refusal was due is the business of the rules about who refuses.
func (g *regained) excused(a *trace.Action) bool {
	c := g.c
	switch {
	case len(c.Breakers) > 0 && a.Reason == trace.ReasonBreakerOpen,
		c.Allowance != nil && a.Reason == trace.ReasonBudget,
		c.EscalatesAfter > 0 && a.Reason == trace.ReasonEscalated,
		c.Cache != nil && g.keptFailure(a),
		len(a.Restarts)+len(a.Drains) > 0,
		c.Policy.Budget > 0 && a.End-a.Begin >= c.Policy.Budget:
		return true
	}
	return g.failedThen(a) || g.sc.unsureOf(a) || g.sc.denied(a, a.Begin) || g.sc.unaudited(a, a.Begin)
}

// keptFailure reports whether the action was served a failure.
func (g *regained) keptFailure(a *trace.Action) bool {
	return slices.ContainsFunc(a.Hits, func(i int) bool { return g.tr.Events[i].Outcome.Class != trace.OK })
}

// failedThen reports whether a tool itself has failed the action, behind the calm.
func (g *regained) failedThen(a *trace.Action) bool {
	return slices.ContainsFunc(a.Attempts, func(at trace.Attempt) bool { return !at.Seen || at.Outcome.Failed() })
}

// returns looks at the actions that a breaker's fallback answered, although there is
// no reason left to ask it.
func (g *regained) returns() (v Verdict) {
	for b := range g.c.Breakers {
		b := &g.c.Breakers[b]
		if b.Fallback == "" {
			continue
		}
		for i := range g.actions {
			a := &g.actions[i]
			if a.Begin < g.Calm || !a.Ended || len(a.Hits) > 0 || timeUp(a) {
				continue
			}
			v.Applied++
			if at := g.fellBack(b, a); at != nil {
				v.report(a, fmt.Sprintf("the action began %v after the faults had stopped and %v after the breaker's last reason, and asked %s only", a.Begin-g.Calm, a.Begin-g.reason(b, a), b.Fallback),
					"ask the guarded tool again when the cooldown is over: what stands in for it is no better for having worked", g.event, a.BeginAt, at.Event)
				return v
			}
		}
	}
	return v
}

// fellBack is the first call of the fallback in an action that did not ask the guarded
// tool, nor may have been refused; nil: there is none.
func (g *regained) fellBack(b *Breaker, a *trace.Action) (fallback *trace.Attempt) {
	for i := range a.Attempts {
		switch at := &a.Attempts[i]; {
		case at.Tool != b.Fallback:
			return nil
		case fallback == nil:
			fallback = at
		}
	}
	if g.timed() && a.Begin < g.due() || a.Begin-g.reason(b, a) <= b.Cooldown {
		return nil
	}
	return fallback
}

// reason is the latest instant at which the breaker can have opened before the action
// began: the end of an action in which a call of a guarded tool failed, or one that is
// still under way and may have a probe's place.
func (g *regained) reason(b *Breaker, a *trace.Action) (last time.Duration) {
	for i := range g.actions {
		o := &g.actions[i]
		if o == a || o.Begin > a.End {
			continue
		}
		if !o.Ended || o.End >= a.Begin {
			return a.Begin
		}
		if slices.ContainsFunc(o.Attempts, func(at trace.Attempt) bool {
			return at.Tool != b.Fallback && (b.Tool == "" || at.Tool == b.Tool) && (!at.Seen || at.Outcome.Failed())
		}) {
			last = max(last, o.End)
		}
	}
	return last
}
