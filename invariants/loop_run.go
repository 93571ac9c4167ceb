package invariants

import (
	"encoding/json"
	"slices"
	"sort"
	"sync"

	"github.com/rehearse-go/rehearse/trace"
)

// A run is one action of a loop that a model drives, with what its rules look at.
type run struct {
	l      *Loop
	p      *Policy
	tr     *trace.Trace
	a      *trace.Action
	turns  []trace.Turn
	talks  []talkCall // its calls of models, other agents and approvals, in order
	asks   []wish     // what its models asked for, by number - 1
	works  []work     // the attempts and the calls of other agents, in order
	spoken []segment  // what the user was shown
	once   sync.Once
	done   map[intention]int // what has succeeded, and the event that shows it; see remembered
}

// A talkCall is a call of a run that is no attempt.
type talkCall struct {
	event  int
	answer int // index of its answer; -1: none has come
}

// A wish is what a model asked for, and the index of its turn.
type wish struct {
	*trace.Ask
	turn int
}

// A work is a call that the program made for something that was asked for: an
// attempt at a tool, or a task that is handed to another agent.
type work struct {
	event  int
	answer int // index of its answer; -1: none has come
	ask    int // number of the ask; 0: of none that is known
	tool   string
	args   json.RawMessage
	seen   bool
	class  trace.Class // as the program saw it; meaningful where seen
	at     *trace.Attempt
}

// final lists the classes that waiting cannot mend, whoever asks again.
var final = classSet(trace.QuotaExhausted, trace.Invalid, trace.Unauthenticated, trace.Forbidden, trace.NotFound, trace.Conflict, trace.Declined)

// refused reports whether the same call is not to be made again: the answer is one
// that waiting cannot mend, or one after which it may have been done already.
func (w *work) refused(p *Policy) bool {
	o := trace.Outcome{Class: w.class}
	if w.at != nil {
		o = w.at.Outcome
	}
	own := p.Of(w.tool)
	switch {
	case !w.seen, o.Class == trace.OK, o.Class == trace.Cancelled, o.Items != "", own.mends(o.Class), own.retries(&o):
		return false
	}
	return final.has(o.Class) || w.at != nil && !own.safe(&o)
}

// An intention is a tool and arguments.
type intention struct{ tool, args string }

func (w *work) intention() intention { return intention{w.tool, string(w.args)} }

func (k *wish) intention() intention {
	return intention{k.Tool, string(trace.Canonical([]byte(k.Args)))}
}

// talksOf lists the calls of models, agents and approvals, by action.
func talksOf(tr *trace.Trace) map[string][]talkCall {
	type place struct {
		action string
		index  int
	}
	talks, open := map[string][]talkCall{}, map[int]place{}
	for i := range tr.Events {
		switch e := &tr.Events[i]; {
		case e.Kind == trace.KindCall && !e.Ambiguous && talking(e.Role):
			open[e.Call] = place{e.Action, len(talks[e.Action])}
			talks[e.Action] = append(talks[e.Action], talkCall{i, -1})
		case e.Kind == trace.KindAnswer:
			if p, mine := open[e.Call]; mine {
				talks[p.action][p.index].answer = i
				delete(open, e.Call)
			}
		}
	}
	return talks
}

func talking(r trace.Role) bool {
	return r == trace.RoleModel || r == trace.RoleAgent || r == trace.RoleApproval
}

// runRule makes an invariant of a function that looks at one run.
func (l *Loop) runRule(p *Policy, name, text string, look func(r *run) Verdict) Invariant {
	return Invariant{Name: name, Rule: text, Check: func(tr *trace.Trace) (v Verdict) {
		for _, r := range l.runsOf(p, tr) {
			v.add(name, look(r))
		}
		return v
	}}
}

