package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/trace"
)

// An agent is a loop as one writes it first: it asks the model, makes the calls
// that it asks for, and shows it what came of them, until it asks for nothing.
type agent struct {
	model trace.ModelFunc
	tools toolbox
	turns int // at most
}

type toolbox map[string]trace.Func[json.RawMessage, json.RawMessage]

func (a agent) run(ctx context.Context, request string) (string, error) {
	prompt := trace.Prompt{Tools: slices.Sorted(maps.Keys(a.tools))}
	prompt.Messages = append(prompt.Messages, trace.Message{From: trace.FromUser, Text: request})
	for range a.turns {
		said, err := a.model(ctx, prompt)
		if err != nil {
			return "", fmt.Errorf("asking the model: %w", err)
		}
		if len(said.Calls) == 0 {
			return said.Text, nil
		}
		prompt.Messages = append(prompt.Messages,
			trace.Message{From: trace.FromModel, Text: said.Text, Calls: said.Calls},
			trace.Message{From: trace.FromTool, Results: a.calls(ctx, said.Calls)})
	}
	return "", errors.New("no answer within the turns that there are")
}

func (a agent) calls(ctx context.Context, asked []trace.ToolCall) (results []trace.ToolResult) {
	for _, c := range asked {
		text, err := a.call(trace.CallID(ctx, c.ID), c)
		if err != nil {
			text = err.Error()
		}
		results = append(results, trace.ToolResult{ID: c.ID, Tool: c.Tool, Text: text, Failed: err != nil})
	}
	return results
}

func (a agent) call(ctx context.Context, c trace.ToolCall) (string, error) {
	tool, known := a.tools[c.Tool]
	switch {
	case !known:
		return "", fmt.Errorf("there is no tool %s", c.Tool)
	case !json.Valid([]byte(c.Args)):
		return "", errors.New("the arguments are no JSON")
	}
	out, err := tool(ctx, json.RawMessage(c.Args))
	return string(out), err
}
