// Package speaker plugs the double of a model into the loops of the examples: it
// speaks the toolkit's words on one side and the loops' on the other.
package speaker

import (
	"context"

	"github.com/rehearse-go/rehearse/examples/agentloop"
	"github.com/rehearse-go/rehearse/trace"
)

// A Speaker is a model in the words of the loops.
type Speaker struct {
	Reply trace.ModelFunc
	Tools []string // that the model is offered
}

// Next asks the double for its turn.
func (s Speaker) Next(ctx context.Context, talk []agentloop.Message) (agentloop.Turn, error) {
	said, err := s.Reply(ctx, s.Prompt(talk))
	return Turn(said), err
}

// Prompt is a conversation as the double is shown it.
func (s Speaker) Prompt(talk []agentloop.Message) trace.Prompt {
	shown := trace.Prompt{Tools: s.Tools}
	for _, m := range talk {
		msg := trace.Message{From: from[m.From], Text: m.Text}
		for _, c := range m.Calls {
			msg.Calls = append(msg.Calls, trace.ToolCall(c))
		}
		for _, r := range m.Results {
			msg.Results = append(msg.Results, trace.ToolResult(r))
		}
		shown.Messages = append(shown.Messages, msg)
	}
	return shown
}

var from = map[string]trace.Speaker{"user": trace.FromUser, "model": trace.FromModel, "tool": trace.FromTool}

// Turn is a reply as a loop reads it.
func Turn(said trace.Reply) agentloop.Turn {
	t := agentloop.Turn{Text: said.Text, Whole: said.Stop == trace.StopEnd}
	for _, c := range said.Calls {
		t.Calls = append(t.Calls, agentloop.Call(c))
	}
	return t
}