// runsOf are the runs of a trace, one for each action.
func (l *Loop) runsOf(p *Policy, tr *trace.Trace) []*run {
	if l.runs != nil {
		return l.runs(tr)
	}
	talks, actions := talksOf(tr), tr.Actions()
	list := make([]*run, len(actions))
	for i := range actions {
		list[i] = newRun(l, p, tr, i, talks[actions[i].Name])
	}
	return list
}

func newRun(l *Loop, p *Policy, tr *trace.Trace, i int, talks []talkCall) *run {
	r := &run{l: l, p: p, tr: tr, a: &tr.Actions()[i], turns: tr.Turns(i), talks: talks}
	for n := range r.turns {
		for k := range r.turns[n].Asks {
			r.asks = append(r.asks, wish{&r.turns[n].Asks[k], n})
		}
	}
	sort.SliceStable(r.asks, func(i, j int) bool { return r.asks[i].N < r.asks[j].N }) // replies of several agents may cross
	r.gatherWorks()
	r.gatherTexts()
	return r
}

// gatherWorks merges attempts and calls of agents.
func (r *run) gatherWorks() {
	talks := r.talks
	for i := range r.a.Attempts {
		at := &r.a.Attempts[i]
		for len(talks) > 0 && talks[0].event < at.Event {
			r.handOver(talks[0])
			talks = talks[1:]
		}
		w := work{event: at.Event, answer: at.AnswerEvent, ask: at.Ask, tool: at.Tool, args: at.Args, seen: at.Seen, at: at}
		if w.seen {
			w.class = at.Outcome.Class
		}
		r.works = append(r.works, w)
	}
	for _, c := range talks {
		r.handOver(c)
	}
}

func (r *run) handOver(c talkCall) {
	e := &r.tr.Events[c.event]
	if e.Role != trace.RoleAgent {
		return
	}
	w := work{event: c.event, answer: c.answer, ask: e.Ask, tool: e.Tool, args: e.Args, seen: c.answer >= 0}
	if w.seen {
		w.class = r.tr.Events[c.answer].Outcome.Class
	}
	r.works = append(r.works, w)
}

// workAt is the work whose call has the event; nil: there is none.
func (r *run) workAt(event int) *work {
	i := sort.Search(len(r.works), func(i int) bool { return r.works[i].event >= event })
	if i < len(r.works) && r.works[i].event == event {
		return &r.works[i]
	}
	return nil
}

// of is the ask that the work serves; nil: none is known.
func (r *run) of(w *work) *wish {
	if w.ask < 1 || w.ask > len(r.asks) {
		return nil
	}
	return &r.asks[w.ask-1]
}

// each calls look with each work that the ask has led to.
func (r *run) each(k *wish, look func(w *work)) {
	for _, list := range [...][]int{k.Attempts, k.Agents} {
		for _, e := range list {
			if w := r.workAt(e); w != nil {
				look(w)
			}
		}
	}
}

// talkAt is the place of the talk whose call has the event; -1: there is none.
func (r *run) talkAt(event int) int {
	i, there := slices.BinarySearchFunc(r.talks, event, func(c talkCall, e int) int { return c.event - e })
	if !there {
		return -1
	}
	return i
}

// search is the first place of a sorted list whose value is not below the given one.
func search(list []int, value int) int {
	i, _ := slices.BinarySearch(list, value)
	return i
}

// A fate is what became of an ask.
type fate uint8

const (
	fateOpen     fate = iota // it is not known, or it was cut short
	fateOK                   // it was done
	fateDeclined             // a valid no
	fateFailed               // it failed, or was refused before the tool was reached
)

// fate says what became of the ask, and the event that shows it.
func (r *run) fate(k *wish) (f fate, event int) {
	event = -1
	reached, last := false, -1
	r.each(k, func(w *work) {
		reached = true
		switch {
		case f == fateOK || !w.seen || w.event < last:
		case w.class == trace.OK:
			f, event = fateOK, w.shows()
		case w.class == trace.Declined:
			f, event, last = fateDeclined, w.shows(), w.event
		case w.class == trace.Cancelled:
			f, event, last = fateOpen, w.shows(), w.event
		default:
			f, event, last = fateFailed, w.shows(), w.event
		}
	})
	if reached {
		return f, event
	}
	return r.unreached(k)
}

