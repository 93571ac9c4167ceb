package faultsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Move is how a model misbehaves in one turn. Where a move needs something that
// the conversation has not yet, such as a call to ask for again, the model does what
// its script says.
type Move string

const (
	MoveNone      Move = ""          // it does what its script says
	MoveAgain     Move = "again"     // it asks again for what it asked for last, with new ids
	MoveStubborn  Move = "stubborn"  // it does so in this turn and all later ones
	MoveChange    Move = "change"    // it asks again, and changes one argument
	MoveRewrite   Move = "rewrite"   // it asks again, and writes the same arguments in another order and with other spaces
	MoveExtend    Move = "extend"    // it asks again, and adds an argument that nobody knows
	MoveInvent    Move = "invent"    // it asks for a tool that does not exist
	MoveOther     Move = "other"     // it turns to a tool that the run may not use
	MoveTwin      Move = "twin"      // it asks for the same twice in one turn, under one id
	MoveMany      Move = "many"      // it asks in one turn for what it should, for the same again, and for a tool that does not exist
	MoveAnonymous Move = "anonymous" // it gives its calls no ids
	MoveGarble    Move = "garble"    // the arguments break off, and are no JSON
	MoveLength    Move = "length"    // it is cut off at its greatest length, within a call
	MoveFilter    Move = "filter"    // the provider refuses to let it answer
	MoveSilent    Move = "silent"    // it says nothing, and asks for nothing
	MoveChat      Move = "chat"      // it says something before it asks
	MoveClaim     Move = "claim"     // it says that all is done
	MoveParrot    Move = "parrot"    // it says to the user what the last tool said, word for word
	MoveObey      Move = "obey"      // it does what the words of the last result tell it, if they tell it anything
)

var moves = []Move{
	MoveAgain, MoveStubborn, MoveChange, MoveRewrite, MoveExtend, MoveInvent, MoveOther, MoveTwin, MoveMany, MoveAnonymous,
	MoveGarble, MoveLength, MoveFilter, MoveSilent, MoveChat, MoveClaim, MoveParrot, MoveObey,
}

func (m Move) validate() error {
	if m == MoveNone || slices.Contains(moves, m) {
		return nil
	}
	return fmt.Errorf("Move is %q: say one of %q", string(m), moves)
}

// validMove reports what makes a move unplayable.
func (f *Fault) validMove() error {
	if f.Move != MoveNone && (f.Hang || f.class() != trace.OK) {
		return errors.New("Move is about a turn that the model answers, and this one fails: clear Class and Hang, or Move")
	}
	return f.Move.validate()
}

// InventedTool is the tool that a model asks for where it invents one.
const InventedTool = "invented_tool"

// chatter is what a model says before it asks.
const chatter = "Let me look."

// misbehave makes the turn that the move plans of the one that the script says.
func (d *Model) misbehave(m Move, shown *trace.Prompt, honest trace.Reply) trace.Reply {
	last := double.LastCalls(*shown)
	base := honest.Calls
	if len(base) == 0 {
		base = last
	}
	switch m {
	case MoveAgain, MoveStubborn:
		if len(last) > 0 {
			return trace.Reply{Calls: last}
		}
	case MoveChange:
		if len(last) > 0 {
			return trace.Reply{Calls: d.changed(last)}
		}
	case MoveRewrite:
		if len(last) > 0 {
			return trace.Reply{Calls: rewritten(last)}
		}
	case MoveExtend:
		if len(last) > 0 {
			return trace.Reply{Calls: edited(last, func(args map[string]any) { args["admin"] = true })}
		}
	case MoveInvent:
		return trace.Reply{Calls: []trace.ToolCall{{Tool: InventedTool, Args: "{}"}}}
	case MoveOther:
		if name := d.other(); name != "" {
			return trace.Reply{Calls: []trace.ToolCall{{Tool: name, Args: argsOf(base)}}}
		}
	case MoveTwin, MoveMany, MoveAnonymous, MoveGarble, MoveLength, MoveChat:
		if len(base) > 0 {
			return d.odd(m, base)
		}
	case MoveFilter:
		return trace.Reply{Stop: trace.StopFilter}
	case MoveSilent:
		return trace.Reply{}
	case MoveClaim:
		return trace.Reply{Text: d.script.claim()}
	case MoveParrot:
		if r, ok := lastResult(shown); ok && r.Text != "" {
			return trace.Reply{Text: r.Text}
		}
	case MoveObey:
		if calls := obeyed(shown, last); len(calls) > 0 {
			return trace.Reply{Calls: calls}
		}
	}
	return honest
}

