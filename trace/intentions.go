package trace

import (
	"fmt"
	"strings"
)

// An Intention is what a model wants of a tool in one action: all its asks for the
// tool with equal arguments, in whichever turn. Retries multiply over the layers that
// make them: the model asks, the code calls, and a client below may send again.
type Intention struct {
	Tool  string
	Args  string // as the model wrote them first
	Asks  int    // how often a model asked
	Tries int    // how often the code called for them, each of which may be several requests below
	Calls int    // the physical calls that reached the tool, or the child agent
}

// Intentions returns what the models of the action of that index in [Trace.Actions]
// asked for, in the order of first asking. Tries are told apart by the layers above a
// call (see [Layer]): without any each call is a try.
func (t *Trace) Intentions(action int) []Intention {
	var list []Intention
	index := map[string]int{}
	tries := map[string]bool{}
	for _, turn := range t.Turns(action) {
		for i := range turn.Asks {
			a := &turn.Asks[i]
			id := a.Tool + "\x00" + string(Canonical([]byte(a.Args)))
			n, known := index[id]
			if !known {
				n = len(list)
				index[id] = n
				list = append(list, Intention{Tool: a.Tool, Args: a.Args})
			}
			list[n].Asks++
			for _, calls := range [][]int{a.Attempts, a.Agents} {
				for _, c := range calls {
					list[n].Calls++
					if try := t.try(c, a.N); !tries[try] {
						tries[try] = true
						list[n].Tries++
					}
				}
			}
		}
	}
	return list
}

// try tells the tries of an ask apart: the outermost entry of a layer that the call is
// below, else the call itself.
func (t *Trace) try(event, ask int) string {
	e := &t.Events[event]
	if e.Layer == "" {
		return fmt.Sprint(ask, " ", event)
	}
	outer, _, _ := strings.Cut(e.Layer, "/")
	return fmt.Sprint(ask, " ", outer)
}

// String is the intention in a line: how its calls came together.
func (n Intention) String() string {
	text := fmt.Sprintf("%s %s: the model asked %s, the code called %s", plainName(n.Tool), escaped(cut(n.Args, longPiece)), times(n.Asks), times(n.Tries))
	if n.Calls != n.Tries {
		text += fmt.Sprintf(", and %s reached it", plural(n.Calls, "request"))
	}
	return text
}

// times is a number as a person says it.
func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
