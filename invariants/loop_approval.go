package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A leave is the answer to a request to call a tool.
type leave struct {
	event   int
	answer  int // -1: none has come
	ask     int // number of the ask that it is for; 0: not known
	of      intention
	granted bool
	expires time.Duration // instant from which it is worth nothing, since the trace's Start; 0: none
	spent   int           // the call that it was used for; -1: none was made
}

// leaves lists the requests for leave, in order.
func (r *run) leaves() (list []leave) {
	for _, c := range r.talks {
		e := &r.tr.Events[c.event]
		if e.Role != trace.RoleApproval {
			continue
		}
		var about struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal(e.Args, &about) // what it is not about, it is no leave for
		g := leave{event: c.event, answer: c.answer, ask: e.Ask, of: intention{about.Tool, string(trace.Canonical(about.Arguments))}, spent: -1}
		if c.answer >= 0 {
			g.read(r.tr, &r.tr.Events[c.answer])
		}
		list = append(list, g)
	}
	return list
}

// read takes in the answer.
func (g *leave) read(tr *trace.Trace, e *trace.Event) {
	var said trace.Approval
	if e.Outcome.Class != trace.OK || json.Unmarshal(e.Result, &said) != nil {
		return
	}
	if g.granted = said.Granted; !said.Expires.IsZero() {
		g.expires = max(said.Expires.Sub(tr.Start), 1) // before the trace: long over
	}
}

// good reports whether the leave may still be used at the work.
func (g *leave) good(r *run, w *work) bool {
	return g.granted && g.answer < w.event && g.spent < 0 && (g.expires == 0 || r.tr.Events[w.event].At < g.expires)
}

// allowed reports whether somebody has given leave for what the ask is about.
func (r *run) allowed(k *wish) bool {
	return slices.ContainsFunc(k.Approval, func(e int) bool {
		i := r.talkAt(e)
		return i >= 0 && r.talks[i].answer >= 0 && r.tr.Events[r.talks[i].answer].Outcome.Class == trace.OK
	})
}

// approved is: a tool that needs leave is called with it only: for the tool and its
// arguments, in the same run, before it expires, and once unless the contract says otherwise ("approval = (tool, argument
// digest, run), spent once", rule 15 of the field collection; "approval should bind to
// the logical action", Testing Agent Tool-Call Retry Behavior). The attempts of one
// ask share it.
func (l *Loop) approved(p *Policy) Invariant {
	return l.runRule(p, "approved", "what needs leave is called with leave for exactly that", func(r *run) (v Verdict) {
		leaves := r.leaves()
		next := map[intention][]int{} // those that are not used yet
		for i := range leaves {
			next[leaves[i].of] = append(next[leaves[i].of], i)
		}
		type sharing struct {
			ask int
			of  intention
		}
		has := map[sharing]bool{}
		for i := range r.works {
			w := &r.works[i]
			if !slices.Contains(l.Approve, w.tool) {
				continue
			}
			s := sharing{w.ask, w.intention()}
			if v.Applied++; has[s] {
				continue
			}
			if !l.spend(r, leaves, next, w) {
				text, event := r.unapproved(leaves, w)
				v.report(r.a, text, "ask for leave for the tool and its arguments before each call that is a new one, keep it with the run, and call nothing without it", event, w.event)
				return v
			}
			has[s] = true
		}
		return v
	})
}

// spend uses the oldest leave that is good for the work. Those that never can be
// again are left out from then on.
func (l *Loop) spend(r *run, leaves []leave, next map[intention][]int, w *work) (spent bool) {
	next[w.intention()] = slices.DeleteFunc(next[w.intention()], func(i int) bool {
		g := &leaves[i]
		if g.answer < 0 || g.answer > w.event || spent {
			return false
		}
		if g.good(r, w) {
			if spent = true; l.Leave == LeaveRun {
				return false
			}
			g.spent = w.event
		}
		return true
	})
	return spent
}

// unapproved words a call without leave, and the request that comes nearest to it.
func (r *run) unapproved(leaves []leave, w *work) (text string, event int) {
	for _, g := range slices.Backward(leaves) {
		if g.of != w.intention() || g.event > w.event {
			continue
		}
		switch {
		case g.answer < 0 || g.answer > w.event:
			return fmt.Sprintf("%s was called before the answer to the request for leave had come", w.tool), g.event
		case !g.granted:
			return fmt.Sprintf("%s was called, and the leave for it had been denied", w.tool), g.answer
		case g.spent >= 0:
			return fmt.Sprintf("%s was called a second time on a leave that had been used", w.tool), g.answer
		}
		return fmt.Sprintf("%s was called %v after the leave for it had expired", w.tool, r.tr.Events[w.event].At-g.expires), g.answer
	}
	for _, g := range slices.Backward(leaves) {
		if g.of.tool == w.tool && g.granted && g.answer < w.event {
			return fmt.Sprintf("%s was called with %s, and leave had been given for %s", w.tool, short(w.args), short([]byte(g.of.args))), g.answer
		}
	}
	return fmt.Sprintf("%s was called, and nobody had given leave for it", w.tool), -1
}