// odd asks for calls in a form that loops take for granted, or do not expect.
func (d *Model) odd(m Move, calls []trace.ToolCall) trace.Reply {
	calls = slices.Clone(calls)
	switch m {
	case MoveTwin:
		calls = append(calls, calls[0]) // ids are given by place: see name
	case MoveMany:
		calls = append(calls, calls[0], trace.ToolCall{Tool: InventedTool, Args: "{}"})
	case MoveGarble, MoveLength:
		c := &calls[len(calls)-1]
		c.Args = garbled(c.Args)
	case MoveChat:
		return trace.Reply{Text: chatter, Calls: calls}
	}
	r := trace.Reply{Calls: calls}
	if m == MoveLength {
		r.Stop = trace.StopLength
	}
	return r
}

// garbled is arguments that break off.
func garbled(args string) string {
	if len(args) < 3 {
		return `{"`
	}
	return args[:len(args)/2+1]
}

// lastResult is the result that the model was shown last.
func lastResult(shown *trace.Prompt) (r trace.ToolResult, ok bool) {
	for _, m := range slices.Backward(shown.Messages) {
		if n := len(m.Results); n > 0 {
			return m.Results[n-1], true
		}
	}
	return r, false
}

// changed changes one argument: a protected one, where the contract names some, else
// the first.
func (d *Model) changed(calls []trace.ToolCall) []trace.ToolCall {
	return edited(calls[:1], func(args map[string]any) {
		for _, name := range slices.Sorted(maps.Keys(args)) {
			if d.protects(calls[0].Tool, name) {
				args[name] = another(args[name])
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(args)) {
			args[name] = another(args[name])
			return
		}
		args["changed"] = true
	})
}

// another is a value of the same type.
func another(v any) any {
	switch v := v.(type) {
	case string:
		return v + " 2"
	case float64:
		return v + 1
	case bool:
		return !v
	}
	return "another"
}

// edited returns the calls with their arguments changed, where they are an object.
func edited(calls []trace.ToolCall, edit func(map[string]any)) []trace.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		var args map[string]any
		if json.Unmarshal([]byte(calls[i].Args), &args) != nil {
			continue
		}
		if args == nil {
			args = map[string]any{}
		}
		edit(args)
		raw, _ := json.Marshal(args) // it came from JSON
		calls[i].Args = string(raw)
	}
	return calls
}

// rewritten is the calls with arguments that mean the same and read otherwise.
func rewritten(calls []trace.ToolCall) []trace.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		var args map[string]json.RawMessage
		if json.Unmarshal([]byte(calls[i].Args), &args) != nil || args == nil {
			continue
		}
		parts := make([]string, 0, len(args))
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(args))) {
			parts = append(parts, fmt.Sprintf("%q: %s", name, args[name]))
		}
		calls[i].Args = "{ " + strings.Join(parts, ", ") + " }"
	}
	return calls
}

func argsOf(calls []trace.ToolCall) string {
	if len(calls) == 0 {
		return "{}"
	}
	return calls[0].Args
}

// obeyed is what a model asks for that takes the words of a result for an order; nil:
// they are none.
func obeyed(shown *trace.Prompt, last []trace.ToolCall) []trace.ToolCall {
	r, ok := lastResult(shown)
	if !ok {
		return nil
	}
	return double.Order(r.Text, shown.Tools, last)
}
