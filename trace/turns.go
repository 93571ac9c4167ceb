package trace

import "slices"

// A Turn is one reply of a model in an action, and what came of it. It is computed
// from the events; indices are those of [Trace].Events.
type Turn struct {
	N       int    // number within the action, from 1, over all of its models
	Model   string // the model's name
	Layer   string // the path of the layers above it, such as agents; empty: none is declared
	Calls   []int  // its physical calls: the last one got the reply, those before it failed
	Answer  int    // the answer that has the reply; -1: none came
	Prompt  *Prompt
	Reply   *Reply // nil: none came
	Asks    []Ask  // what the model asked for in it
	Next    int    // the call of the same model's next turn; -1: there is none
	Skipped bool   // the program asked the same model on, and what it showed lacks the reply
}

// An Ask is one call that a model asked for, and what came of it.
type Ask struct {
	N int // number within the action, from 1
	ToolCall
	Attempts []int        // the events of the tool calls that serve it, in order
	Agents   []int        // those of the calls of other agents
	Approval []int        // those of the calls that asked for leave
	Results  []ToolResult // what the model's next turn was shown of it; one where all is well
}

// Turns returns the turns of the models in the action of that index in
// [Trace.Actions], in the order in which they began. The result is computed once and
// shared: it must not be changed.
func (t *Trace) Turns(action int) []Turn {
	t.talk.Do(func() { t.turns = buildTurns(t) })
	if action < 0 || action >= len(t.turns) {
		return nil
	}
	return t.turns[action]
}

// A talk is the turns of one action while they are found.
type talk struct {
	turns []Turn
	open  map[string]int // model and layer → index of its latest turn
	last  map[string]int // layer → index of the turn that got the latest reply there
	calls map[int]int    // call → turn
	asks  []place        // by number - 1
}

// A place is where an ask stands.
type place struct{ turn, ask int }

func buildTurns(t *Trace) [][]Turn {
	index := map[string]int{}
	for i, a := range t.Actions() {
		index[a.Name] = i
	}
	talks := make([]*talk, len(index))
	for i := range t.Events {
		e := &t.Events[i]
		n, known := index[e.Action]
		if e.Ambiguous || !known {
			continue
		}
		if talks[n] == nil {
			if e.Role != RoleModel {
				continue
			}
			talks[n] = &talk{open: map[string]int{}, last: map[string]int{}, calls: map[int]int{}}
		}
		talks[n].add(i, e)
	}
	all := make([][]Turn, len(talks))
	for i, k := range talks {
		if k != nil {
			k.results()
			all[i] = k.turns
		}
	}
	return all
}

func (k *talk) add(i int, e *Event) {
	switch {
	case e.Kind == KindCall && e.Role == RoleModel:
		k.asked(i, e)
	case e.Kind == KindAnswer:
		if n, mine := k.calls[e.Call]; mine {
			k.replied(i, n, e)
		}
	case e.Kind == KindCall && e.Ask > 0 && e.Ask <= len(k.asks):
		at := k.asks[e.Ask-1]
		a := &k.turns[at.turn].Asks[at.ask]
		switch e.Role {
		case RoleAttempt:
			a.Attempts = append(a.Attempts, i)
		case RoleAgent:
			a.Agents = append(a.Agents, i)
		case RoleApproval:
			a.Approval = append(a.Approval, i)
		}
	}
}

// asked opens a turn, or goes on with one that has no reply yet.
func (k *talk) asked(i int, e *Event) {
	who := e.Layer + "\x00" + e.Tool
	n, known := k.open[who]
	if !known || k.turns[n].Reply != nil || k.replaced(n, e) {
		if known && k.turns[n].Reply != nil {
			k.turns[n].Next = i
		}
		n = len(k.turns)
		k.open[who] = n
		k.turns = append(k.turns, Turn{N: n + 1, Model: e.Tool, Layer: e.Layer, Answer: -1, Next: -1})
	}
	t := &k.turns[n]
	t.Calls, t.Prompt = append(t.Calls, i), e.Prompt
	k.calls[e.Call] = n
}

