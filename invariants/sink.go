package invariants

import (
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Sink is the contract of a place to which an action writes records: a log or
// a metric, which are best effort, or an audit trail, which must be kept. Its
// records are in the trace as calls of trace.RoleLog or trace.RoleAudit, which
// are no attempts.
//
// The contract is beside the policy, as [Breaker] is, because it does not say
// how the tool is called (article: testing agent tool-call retry behavior:
// "apply the telemetry policy independently"). The zero Sink is not valid: say
// its Name.
type Sink struct {
	// Name is the sink's name in the trace.
	Name string

	// Mandatory says that no action succeeds without its record. False: best
	// effort, and a record that is lost changes nothing.
	Mandatory bool

	// Before says that the record of a mandatory sink is written before the
	// first attempt, which is not made without it. False: before the action
	// ends. Programs differ, and each order has its price: the one records what
	// was never done, the other does what was never recorded.
	Before bool

	// Degraded says that an action whose work was done is a success although
	// its mandatory record could not be written; it must have been tried. False:
	// such an action fails, and its failure says that the work was done.
	Degraded bool

	// Counts says what the sink gets one record of each. Empty: it is not said.
	Counts Count

	// Wait is for how long one record may hold the action up. 0: not at all, as
	// where another goroutine writes it.
	Wait time.Duration
}

// A Count says what a sink gets one record of each.
type Count string

const (
	CountNothing Count = ""        // it is not said
	CountRetries Count = "retries" // each retry, as the counter behind a dashboard does
	CountEnds    Count = "ends"    // each action's end, as a store of their states does
)

// Validate reports everything in the contract that contradicts itself; nil
// where there is nothing.
func (k *Sink) Validate() error {
	var errs []error
	complain := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("sink %q: %s: %s", k.Name, field, fmt.Sprintf(format, args...)))
	}
	if k.Name == "" {
		complain("Name", "is empty: say how the sink is named in the trace")
	}
	if k.Wait < 0 {
		complain("Wait", "is %v: say 0 where no record holds the action up", k.Wait)
	}
	if k.Before && !k.Mandatory {
		complain("Before", "is set and Mandatory is not: what is best effort stops no call; set Mandatory, or clear Before")
	}
	if k.Degraded && (!k.Mandatory || k.Before) {
		complain("Degraded", "speaks of a mandatory record that is written after the work: set Mandatory and clear Before, or clear Degraded")
	}
	if k.Counts != CountNothing && k.Counts != CountRetries && k.Counts != CountEnds {
		complain("Counts", "is %q: say CountNothing, CountRetries or CountEnds", k.Counts)
	}
	if k.Counts == CountRetries && k.Mandatory {
		complain("Counts", "is %q and Mandatory is set: an action that needs no retry has no record; clear one", k.Counts)
	}
	if k.Counts == CountEnds && k.Before {
		complain("Counts", "is %q and Before is set: an end is recorded behind the call; clear one", k.Counts)
	}
	return errors.Join(errs...)
}

// Role is the role of the sink's calls in the trace.
func (k *Sink) Role() trace.Role {
	if k.Mandatory {
		return trace.RoleAudit
	}
	return trace.RoleLog
}

// Invariants returns the rules that the contract implies of code under the
// policy, each with the leave of [WhereItApplies]:
//
//   - observer-neutral: a record that fails, or takes too long, changes neither
//     the attempts nor the action's end
//   - audited: no success, or no attempt, without the mandatory record; and an
//     action that fails for want of it does not say that nothing was done
//   - metrics-true: there is one record for each retry that was made, where the
//     sink counts them
//   - ends-recorded: each action has one end on record, where the sink keeps them
//
// Put them before those of the policy: what a failing observer does looks like
// a fault of many other rules. [Contract.Invariants] does, and knows of breakers
// and of an allowance as well.
func (k Sink) Invariants(p Policy) []Invariant { return k.rules(&Contract{Policy: p}) }

func (k Sink) rules(c *Contract) []Invariant {
	if err := k.Validate(); err != nil {
		return []Invariant{unsound("observer-neutral", err)}
	}
	p := c.Policy
	list := []Invariant{WhereItApplies(k.neutral(c))}
	if k.Mandatory {
		list = append([]Invariant{WhereItApplies(k.audited())}, list...)
	}
	switch k.Counts {
	case CountRetries:
		list = append(list, WhereItApplies(k.metrics(p)))
	case CountEnds:
		list = append(list, WhereItApplies(k.ends()))
	}
	return list
}

// records lists the sink's records that the action began to write from one
// instant to another, and before it ended.
func (k *Sink) records(sc *scene, a *trace.Action, from, to time.Duration) (list []sideCall) {
	for _, c := range sc.between(a, from, to) {
		if c.tool == k.Name && c.observes() && (!a.Ended || c.event < a.EndEvent) {
			list = append(list, c)
		}
	}
	return list
}

