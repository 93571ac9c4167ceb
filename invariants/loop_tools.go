package invariants

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// toolsOffered is: what a model asks for is called only where it was offered. A tool
// that it invents runs nothing.
func (l *Loop) toolsOffered(p *Policy) Invariant {
	return l.runRule(p, "tools-offered", "a tool that the model was not offered is not called", func(r *run) (v Verdict) {
		for i := range r.turns {
			t := &r.turns[i]
			if t.Prompt == nil || len(t.Prompt.Tools) == 0 {
				continue
			}
			for k := range t.Asks {
				w := &wish{&t.Asks[k], i}
				if offers(t.Prompt, w.Tool) {
					continue
				}
				v.Applied++
				if first := r.firstWork(w); first >= 0 {
					v.report(r.a, fmt.Sprintf("%s was called, which the model was not offered", w.Tool),
						"look the tool up among those that were offered in the turn, and tell the model that there is none of the name", t.Answer, first)
					return v
				}
			}
		}
		return v
	})
}

// argumentsWhole is: nothing is called with arguments that are no JSON, nor with
// those of a reply that broke off ("a tool runs only on complete arguments from a
// single attempt", field case F078; "unparseable arguments = zero executions", rule
// 14 of the field collection).
func (l *Loop) argumentsWhole(p *Policy) Invariant {
	const advice = "parse the arguments first, and tell the model what is wrong with them; drop what has come of a reply when it breaks off"
	return l.runRule(p, "arguments-whole", "a call is made with whole arguments, of one reply", func(r *run) (v Verdict) {
		for i := range r.asks {
			k := &r.asks[i]
			if parses(k.Args) {
				continue
			}
			v.Applied++
			if first := r.firstWork(k); first >= 0 {
				v.report(r.a, fmt.Sprintf("%s was called, and the arguments that the model wrote are no JSON: %s", k.Tool, short([]byte(k.Args))),
					advice, r.turns[k.turn].Answer, first)
				return v
			}
		}
		r.pieced(&v, advice)
		return v
	})
}

// pieced finds calls that were made with what had come of a reply.
func (r *run) pieced(v *Verdict, advice string) {
	broken := r.broken()
	if len(broken) == 0 {
		return
	}
	v.Applied++
	asked := map[intention]bool{}
	for i := range r.asks {
		asked[r.asks[i].intention()] = true
	}
	for i := range r.works {
		w := &r.works[i]
		for _, b := range broken[w.tool] {
			if b.event < w.event && !asked[w.intention()] && begunBy(w.args, b.args) {
				v.report(r.a, fmt.Sprintf("%s was called with %s, which is of a reply that broke off", w.tool, short(w.args)), advice, b.event, w.event)
				return
			}
		}
	}
}

// A fragment is the arguments of a call in a reply that broke off.
type fragment struct {
	event int
	args  string
}

// broken lists, by tool, the calls in replies that broke off: the latest few.
func (r *run) broken() map[string][]fragment {
	const most = 16
	var list map[string][]fragment
	for _, c := range r.talks {
		if c.answer < 0 || r.tr.Events[c.event].Role != trace.RoleModel {
			continue
		}
		e := &r.tr.Events[c.answer]
		if e.Outcome.Class == trace.OK || e.Reply == nil {
			continue
		}
		for _, k := range e.Reply.Calls {
			if k.Args == "" || len(list[k.Tool]) == most {
				continue
			}
			if list == nil {
				list = map[string][]fragment{}
			}
			list[k.Tool] = append(list[k.Tool], fragment{c.answer, k.Args})
		}
	}
	return list
}

// begunBy reports whether arguments are the fragment, or text that it begins.
func begunBy(args json.RawMessage, begun string) bool {
	if trace.SameArgs(args, trace.Canonical([]byte(begun))) {
		return true
	}
	var text string
	return json.Unmarshal(args, &text) == nil && strings.HasPrefix(text, begun)
}
