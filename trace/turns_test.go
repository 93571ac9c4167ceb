package trace_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// speaks is a model that says one reply after the other.
func speaks(replies ...trace.Reply) trace.ModelFunc {
	return func(context.Context, trace.Prompt) (said trace.Reply, err error) {
		said, replies = replies[0], replies[1:]
		return said, nil
	}
}

func TestResultsAreFoundUnderTheIdsThatTheProgramGave(t *testing.T) {
	ask := func(id string) trace.ToolCall { return trace.ToolCall{ID: id, Tool: "pay", Args: `{"amount":7}`} }
	for name, said := range map[string][]trace.ToolCall{
		"without ids":  {ask(""), ask("")},
		"under one id": {ask("a"), ask("a")},
	} {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Clear: true}
			model := trace.RecordModel(r, "model", speaks(trace.Reply{Calls: said}, trace.Reply{Text: "Done."}))
			pay := trace.Record(r, "pay", func(context.Context, json.RawMessage) (string, error) { return "paid", nil })
			_, err := trace.Do(t.Context(), r, "run", func(ctx context.Context) (string, error) {
				talk := []trace.Message{{From: trace.FromUser, Text: "Pay twice."}}
				_, _ = model(ctx, trace.Prompt{Messages: talk})
				for _, id := range []string{"own-1", "own-2"} {
					_, _ = pay(trace.CallID(ctx, id), json.RawMessage(`{"amount":7}`))
				}
				talk = append(talk,
					trace.Message{From: trace.FromModel, Calls: []trace.ToolCall{ask("own-1"), ask("own-2")}},
					trace.Message{From: trace.FromTool, Results: []trace.ToolResult{{ID: "own-2", Text: "second"}, {ID: "own-1", Text: "first"}}})
				said, err := model(ctx, trace.Prompt{Messages: talk})
				return said.Text, err
			})
			require.NoError(t, err)
			asks := r.Trace().Turns(0)[0].Asks
			require.Equal(t, []trace.ToolResult{{ID: "own-1", Text: "first"}}, asks[0].Results)
			require.Equal(t, []trace.ToolResult{{ID: "own-2", Text: "second"}}, asks[1].Results)
			require.Len(t, asks[0].Attempts, 1, "the first that has not been served yet")
			require.Len(t, asks[1].Attempts, 1)
		})
	}
}
