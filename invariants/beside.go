package invariants

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A scene is a trace with what the computed view leaves out: the calls that
// are no attempts (fetching credentials, asking what became of an attempt),
// and the calls that could belong to several actions. Most traces have neither,
// and then a scene holds nothing but the trace.
type scene struct {
	tr     *trace.Trace
	side   map[string][]sideCall // by action, in order
	unsure []time.Duration       // instants of the ambiguous calls, and of dials that failed, in order
}

// A sideCall is a call that is no attempt.
type sideCall struct {
	event    int
	answer   int // index of its answer event; -1: none has come
	tool     string
	role     trace.Role
	from, to time.Duration // to is the far future while no answer has come
	ok       bool
}

// observes reports whether the call writes a record: it says nothing of what
// the action should do.
func (c *sideCall) observes() bool { return observer(c.role) }

func observer(r trace.Role) bool { return r == trace.RoleLog || r == trace.RoleAudit }

const never = time.Duration(math.MaxInt64)

// lookAt scans the events once.
func lookAt(tr *trace.Trace) scene {
	sc := scene{tr: tr}
	for i := range tr.Events {
		e := &tr.Events[i]
		if e.Kind == trace.KindCall && (e.Ambiguous || e.Role != trace.RoleAttempt) {
			sc.collect(i)
			return sc
		}
	}
	return sc
}

// collect gathers the calls from event number first on.
func (sc *scene) collect(first int) {
	type place struct {
		action string
		index  int
	}
	sc.side = make(map[string][]sideCall)
	open := make(map[int]place)
	for i := first; i < len(sc.tr.Events); i++ {
		e := &sc.tr.Events[i]
		switch {
		case e.Kind == trace.KindCall && e.Ambiguous && observer(e.Role):
			// A record that could be of several actions is no attempt of any.
		case e.Kind == trace.KindCall && e.Ambiguous:
			sc.unsure = append(sc.unsure, e.At)
		case e.Kind == trace.KindCall && e.Role != trace.RoleAttempt:
			open[e.Call] = place{e.Action, len(sc.side[e.Action])}
			sc.side[e.Action] = append(sc.side[e.Action], sideCall{event: i, answer: -1, tool: e.Tool, role: e.Role, from: e.At, to: never})
		case e.Kind == trace.KindAnswer:
			if p, ok := open[e.Call]; ok {
				c := &sc.side[p.action][p.index]
				c.answer, c.to, c.ok = i, e.At, e.Outcome.Class == trace.OK
				if c.role == trace.RoleConnect && !c.ok {
					sc.unsure = append(sc.unsure, e.At) // whether it counts as an attempt differs between programs
				}
				delete(open, e.Call)
			}
		}
	}
}

// unsureOf reports whether an ambiguous call came while the action ran, or a dial
// failed, be it another action's. It may have been one of its attempts, so that
// what is missing cannot be judged.
func (sc *scene) unsureOf(a *trace.Action) bool {
	if len(sc.unsure) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(sc.unsure, a.Begin)
	return i < len(sc.unsure) && (!a.Ended || sc.unsure[i] <= a.End)
}

// between returns the action's side calls that began between two instants.
func (sc *scene) between(a *trace.Action, from, to time.Duration) []sideCall {
	if len(sc.side) == 0 {
		return nil
	}
	calls := sc.side[a.Name]
	lo, _ := slices.BinarySearchFunc(calls, from, func(c sideCall, t time.Duration) int { return cmp.Compare(c.from, t) })
	hi := lo
	for hi < len(calls) && calls[hi].from <= to {
		hi++
	}
	return calls[lo:hi]
}

// excuses reports whether a call that began between two instants can be why the
// action then went its own way: it fetched credentials, asked what became of an
// attempt, waited for a turn that it did not get, or could not write a record that
// must be kept.
// after is an event at the first instant: what was answered before it does not count.
func (sc *scene) excuses(a *trace.Action, from, to time.Duration, after int) bool {
	for _, c := range sc.between(a, from, to) {
		if (c.event > after || c.to > from) && !c.observes() && (c.role != trace.RoleTurn && c.role != trace.RoleConnect || !c.ok) {
			return true
		}
	}
	return sc.turned(a, from) || sc.unaudited(a, from)
}

// turned reports whether the action did not get a turn for which it waited at an
// instant.
func (sc *scene) turned(a *trace.Action, at time.Duration) bool {
	return slices.ContainsFunc(sc.turns(a, at), func(c sideCall) bool { return !c.ok })
}

// denied reports whether what the action asked for beside its attempts, from an
// instant on, was not to be had: a turn, credentials, or word of an attempt. That
// is then its last error.
func (sc *scene) denied(a *trace.Action, from time.Duration) bool {
	for _, c := range sc.between(a, from, a.End) {
		if !c.observes() && !c.ok {
			return true
		}
	}
	return sc.turned(a, from)
}

// turns lists those of the action's turns that it had asked for before an
// instant and had not got by then.
func (sc *scene) turns(a *trace.Action, at time.Duration) (list []sideCall) {
	if len(sc.side) == 0 {
		return nil
	}
	for _, c := range sc.side[a.Name] {
		if c.from >= at {
			break
		}
		if c.role == trace.RoleTurn && c.to > at {
			list = append(list, c)
		}
	}
	return list
}

// unaudited reports whether the last try to write a record that must be kept
// failed, of those that began at an instant or later and before the end.
func (sc *scene) unaudited(a *trace.Action, from time.Duration) bool {
	if len(sc.side) == 0 {
		return false
	}
	var failed []string // sinks; there is seldom more than one
	for _, c := range sc.between(a, from, a.End) {
		if c.role != trace.RoleAudit || c.event > a.EndEvent {
			continue
		}
		failed = slices.DeleteFunc(failed, func(tool string) bool { return tool == c.tool })
		if !c.ok || c.answer > a.EndEvent {
			failed = append(failed, c.tool)
		}
	}
	return len(failed) > 0
}

// heldUp is for how long, from an instant on, records and turns held the action up
// that it asked for after it, and that were answered by another instant. before is
// an event at that one: what was asked for behind it does not count.
func (sc *scene) heldUp(a *trace.Action, from, to time.Duration, before int) (d time.Duration) {
	for _, c := range sc.between(a, from, to) {
		if c.event < before && (c.observes() || c.role == trace.RoleTurn) && c.to <= to {
			d = max(d, c.to-from)
		}
	}
	return d
}

// turnsTook is for how long the action waited for turns between two instants.
func (sc *scene) turnsTook(a *trace.Action, from, to time.Duration) (d time.Duration) {
	for _, c := range sc.between(a, from, to) {
		if c.role == trace.RoleTurn && c.to <= to {
			d += c.to - c.from
		}
	}
	return d
}

// reconciled reports whether the action asked what became of an attempt and
// was answered: its success may rest on that.
func (sc *scene) reconciled(a *trace.Action) bool {
	for _, c := range sc.side[a.Name] {
		if c.role == trace.RoleReconcile && c.ok && c.event < a.EndEvent {
			return true
		}
	}
	return false
}

// goesOn reports whether the trace has anything later than the instant. A
// trace that stops there cannot show what should have followed.
func goesOn(tr *trace.Trace, at time.Duration) bool {
	return len(tr.Events) > 0 && tr.Events[len(tr.Events)-1].At > at
}