// replaced reports whether another model of the layer has answered in place of the
// one that failed, and the conversation has gone on since: the call asks for a later
// turn then.
func (k *talk) replaced(n int, e *Event) bool {
	t := &k.turns[n]
	last, any := k.last[t.Layer]
	if !any || last == n || k.turns[last].Answer < t.Calls[len(t.Calls)-1] || t.Prompt == nil || e.Prompt == nil {
		return false
	}
	return spoken(e.Prompt) > spoken(t.Prompt)
}

func (k *talk) replied(i, n int, e *Event) {
	t := &k.turns[n]
	if e.Outcome.Class != OK || t.Reply != nil {
		return
	}
	t.Answer, t.Reply = i, e.Reply
	k.last[t.Layer] = n
	if t.Reply == nil {
		t.Reply = &Reply{}
	}
	t.Asks = make([]Ask, len(t.Reply.Calls))
	for j, c := range t.Reply.Calls {
		k.asks = append(k.asks, place{n, j})
		t.Asks[j] = Ask{N: len(k.asks), ToolCall: c}
	}
}

// results finds what the model was shown of each call, in its next prompt.
func (k *talk) results() {
	for n := range k.turns {
		t := &k.turns[n]
		if t.Next < 0 {
			continue
		}
		next := k.after(n)
		if next == nil || next.Prompt == nil || t.Prompt == nil {
			continue
		}
		t.Skipped = !holds(next.Prompt, t.Prompt, t.Reply)
		old, fresh, ids := handed(t.Prompt), handed(next.Prompt), t.echoed(next.Prompt)
		for i := range t.Asks {
			t.Asks[i].Results = t.resultsOf(i, ids, old, fresh)
		}
	}
}

// after is the same model's next turn.
func (k *talk) after(n int) *Turn {
	for i := n + 1; i < len(k.turns); i++ {
		if t := &k.turns[i]; len(t.Calls) > 0 && t.Calls[0] == k.turns[n].Next {
			return t
		}
	}
	return nil
}

// handed lists the results in a prompt.
func handed(p *Prompt) (list []ToolResult) {
	for i := range p.Messages {
		list = append(list, p.Messages[i].Results...)
	}
	return list
}

// echoed lists the ids under which the next prompt shows the calls of the reply: a
// program may give calls that have none, or share one, ids of its own.
func (t *Turn) echoed(next *Prompt) []string {
	ids := make([]string, len(t.Asks))
	for i := range t.Asks {
		ids[i] = t.Asks[i].ID
	}
	for _, m := range slices.Backward(next.Messages) {
		if m.From != FromModel {
			continue
		}
		same := slices.EqualFunc(m.Calls, t.Asks, func(c ToolCall, a Ask) bool { return c.Tool == a.Tool })
		for i := range m.Calls {
			if same {
				ids[i] = m.Calls[i].ID
			}
		}
		break
	}
	return ids
}

// resultsOf picks the new results of one ask. Where several asks of the reply share
// an id, each has the results that stand at its place, and the last one all that are
// left.
func (t *Turn) resultsOf(i int, ids []string, old, fresh []ToolResult) []ToolResult {
	id, tool := ids[i], t.Asks[i].Tool
	mine := func(r *ToolResult) bool {
		if id != "" || r.ID != "" {
			return r.ID == id
		}
		return r.Tool == tool
	}
	before := 0
	for n := range old {
		if mine(&old[n]) {
			before++
		}
	}
	var list []ToolResult
	for n := range fresh {
		if !mine(&fresh[n]) {
			continue
		}
		if before--; before < 0 {
			list = append(list, fresh[n])
		}
	}
	rank, twins := 0, 0
	for n := range t.Asks {
		if ids[n] == id && (id != "" || t.Asks[n].Tool == tool) {
			if n < i {
				rank++
			}
			twins++
		}
	}
	switch {
	case twins == 1:
		return list
	case rank >= len(list):
		return nil
	case rank == twins-1:
		return list[rank:]
	}
	return list[rank : rank+1]
}

// holds reports whether the next prompt has the reply in it: a message of the model
// more than before. A reply without words or calls need not be kept.
func holds(next, prompt *Prompt, said *Reply) bool {
	if said.Text == "" && len(said.Calls) == 0 {
		return true
	}
	return spoken(next) > spoken(prompt)
}

func spoken(p *Prompt) (n int) {
	for i := range p.Messages {
		if p.Messages[i].From == FromModel {
			n++
		}
	}
	return n
}