// shows is the event that shows what became of the work.
func (w *work) shows() int {
	if w.answer >= 0 {
		return w.answer
	}
	return w.event
}

// unreached says what became of an ask for which nothing was called: what the model
// was shown tells.
func (r *run) unreached(k *wish) (fate, int) {
	t := &r.turns[k.turn]
	if len(k.Results) == 0 {
		return fateOpen, -1
	}
	if k.Results[0].Failed || tellsFailure(k.Results[0].Text) && !r.served(k) && !r.remembered(k, t.Next) || !parses(k.Args) || !offers(t.Prompt, k.Tool) {
		return fateFailed, t.Next
	}
	if r.toldAgain(k) {
		return fateOK, t.Next
	}
	return fateOpen, -1
}

// toldAgain reports whether the model was shown what an earlier call of the tool had
// brought: the program has kept it, and to its counts the ask is a success.
func (r *run) toldAgain(k *wish) bool {
	told, done := false, false // of twins the call of one may bring the result of the other
	for i := range r.asks {
		o := &r.asks[i]
		if o.N >= k.N {
			break
		}
		if o.Tool != k.Tool {
			continue
		}
		told = told || slices.ContainsFunc(o.Results, func(shown trace.ToolResult) bool { return !shown.Failed && shown.Text == k.Results[0].Text })
		r.each(o, func(w *work) { done = done || w.seen && w.class == trace.OK })
	}
	return told && done
}

// served reports whether the ask was answered without a call.
func (r *run) served(k *wish) bool {
	args := trace.Canonical([]byte(k.Args))
	for _, i := range r.a.Hits {
		if e := &r.tr.Events[i]; e.Tool == k.Tool && trace.SameArgs(e.Args, args) {
			return true
		}
	}
	return false
}

// remembered reports whether the same had succeeded in the run before the event, so that
// the answer to it is known: its words may well speak of errors.
func (r *run) remembered(k *wish, event int) bool {
	r.once.Do(func() {
		r.done = map[intention]int{}
		for i := range r.works {
			w := &r.works[i]
			if _, known := r.done[w.intention()]; !known && w.seen && w.class == trace.OK {
				r.done[w.intention()] = w.shows()
			}
		}
	})
	at, ok := r.done[k.intention()]
	return ok && at < event
}

// twin reports whether the model asked for the same in the same turn, or under the same
// id: which of the two a call serves is then not to be seen.
func (r *run) twin(k *wish) bool {
	for i := range r.turns[k.turn].Asks {
		o := &r.turns[k.turn].Asks[i]
		if o.N != k.N && o.Tool == k.Tool && (o.Args == k.Args || o.ID != "" && o.ID == k.ID) {
			return true
		}
	}
	return false
}

// parses reports whether what the model wrote are arguments.
func parses(args string) bool { return args == "" || json.Valid([]byte(args)) }

// offers reports whether the model was offered the tool. A prompt that lists no
// tools says nothing.
func offers(p *trace.Prompt, tool string) bool {
	if p == nil || len(p.Tools) == 0 {
		return true
	}
	for _, name := range p.Tools {
		if name == tool {
			return true
		}
	}
	return false
}

// closing reports whether the turn is one in which the model can only say
// something, while it was offered tools before: a last word.
func (r *run) closing(t *trace.Turn) bool {
	return t.Prompt != nil && len(t.Prompt.Tools) == 0 && r.turns[0].Prompt != nil && len(r.turns[0].Prompt.Tools) > 0
}

// succeeded reports whether the run's end claims nothing but a success.
func (r *run) succeeded() bool {
	return r.a.Ended && r.a.Error == "" && (r.a.Reason == 0 || r.a.Reason == trace.ReasonSuccess)
}
