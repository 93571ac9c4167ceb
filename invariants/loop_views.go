package invariants

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A slice is a trace that is made of some events of another, so that rules of
// one call can be held to each ask, each intention and each turn of a run: each of them
// is an action there.
type slice struct {
	tr    trace.Trace
	index []int // the place of each event in the whole
}

// sliceOf is an empty slice of the whole, with room for as many events.
func sliceOf(whole *trace.Trace) slice {
	n := len(whole.Events)
	return slice{tr: trace.Trace{Schema: whole.Schema, Start: whole.Start, Events: make([]trace.Event, 0, n)}, index: make([]int, 0, n)}
}

// add takes over event i of the whole, as one of the action.
func (s *slice) add(whole *trace.Trace, i int, action string) *trace.Event {
	s.tr.Events = append(s.tr.Events, whole.Events[i])
	s.index = append(s.index, i)
	e := &s.tr.Events[len(s.tr.Events)-1]
	e.Action = action
	return e
}

// begin begins an action at event i of the whole, which begins its first call.
func (s *slice) begin(whole *trace.Trace, i int, action string, deadline time.Duration) {
	e := &whole.Events[i]
	s.tr.Events = append(s.tr.Events, trace.Event{At: e.At, Kind: trace.KindBegin, Action: action, Deadline: deadline})
	s.index = append(s.index, i)
}

// end ends an action at event i of the whole, which is the answer to its last call.
func (s *slice) end(whole *trace.Trace, i int, action, err string) {
	e := &whole.Events[i]
	s.tr.Events = append(s.tr.Events, trace.Event{At: e.At, Kind: trace.KindEnd, Action: action, Error: err})
	s.index = append(s.index, i)
}

// on is the rule, held to a part of the trace. A name in front tells what it is of.
func (inv Invariant) on(prefix string, cut func(*trace.Trace) *slice) Invariant {
	check := inv.Check
	inv.Name = prefix + inv.Name
	inv.Check = func(tr *trace.Trace) Verdict {
		s := cut(tr)
		if len(s.tr.Events) == 0 {
			return Verdict{}
		}
		v := check(&s.tr)
		for i := range v.Findings {
			s.restore(&v.Findings[i], inv.Name)
		}
		return v
	}
	return inv
}

// restore turns a finding of the part into one of the whole.
func (s *slice) restore(f *Finding, name string) {
	f.Invariant = name
	if i := strings.LastIndexByte(f.Action, 0); i >= 0 {
		f.Action = f.Action[:i]
	}
	events := make([]int, len(f.Events))
	for i, e := range f.Events {
		events[i] = s.index[e]
	}
	slices.Sort(events)
	f.Events = slices.Compact(events)
}

// partName is the name of an action of a part: [slice.restore] takes it back.
func partName(run string, n int) string { return run + "\x00" + strconv.Itoa(n) }

// everyCall is the whole trace, in which the calls of models, other agents and
// approvals are attempts too: none of them may come after an end.
func everyCall(tr *trace.Trace) *slice {
	s := &slice{tr: trace.Trace{Schema: tr.Schema, Start: tr.Start, Events: slices.Clone(tr.Events)}, index: make([]int, len(tr.Events))}
	for i := range s.tr.Events {
		s.index[i] = i
		if e := &s.tr.Events[i]; talking(e.Role) {
			e.Role = trace.RoleAttempt
		}
	}
	return s
}
