package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
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

// The tool fails once, the model asks again, and then answers. Model
// and tool share a recorder, so that one trace has both.
func ExampleNewModel() {
	t := new(printing)
	defer t.end()

	rec := &trace.Recorder{Clear: true}
	model := scripted.NewModel(t).Into(rec).
		Say("Let me look. ").AndAsk("weather", `{"city":"Pune"}`).
		Ask("weather", `{"city":"Pune"}`).
		Say("It is 19 °C in Pune.")
	weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).
		Fail(trace.Transient, errors.New("503 Service Unavailable")).
		Return(Forecast{Celsius: 19})

	loop := agent{model: model.Reply, turns: 5, tools: toolbox{"weather": weather.CallJSON}}
	answer, err := trace.Do(context.Background(), rec, "forecast", func(ctx context.Context) (string, error) {
		return loop.run(ctx, "How warm is it in Pune?")
	})
	fmt.Println(answer, err)
	for _, m := range model.Prompts()[2].Messages[1:] {
		for _, r := range m.Results {
			fmt.Println(r.ID, r.Text, r.Failed)
		}
	}
	for _, turn := range rec.Trace().Turns(0) {
		for _, ask := range turn.Asks {
			fmt.Println("turn", turn.N, "asks for", ask.Tool, "as", ask.ID, "in", len(ask.Attempts), "attempt")
		}
	}
	invariants.Verify(t, rec.Trace(), invariants.MaxAttempts(2), invariants.AllowedTools("weather"), invariants.StopAfterSuccess(), invariants.NothingLeft())
	// Output:
	// It is 19 °C in Pune. <nil>
	// call_1 503 Service Unavailable true
	// call_2 {"celsius":19} false
	// turn 1 asks for weather as call_1 in 1 attempt
	// turn 2 asks for weather as call_2 in 1 attempt
}