// holds is for how long the records from one instant to another, answered by
// then, may have held the action up.
func (k *Sink) holds(sc *scene, a *trace.Action, from, to time.Duration) time.Duration {
	var allowed, first, last time.Duration
	for _, c := range k.records(sc, a, from, to) {
		if c.to > to {
			continue
		}
		if allowed == 0 {
			first = c.from
		}
		allowed, last = plus(allowed, k.Wait), max(last, c.to)
	}
	return min(allowed, last-first)
}

// disturbed is the first record of the list that failed, or took longer than
// it may hold an action up; nil: there is none.
func (k *Sink) disturbed(records []sideCall) *sideCall {
	for i := range records {
		if c := &records[i]; !c.ok || c.to-c.from > k.Wait {
			return c
		}
	}
	return nil
}

// neutral is: a record that fails, or takes too long, changes neither the
// attempts nor the action's end (rule 16 of the field collection, field case
// F083). Where the policy is kept all the same, nothing was changed.
func (k Sink) neutral(by *Contract) Invariant {
	return sceneRule("observer-neutral", fmt.Sprintf("what becomes of a record to %s changes neither the attempts nor the end", k.Name),
		func(sc scene, a *trace.Action) (v Verdict) {
			if len(sc.side) == 0 || sc.unsureOf(a) {
				return v
			}
			to := never
			if a.Ended {
				to = a.End
			}
			c := k.disturbed(k.records(&sc, a, a.Begin, to))
			if c == nil {
				return v
			}
			v.Applied++
			if text, advice, e := k.disturbs(by, sc, a, c); text != "" {
				v.report(a, fmt.Sprintf("after a record to %s %s: %s", k.Name, k.fate(c), text), advice, c.event, c.answer, e)
			}
			return v
		})
}

// fate says what became of a record.
func (k *Sink) fate(c *sideCall) string {
	switch {
	case c.to == never:
		return "that was never answered"
	case !c.ok:
		return fmt.Sprintf("failed after %v", c.to-c.from)
	}
	return fmt.Sprintf("that took %v", c.to-c.from)
}

// kept says how a record is kept from doing harm. The error of one that must be
// written decides how the action ends.
func (k *Sink) kept() string {
	text := "let the record fail by itself: write it under a time limit of its own, recover its panics, and "
	if k.Mandatory {
		return text + "take what is left, its error, for the contract of the sink only"
	}
	return text + "drop its error"
}

// disturbs words what the action did that the policy does not allow, behind the
// record; e is the event that shows it.
func (k *Sink) disturbs(by *Contract, sc scene, a *trace.Action, c *sideCall) (text, advice string, e int) {
	if text, e := k.broke(sc.tr, a, c); text != "" {
		return text, k.kept(), e
	}
	if text, e := k.delayed(&sc, a); text != "" {
		return text, k.kept(), e
	}
	for i := range a.Series {
		w := by.Policy.walk(sc, a, &a.Series[i])
		w.behind(by)
		for w.sink = k; w.next(); {
			answer, after := w.evidence()
			from := min(w.end, w.at.End)
			if k.disturbed(k.records(&sc, a, from, w.followed())) == nil {
				continue
			}
			if text, _ = w.judge(); text == "" && w.then == nil && w.last && a.Ended {
				text = k.dishonest(&by.Policy, &sc, a, answer)
			}
			if text != "" {
				return text, k.kept(), after
			}
		}
	}
	return "", "", -1
}

// dishonest words an end that the last answer does not bear out.
func (k *Sink) dishonest(p *Policy, sc *scene, a *trace.Action, answer int) string {
	late := timeUp(a) || p.outOfTime(a, a.Begin) || p.spentOn(a)
	if p.reachedBy(a) || a.Reason == trace.ReasonBreakerOpen {
		return "" // what the breaker refuses is no answer of the tool's
	}
	text, _ := dishonesty(p, sc, a, late, true) // an allowance may have refused
	return text
}

// broke words an action that did not return because of the record.
func (k *Sink) broke(tr *trace.Trace, a *trace.Action, c *sideCall) (text string, e int) {
	for _, e := range a.Troubles {
		switch ev := &tr.Events[e]; {
		case ev.Kind == trace.KindPanic && c.answer >= 0 && c.answer < e && !c.ok && !calledBetween(a, c.answer, e):
			return "the action panicked with it", e
		case ev.Kind == trace.KindHang && (c.answer < 0 || c.answer > e):
			return "the action waits for it and never returns", e
		}
	}
	return "", -1
}

// calledBetween reports whether the action called a tool between two events.
func calledBetween(a *trace.Action, from, to int) bool {
	for i := range a.Attempts {
		if e := a.Attempts[i].Event; e > from && e < to {
			return true
		}
	}
	return false
}

