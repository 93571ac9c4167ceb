package invariants

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// A tcall is one call of a trajectory.
type tcall struct {
	at     *trace.Attempt
	canon  json.RawMessage // its arguments; nil: not looked at
	fields any             // the same, decoded
	known  bool            // fields is set
}

// args is the arguments in canonical form, null where there are none.
func (c *tcall) args() json.RawMessage {
	if c.canon == nil {
		if c.canon = trace.Canonical(c.at.Args); c.canon == nil {
			c.canon = json.RawMessage("null")
		}
	}
	return c.canon
}

func (c *tcall) value() any {
	if !c.known {
		c.fields, c.known = decoded(c.args()), true
	}
	return c.fields
}

// calls lists what counts of the action's attempts, in the order in which the
// tools were reached.
func (t Trajectory) calls(a *trace.Action) []tcall {
	var list []tcall
	switch t.Counted {
	case AllAttempts, SuccessfulAttempts:
		for i := range a.Attempts {
			if at := &a.Attempts[i]; t.Counted == AllAttempts || at.Seen && at.Outcome.Class == trace.OK {
				list = append(list, tcall{at: at})
			}
		}
		return list
	}
	for i := range a.Series {
		for _, at := range finals(&a.Series[i]) {
			list = append(list, tcall{at: at})
		}
	}
	slices.SortFunc(list, func(x, y tcall) int { return x.at.Event - y.at.Event })
	return list
}

// A modelCall is what a model asked for, as far as the trace has it.
type modelCall struct {
	ask int    // its number
	id  string // its id, which models need not keep apart
}

// finals lists the attempts that settled a call: a series has several where it was
// called again after a success, or asked for again by a model.
func finals(s *trace.Series) []*trace.Attempt {
	if len(s.Attempts) == 1 {
		return []*trace.Attempt{&s.Attempts[0]}
	}
	var list []*trace.Attempt
	latest := map[modelCall]int{} // a call → its place in the list
	for i := range s.Attempts {
		at := &s.Attempts[i]
		n, known := latest[modelCall{at.Ask, at.CallID}]
		switch {
		case !known || answered(list[n]) && precedes(list[n], at):
			latest[modelCall{at.Ask, at.CallID}] = len(list)
			list = append(list, at)
		case !answered(list[n]): // at is its retry, or a hedge
			list[n] = at
		}
	}
	return list
}

// precedes reports whether b had ended when at began.
func precedes(b, at *trace.Attempt) bool {
	return b.End < at.Begin || b.End == at.Begin && (b.AnswerEvent < at.Event || b.Interrupted != 0)
}

// answered reports whether the attempt brought a success or a valid "no".
func answered(at *trace.Attempt) bool { return at.Seen && !at.Outcome.Failed() }
