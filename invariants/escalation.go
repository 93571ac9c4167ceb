package invariants

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// EscalatesAfter is: once n actions in a row have failed, no further one calls a
// tool; it ends as escalated, to a person or another program. And none does so
// earlier without an attempt ("after two or three failures in a turn, stop and
// escalate", Tool errors, retries and timeouts). A success begins the count anew.
//
// The trace is one turn, and actions count in the order in which they end. What
// good programs count in different ways is legal both ways: an action that its
// caller or its deadline ended, a business no, and one that made no attempt. An
// action that was under way when the n-th failed may go on. n below 1 is a rule
// that nothing can break.
func EscalatesAfter(n int) Invariant {
	const name = "escalates-after"
	return Invariant{Name: name, idles: true, Rule: fmt.Sprintf("after %d failed actions in a row no tool is called, and not earlier", n),
		Check: func(tr *trace.Trace) Verdict {
			if n < 1 {
				return Verdict{}
			}
			r := row{n: n, tr: tr, actions: tr.Actions(), begun: map[string]int{}}
			r.read()
			for i := range r.verdict.Findings {
				r.verdict.Findings[i].Invariant = name
			}
			return r.verdict
		}}
}

// A row is the failures in a row up to a point of the trace, at least and at most.
type row struct {
	n       int
	tr      *trace.Trace
	actions []trace.Action

	least, most int
	begun       map[string]int // the actions under way, with their begin events
	reset       int            // event of the latest success
	resetAt     time.Duration
	verdict     Verdict
}

func (r *row) read() {
	r.reset, r.resetAt = -1, -1
	index := make(map[string]*trace.Action, len(r.actions))
	for i := range r.actions {
		index[r.actions[i].Name] = &r.actions[i]
	}
	for i := range r.tr.Events {
		e := &r.tr.Events[i]
		a := index[e.Action]
		if a == nil || len(r.verdict.Findings) > 0 {
			continue
		}
		switch e.Kind {
		case trace.KindBegin:
			r.begun[a.Name] = i
			r.begin(a)
		case trace.KindEnd:
			r.end(a, i)
		}
	}
}

// begin judges an action that begins when the row is full.
func (r *row) begin(a *trace.Action) {
	if r.least < r.n {
		return
	}
	r.verdict.Applied++
	if len(a.Attempts) > 0 {
		first := &a.Attempts[0]
		r.verdict.report(a, fmt.Sprintf("%s was called after %d actions in a row had failed, and at %d the turn is handed on", first.Tool, r.least, r.n),
			"count the failed actions of a turn in one place, look at the count before the next one calls anything, and hand the turn to a person", first.Event)
	}
}

// end counts an action, and judges one that was handed on.
func (r *row) end(a *trace.Action, event int) {
	began := r.begun[a.Name]
	delete(r.begun, a.Name)
	if len(a.Attempts) == 0 && a.Reason == trace.ReasonEscalated {
		r.verdict.Applied++
		if r.most+len(r.begun) < r.n {
			r.verdict.report(a, fmt.Sprintf("the action was handed on without an attempt after %s in a row, and the turn goes on to %d", counted(r.most, "failed action"), r.n),
				"begin the count anew at each success", event)
		}
		return
	}
	switch fail, sure := failed(a); {
	case !fail && sure:
		r.least, r.most, r.reset, r.resetAt = 0, 0, event, a.End
	case !fail:
		r.least, r.most = 0, r.most+1
	case !sure, a.End == r.resetAt && began < r.reset: // the success may have come after it
		r.most++
	default:
		r.least, r.most = r.least+1, r.most+1
	}
}

// failed reports whether the action counts as a failure. sure is false where
// programs differ.
func failed(a *trace.Action) (fail, sure bool) {
	said := a.Reason
	declined := said == trace.ReasonDeclined
	if last := lastBegun(a); last != nil && last.Seen && last.Outcome.Class == trace.Declined {
		declined = true
	}
	switch {
	case declined:
		return false, false
	case a.Error == "" && (said == 0 || said == trace.ReasonSuccess):
		return false, true
	case timeUp(a), said == trace.ReasonCancelled, said == trace.ReasonDeadline, len(a.Attempts) == 0:
		return true, false
	}
	return true, true
}
