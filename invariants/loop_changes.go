package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// protectedInRun is: once an ask for a tool has failed, its protected arguments stay
// what they were ("no changed protected arguments", Testing Agent Tool-Call Retry
// Behavior), and the code changes none on the way to the tool. Leave for the new
// ones makes them another request: "a material change requires fresh confirmation".
func (l *Loop) protectedInRun(p *Policy) Invariant {
	return l.runRule(p, "protected-in-run", "protected arguments stay the same after a failure", func(r *run) (v Verdict) {
		states := map[string]*shielded{}
		for i := 0; i < len(r.asks); {
			end := i
			for end < len(r.asks) && r.asks[end].turn == r.asks[i].turn {
				end++
			}
			for n := i; n < end; n++ {
				if r.changes(&v, states, &r.asks[n]); len(v.Findings) > 0 {
					return v
				}
			}
			for n := i; n < end; n++ {
				r.guard(states, &r.asks[n])
			}
			i = end
		}
		return v
	})
}

// A shielded is what is known of a tool's protected arguments.
type shielded struct {
	asked map[string]bool // values that were asked for
	open  map[string]int  // values whose ask has failed, with the event
}

// guards lists the paths that the contract protects for the tool.
func (l *Loop) guards(tool string) (paths []string) {
	for _, path := range l.Protected {
		if own, mine := strings.CutPrefix(path, tool+"."); mine {
			paths = append(paths, own)
		}
		paths = append(paths, path)
	}
	return paths
}

// changes judges an ask by what was known before its turn.
func (r *run) changes(v *Verdict, states map[string]*shielded, k *wish) {
	first := r.firstWork(k)
	if first < 0 {
		return // what the model asks for is not what is done
	}
	paths := r.l.guards(k.Tool)
	r.altered(v, k, paths)
	s := states[k.Tool]
	if s == nil || len(s.open) == 0 || len(v.Findings) > 0 {
		return
	}
	now := chosen(json.RawMessage(k.Args), paths)
	if now == "" || now == "{}" && s.asked[now] {
		return // there is nothing to protect
	}
	v.Applied++
	if s.asked[now] || r.allowed(k) {
		return
	}
	failed := -1
	for _, e := range s.open {
		failed = max(failed, e)
	}
	v.report(r.a, fmt.Sprintf("%s was called with other values of protected arguments after it had failed: %s", k.Tool, short([]byte(now))),
		"compare a call with what was asked for before the failure, and ask the user before a protected argument changes", failed, first)
}

// altered finds a protected argument that the code changed on the way to the tool.
func (r *run) altered(v *Verdict, k *wish, paths []string) {
	asked := decoded(json.RawMessage(k.Args))
	r.each(k, func(w *work) {
		sent := decoded(w.args)
		for _, path := range paths {
			was, there := field(asked, path)
			is, still := field(sent, path)
			if !there || !still || len(v.Findings) > 0 {
				continue
			}
			if v.Applied++; !trace.SameArgs(trace.Marshal(was), trace.Marshal(is)) {
				v.report(r.a, fmt.Sprintf("%s was called with %s %s, and asked for was %s", w.tool, path, short(trace.Marshal(is)), short(trace.Marshal(was))),
					"send what was asked for, and change no protected argument on the way", r.turns[k.turn].Answer, w.event)
			}
		}
	})
}

// guard learns what became of an ask.
func (r *run) guard(states map[string]*shielded, k *wish) {
	values := chosen(json.RawMessage(k.Args), r.l.guards(k.Tool))
	if values == "" {
		return
	}
	s := states[k.Tool]
	if s == nil {
		s = &shielded{map[string]bool{}, map[string]int{}}
		states[k.Tool] = s
	}
	f, event := r.fate(k)
	switch {
	case f == fateFailed && r.firstWork(k) >= 0:
		s.open[values] = event
	case f == fateOK:
		delete(s.open, values)
	}
	s.asked[values] = s.asked[values] || r.firstWork(k) >= 0 || len(s.open) == 0
}

// field is the value at a dotted path.
func field(value any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		object, isObject := value.(map[string]any)
		if !isObject {
			return nil, false
		}
		var ok bool
		if value, ok = object[part]; !ok {
			return nil, false
		}
	}
	return value, true
}

