package invariants

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// An itemAt is an item at the tool that does it.
type itemAt struct{ tool, id string }

// items reports items of a batch whose work an action had done twice.
func (v *Verdict) items(tr *trace.Trace, a *trace.Action) {
	var done map[itemAt]int // the event of the latest effect
	for _, e := range a.Effects {
		ev := &tr.Events[e]
		if ev.Outcome.Items == "" {
			continue
		}
		v.Applied++
		if done == nil {
			done = map[itemAt]int{}
		}
		var twice []string
		first := -1
		for _, it := range ev.Outcome.Items.List() {
			at := itemAt{ev.Tool, it.ID}
			before, again := done[at]
			if again && before != e && sameItem(a, it.ID, tr.Events[before].Call, ev.Call) {
				twice, first = append(twice, it.ID), before
			}
			done[at] = e
		}
		if len(twice) > 0 {
			v.report(a, fmt.Sprintf("%s did %s twice for one action", ev.Tool, listed(twice)),
				"send again only what is known not to be done: after a request whose outcome is not known, ask what became of its items, or report them", first, e)
			return
		}
	}
}

// sameItem reports whether two calls ask for the same work of an item: what they
// say of it is alike, or cannot be told apart from the rest of the request.
func sameItem(a *trace.Action, id string, first, second int) bool {
	x, y := contentOf(a, id, first), contentOf(a, id, second)
	return x == nil || y == nil || trace.SameArgs(x, y)
}

// contentOf is what the call says of the item; nil: it cannot be told.
func contentOf(a *trace.Action, id string, call int) json.RawMessage {
	i := slices.IndexFunc(a.Attempts, func(at trace.Attempt) bool { return at.Call == call })
	if i < 0 {
		return nil
	}
	at := &a.Attempts[i]
	items := at.Items.List()
	args := itemsIn(at.Args)
	if len(args) != len(items) {
		return nil
	}
	n := slices.IndexFunc(items, func(it trace.Item) bool { return it.ID == id })
	if n < 0 {
		return nil
	}
	return args[n]
}

// itemsIn is the list that the arguments are, or that is the body of an HTTP request.
func itemsIn(args json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(args, &list) == nil {
		return list
	}
	var request struct{ Body []json.RawMessage }
	if json.Unmarshal(args, &request) == nil {
		return request.Body
	}
	return nil
}
