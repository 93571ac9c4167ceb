package invariants

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Breaker is the declared contract of a circuit breaker in front of a tool,
// as plain data. It counts attempts, those of all actions together; every tool
// that it guards has a state of its own.
//
// Closed, it lets every call through and counts failures. At its threshold it
// opens: calls are refused and never reach the tool. After the cooldown it is
// half-open: a few probes go through, and what becomes of them closes it or
// opens it again. [CircuitBreaker] holds a trace to that.
//
// The zero Breaker is not valid: say a threshold and a Cooldown.
type Breaker struct {
	// Tool is the tool that it guards. Empty: every tool has one of its own.
	// A refused action does not say which one refused: where several tools are
	// guarded the refusal must have been due at one of them.
	Tool string

	// Consecutive opens the breaker after so many failures in a row. 0: Rate
	// and Window say when.
	Consecutive int

	// Rate, above 0 and up to 1, opens the breaker where at least that part of
	// the last Window calls failed. Window is at most 64. Least is how many
	// calls there must have been; 0: Window.
	Rate   float64
	Window int
	Least  int

	// Cooldown is how long it stays open, counted from the failure that opened it.
	Cooldown time.Duration

	// Probes is how many calls are under way at once while it is half-open;
	// 0: 1. Successes is how many of them must succeed to close it; 0: 1.
	Probes, Successes int

	// Lease is how long a probe keeps its place. When it is over the next caller
	// becomes the probe, and what becomes of the first may count or not. 0: until
	// the call has ended; then something else must bound a call, as the policy's
	// Attempt does, or a tool that hangs keeps the breaker half-open for good
	// (field case F053).
	Lease time.Duration

	// Failures lists the classes that count as failures. Empty: what a caller
	// blames the tool for, which is transient, throttled, timeout, reset,
	// not-connected, malformed and unknown. The end of the caller's own time is
	// never one of them; that of the action's budget, where it cuts an attempt,
	// may count or not.
	Failures []trace.Class

	// RefusalsNeutral says that an answer of any other failing class counts for
	// nothing. False: it counts as a success, because the tool is there and
	// answers. Libraries differ (rule 11 of the field collection).
	RefusalsNeutral bool

	// Fallback is the tool that is asked instead while the breaker refuses.
	// Empty: none; a refused action ends as breaker-open.
	Fallback string
}

// blamed is the default of Breaker.Failures.
var blamed = classSet(trace.Transient, trace.Throttled, trace.Timeout, trace.Reset,
	trace.NotConnected, trace.Malformed, trace.Unknown)

func (b *Breaker) failures() classes {
	if len(b.Failures) == 0 {
		return blamed
	}
	return classSet(b.Failures...)
}

// Fails reports whether an answer of class c counts as a failure of the tool.
func (b *Breaker) Fails(c trace.Class) bool { return b.failures().has(c) }

// MayOpen reports whether so many failures can be enough to open the breaker:
// all of them in a row, or within the fewest calls of which it says anything.
func (b *Breaker) MayOpen(failures int) bool {
	if b.Consecutive > 0 {
		return failures >= b.Consecutive
	}
	return float64(failures) >= b.Rate*float64(b.least())
}

func (b *Breaker) probes() int    { return max(b.Probes, 1) }
func (b *Breaker) successes() int { return max(b.Successes, 1) }

func (b *Breaker) least() int {
	if b.Least == 0 {
		return b.Window
	}
	return b.Least
}

