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
	unsure []time.Duration       // instants of the ambiguous calls, in order
}

// A sideCall is a call that is no attempt.
type sideCall struct {
	event    int
	role     trace.Role
	from, to time.Duration // to is the far future while no answer has come
	ok       bool
}

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
		case e.Kind == trace.KindCall && e.Ambiguous:
			sc.unsure = append(sc.unsure, e.At)
		case e.Kind == trace.KindCall && e.Role != trace.RoleAttempt:
			open[e.Call] = place{e.Action, len(sc.side[e.Action])}
			sc.side[e.Action] = append(sc.side[e.Action], sideCall{event: i, role: e.Role, from: e.At, to: never})
		case e.Kind == trace.KindAnswer:
			if p, ok := open[e.Call]; ok {
				c := &sc.side[p.action][p.index]
				c.to, c.ok = e.At, e.Outcome.Class == trace.OK
				delete(open, e.Call)
			}
		}
	}
}

// unsureOf reports whether an ambiguous call came while the action ran. It may
// have been one of its attempts, so that what is missing cannot be judged.
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

// beside reports whether a call that is no attempt can have decided what came
// between two instants. One that only waited for its turn, and had it, has not.
func (sc *scene) beside(a *trace.Action, from, to time.Duration) bool {
	return slices.ContainsFunc(sc.between(a, from, to), func(c sideCall) bool { return c.role != trace.RoleTurn || !c.ok })
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