// delayed words a first attempt that is missing, or late, because of a record.
func (k *Sink) delayed(sc *scene, a *trace.Action) (text string, e int) {
	to, e := a.End, a.EndEvent
	if len(a.Attempts) > 0 {
		to, e = a.Attempts[0].Begin, a.Attempts[0].Event
	}
	records := k.records(sc, a, a.Begin, to)
	for len(records) > 0 && records[len(records)-1].event > e {
		records = records[:len(records)-1] // what came behind the attempt has not held it up
	}
	if k.disturbed(records) == nil || timeUp(a) && len(a.Attempts) == 0 {
		return "", -1
	}
	switch late := to - a.Begin - k.holds(sc, a, a.Begin, to) - sc.turnsTook(a, a.Begin, to); {
	case len(a.Attempts) == 0 && a.Ended && !k.Before:
		return "the action ended without an attempt", e
	case len(a.Attempts) > 0 && late > 0 && sc.heldUp(a, a.Begin, to, e) > 0:
		return fmt.Sprintf("the first attempt came %v too late", late), e
	}
	return "", -1
}

// audited is: no success without the mandatory record, no attempt without one
// that is to be written before, and no end that hides what was done.
func (k Sink) audited() Invariant {
	return sceneRule("audited", fmt.Sprintf("nothing is told as done without its record in %s", k.Name),
		func(sc scene, a *trace.Action) (v Verdict) {
			if !a.Ended || len(a.Attempts) == 0 || sc.unsureOf(a) {
				return v
			}
			v.Applied++
			if k.Before {
				if at := k.unrecorded(&sc, a); at != nil {
					v.report(a, fmt.Sprintf("%s was called before its record in %s was written", at.Tool, k.Name),
						"write the record and look at its error before the first attempt; without it there is no call", at.Event)
				}
				return v
			}
			records := k.records(&sc, a, a.Begin, a.End)
			if text, advice := k.untold(&sc, a, records); text != "" {
				event := -1
				if len(records) > 0 {
					event = records[len(records)-1].event
				}
				v.report(a, text, advice, event, a.EndEvent)
			}
			return v
		})
}

// unrecorded is the first attempt that began without a record; nil: none.
func (k *Sink) unrecorded(sc *scene, a *trace.Action) *trace.Attempt {
	at := &a.Attempts[0]
	for _, c := range k.records(sc, a, a.Begin, at.Begin) {
		if c.ok && c.answer < at.Event {
			return nil
		}
	}
	return at
}

// untold words an end that does not agree with the records that were written
// until then.
func (k *Sink) untold(sc *scene, a *trace.Action, records []sideCall) (text, advice string) {
	written := false
	for _, c := range records {
		written = written || c.ok && c.answer < a.EndEvent
	}
	good := firstSuccess(a)
	success := a.Error == "" && (a.Reason == 0 || a.Reason == trace.ReasonSuccess)
	switch {
	case written || good == nil:
		return "", ""
	case success && len(records) == 0 && k.behind(sc, a):
		return fmt.Sprintf("the action returned its success before it wrote the record to %s", k.Name),
			"write the record before the action returns, and look at its error: what a goroutine still has to do may never be done"
	case success && len(records) == 0:
		return fmt.Sprintf("the action succeeded and wrote no record to %s", k.Name), "write the record on every way out that reports a success"
	case success && !k.Degraded:
		return fmt.Sprintf("the action succeeded, and its record in %s was not written", k.Name),
			"wait for the record and look at its error before the success is reported; or declare Degraded, where the success says that the record is missing"
	case !success && len(records) > 0 && reasonSet(a.Reason)&denying != 0 && !timeUp(a):
		return fmt.Sprintf("%s has done its work, the record in %s was not written, and the action ended as %v, as if nothing had been done", good.Tool, k.Name, a.Reason),
			"say that it was done and is not on record, so that nobody does it again: escalated, partial or outcome-unknown"
	}
	return "", ""
}

// behind reports whether a record came when the action had ended.
func (k *Sink) behind(sc *scene, a *trace.Action) bool {
	for _, c := range sc.side[a.Name] {
		if c.tool == k.Name && c.observes() && c.event > a.EndEvent {
			return true
		}
	}
	return false
}

// denying lists the reasons that a caller reads as: it was not done.
var denying = reasonSet(trace.ReasonDeclined) | reasonSet(trace.ReasonExhausted) | reasonSet(trace.ReasonRefused) |
	reasonSet(trace.ReasonNeedsInput) | reasonSet(trace.ReasonHintTooLong) | reasonSet(trace.ReasonBudget) |
	reasonSet(trace.ReasonBreakerOpen) | reasonSet(trace.ReasonCancelled) | reasonSet(trace.ReasonDeadline)