// Validate reports everything in the contract that contradicts itself; nil
// where there is nothing.
func (b *Breaker) Validate() error {
	v := validator{id: "breaker"}
	v.want(b.Cooldown > 0, "Cooldown", "is %v: say how long the breaker stays open", b.Cooldown)
	v.want(b.Lease >= 0, "Lease", "is %v: say how long a probe keeps its place, or 0 for as long as its call takes", b.Lease)
	v.want(b.Consecutive >= 0 && b.Probes >= 0 && b.Successes >= 0, "Consecutive, Probes, Successes", "cannot be negative: say 0 for the default")
	v.want((b.Consecutive > 0) != (b.Rate > 0), "Consecutive", "is %d and Rate is %v: say one threshold, in a row or as a rate", b.Consecutive, b.Rate)
	v.want(b.Rate >= 0 && b.Rate <= 1, "Rate", "is %v: it is a part of the window, up to 1", b.Rate)
	v.want((b.Rate > 0) == (b.Window > 0), "Window", "is %d while Rate is %v: they go together", b.Window, b.Rate)
	v.want(b.Window <= widest, "Window", "is %d: the widest is %d", b.Window, widest)
	v.want(b.Least >= 0 && b.Least <= b.Window, "Least", "is %d: it lies within the Window of %d", b.Least, b.Window)
	v.want(b.Fallback == "" || b.Fallback != b.Tool, "Fallback", "is the guarded tool itself: name another one, or none")
	for _, c := range b.Failures {
		v.want(c != 0, "Failures", "holds the class 0, which is none: take it out, or say which one was meant")
		v.want(c == 0 || c > trace.OK && c <= trace.Unknown && c != trace.Declined && c != trace.Cancelled, "Failures",
			"holds %v, which the tool is not to blame for: take it out", c)
	}
	var errs []error
	for _, err := range v.found {
		p := err.(*PolicyError)
		errs = append(errs, fmt.Errorf("breaker: %s: %s", p.Field, p.Text))
	}
	return errors.Join(errs...)
}

const widest = 64 // calls in a window

// Invariants returns all that the policy implies of code that has the breaker:
// [Contract.Invariants] of the two.
func (b Breaker) Invariants(p Policy) []Invariant {
	return Contract{Policy: p, Breakers: []Breaker{b}}.Invariants()
}

// guardOf is the breaker whose refusals a series of the tool may meet: the only
// one there is, or the tool's own; nil: there is none.
func guardOf(by []Breaker, tool string) *Breaker {
	for i := range by {
		if len(by) == 1 || by[i].Tool == tool {
			return &by[i]
		}
	}
	return nil
}

// mayRefuse is [HonestEnding] of code whose calls may be refused, with the reason
// that its actions then say: an answer of one tool is not hidden where the
// breaker of the next one refuses.
func mayRefuse(ending Invariant, said trace.Reason) Invariant {
	plain := ending.Check
	ending.Check = func(tr *trace.Trace) Verdict {
		v := plain(tr)
		if len(v.Findings) == 0 {
			return v
		}
		actions := tr.Actions()
		for i := range actions {
			a := &actions[i]
			if last := lastBegun(a); a.Reason == said && last != nil && last.Outcome.Class == trace.OK {
				v.Findings = slices.DeleteFunc(v.Findings, func(f Finding) bool { return f.Action == a.Name })
			}
		}
		return v
	}
	return ending
}

// refused reports whether the walk's series ends because the next attempt was
// refused, by the breaker or by the allowance: the action says so, or went over
// to the breaker's fallback. Either may be asked before the wait or after it.
func (w *walk) refused() bool {
	if w.then != nil || w.breaker == nil && !w.shared {
		return false
	}
	waits := w.d.Do != Stop || w.d.EndHi > w.d.EndLo // another attempt, or the wait for a limit
	limited := w.d.Do == Stop && reasonSet(w.d.Reason)&(reasonSet(trace.ReasonDeadline)|reasonSet(trace.ReasonBudget)|
		reasonSet(trace.ReasonCancelled)|reasonSet(trace.ReasonHintTooLong)) != 0
	if !waits && !limited {
		return false
	}
	latest := plus(w.end, w.d.Hi)
	if w.d.Do != Go {
		latest = max(latest, w.d.EndHi)
	}
	if w.breaker != nil {
		if next := w.fellBack(); next >= 0 {
			return next <= latest
		}
	}
	return w.last && w.a.End <= latest && (w.breaker != nil && w.a.Reason == trace.ReasonBreakerOpen ||
		w.shared && w.a.Reason == trace.ReasonBudget)
}

// fellBack is the instant of the first call of the fallback after the step;
// negative: there is none.
func (w *walk) fellBack() time.Duration {
	if w.breaker.Fallback == "" || w.at.Tool == w.breaker.Fallback {
		return -1
	}
	for i := range w.a.Attempts {
		if at := &w.a.Attempts[i]; at.Tool == w.breaker.Fallback && at.Event > w.at.Event && at.Begin >= w.end {
			return at.Begin
		}
	}
	return -1
}