// chosen is the values at the paths, as one comparable text; empty where the
// arguments are no object.
func chosen(args json.RawMessage, paths []string) string {
	value := decoded(args)
	if _, ok := value.(map[string]any); !ok {
		return ""
	}
	values := map[string]any{}
	for _, path := range paths {
		if at, ok := field(value, path); ok {
			values[path] = at
		}
	}
	return string(trace.Canonical(trace.Marshal(values)))
}

// correctedInRun is: the arguments of a tool that has failed change after an invalid
// answer only, once, and on what its definition says ("one grounded correction",
// Testing Agent Tool-Call Retry Behavior). What was asked for before is no change.
func (l *Loop) correctedInRun(p *Policy) Invariant {
	return l.runRule(p, "corrected-in-run", "arguments change after an invalid answer only, once, and with a reason", func(r *run) (v Verdict) {
		states := map[string]*correcting{}
		for i := range r.asks {
			if r.corrects(&v, states, &r.asks[i]); len(v.Findings) > 0 {
				return v
			}
		}
		return v
	})
}

// A correcting is a tool whose latest ask may have failed.
type correcting struct {
	failed *work // what failed; nil: nothing has
	turn   int
	done   int // the call with the correction; -1: there was none
	asked  map[string]bool
}

func (r *run) corrects(v *Verdict, states map[string]*correcting, k *wish) {
	first := r.workAt(r.firstWork(k))
	if first == nil {
		return
	}
	s := states[k.Tool]
	if s == nil {
		s = &correcting{done: -1, asked: map[string]bool{}}
		states[k.Tool] = s
	}
	args := string(first.args)
	if s.failed != nil && s.turn != k.turn {
		v.Applied++
		if !s.asked[args] {
			r.correction(v, s, first)
		}
	}
	s.asked[args] = true
	switch f, _ := r.fate(k); {
	case f == fateFailed && (s.failed == nil || s.turn != k.turn):
		s.failed, s.turn = r.lastWork(k), k.turn
	case f == fateOK:
		s.failed, s.done = nil, -1
	}
}

// correction judges arguments that nobody had asked for before a failure.
func (r *run) correction(v *Verdict, s *correcting, w *work) {
	c, was := &r.l.Correct, s.failed
	const ask = "correct rejected arguments once, by what the tool's definition says, and ask the user where that does not help"
	switch {
	case was.class != trace.Invalid:
		v.report(r.a, fmt.Sprintf("%s was called with other arguments after it had answered %v, which says nothing against them: %s instead of %s", w.tool, was.class, short(w.args), short(was.args)),
			"change arguments only where the tool has rejected them", was.shows(), w.event)
	case s.done >= 0:
		v.report(r.a, fmt.Sprintf("the arguments of %s were corrected a second time in the run", w.tool), ask, s.done, was.shows(), w.event)
	case len(c.Fields) > 0 && !trace.SameArgs(without(was.args, c.Fields), without(w.args, c.Fields)):
		v.report(r.a, fmt.Sprintf("the correction of %s changed more than %s: %s instead of %s", w.tool, strings.Join(c.Fields, ", "), short(w.args), short(was.args)),
			ask, was.shows(), w.event)
	case !c.FromError && !r.lookedUp(was, w):
		v.report(r.a, fmt.Sprintf("%s was called with other arguments than it had rejected, and nobody had looked at its definition: %s instead of %s", w.tool, short(w.args), short(was.args)),
			ask, was.shows(), w.event)
	}
	s.done = w.event
}

// lastWork is the last call that was made for the ask.
func (r *run) lastWork(k *wish) (last *work) {
	r.each(k, func(w *work) {
		if last == nil || w.event > last.event {
			last = w
		}
	})
	return last
}

// lookedUp reports whether the program looked at definitions between the two.
func (r *run) lookedUp(was, w *work) bool {
	if was.at != nil && w.at != nil && was.at.Definition != w.at.Definition {
		return true
	}
	return slices.ContainsFunc(r.tr.Events[was.event:w.event], func(e trace.Event) bool {
		return e.Kind == trace.KindCall && e.Role == trace.RoleDefinitions && (e.Action == r.a.Name || e.Action == "")
	})
}
