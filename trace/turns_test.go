package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
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

func TestACallWithoutAFieldThatNobodyKnowsServesTheLatestAsk(t *testing.T) {
	replies := []string{`{"city":"Pune"}`, `{"admin":true,"city":"Pune"}`, `{"city":"Delhi"}`}
	r := &trace.Recorder{Clear: true}
	turn := 0
	model := trace.RecordModel(r, "model", func(context.Context, trace.Prompt) (trace.Reply, error) {
		turn++
		return trace.Reply{Calls: []trace.ToolCall{{ID: "c" + strconv.Itoa(turn), Tool: "search", Args: replies[turn-1]}}}, nil
	})
	type query struct {
		City string `json:"city"`
	}
	search := trace.Record(r, "search", func(context.Context, query) (string, error) { return "", nil })
	_, err := trace.Do(t.Context(), r, "search", func(ctx context.Context) (string, error) {
		for range replies {
			said, _ := model(ctx, trace.Prompt{})
			var q query
			_ = json.Unmarshal([]byte(said.Calls[0].Args), &q)
			_, _ = search(ctx, q)
		}
		return search(ctx, query{"Pune"}) // in the third turn, which asks for something else
	})
	require.NoError(t, err)
	turns := r.Trace().Turns(0)
	require.Len(t, turns, 3)
	require.Len(t, turns[0].Asks[0].Attempts, 2, "equal arguments come before the only ask of the latest reply")
	require.Len(t, turns[1].Asks[0].Attempts, 1)
	require.Len(t, turns[2].Asks[0].Attempts, 1)
}

// A model that failed, and in whose place another one answered, is asked for a later
// turn when the conversation has gone on; a retry of its turn shows the same.
func TestAnotherModelCanTakeATurn(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "run")
	talk := trace.Prompt{Messages: []trace.Message{{From: trace.FromUser, Text: "How warm is it?"}}}
	ask := func(model string) trace.Pending {
		return r.Call(ctx, trace.Call{Tool: model, Role: trace.RoleModel, Prompt: &talk})
	}
	fails := func() { ask("main").Answer(trace.Outcome{Class: trace.Transient}, nil, errors.New("down")) }
	fails()
	fails()
	ask("backup").Reply(trace.Reply{Text: "Where?"})
	talk.Messages = append(talk.Messages, trace.Message{From: trace.FromModel, Text: "Where?"}, trace.Message{From: trace.FromUser, Text: "In Pune."})
	fails()
	ask("main").Reply(trace.Reply{Text: "19 °C."})
	op.End(trace.Ending{})
	var calls []int
	for _, turn := range r.Trace().Turns(0) {
		calls = append(calls, len(turn.Calls))
	}
	require.Equal(t, []int{2, 1, 2}, calls)
}

// Calls side by side are for an ask each, where the model asks for the same twice; a call
// behind a failure is the same ask's next attempt.
func TestCallsSideBySideServeAnAskEach(t *testing.T) {
	ask := trace.ToolCall{ID: "a", Tool: "pay", Args: `{"amount":7}`}
	served := func(carryOut func(ctx context.Context, pay func(context.Context) trace.Pending)) (list []int) {
		r := &trace.Recorder{Clear: true}
		model := trace.RecordModel(r, "model", speaks(trace.Reply{Calls: []trace.ToolCall{ask, ask}}))
		ctx, op := r.Begin(t.Context(), "run")
		_, _ = model(ctx, trace.Prompt{})
		carryOut(trace.CallID(ctx, "a"), func(ctx context.Context) trace.Pending {
			return r.Call(ctx, trace.Call{Tool: "pay", Args: json.RawMessage(`{"amount":7}`)})
		})
		op.End(trace.Ending{})
		for _, a := range r.Trace().Turns(0)[0].Asks {
			list = append(list, len(a.Attempts))
		}
		return list
	}
	ok, failed := trace.Outcome{Class: trace.OK}, trace.Outcome{Class: trace.Transient}
	require.Equal(t, []int{1, 1}, served(func(ctx context.Context, pay func(context.Context) trace.Pending) {
		one, two := pay(ctx), pay(ctx)
		two.Answer(ok, nil, nil)
		one.Answer(ok, nil, nil)
	}))
	require.Equal(t, []int{2, 0}, served(func(ctx context.Context, pay func(context.Context) trace.Pending) {
		pay(ctx).Answer(failed, nil, nil)
		pay(ctx).Answer(ok, nil, nil)
	}))
	require.Equal(t, []int{2, 1}, served(func(ctx context.Context, pay func(context.Context) trace.Pending) {
		one, two := pay(ctx), pay(ctx)
		one.Answer(failed, nil, nil)
		pay(ctx).Answer(ok, nil, nil)
		two.Answer(ok, nil, nil)
	}))
}
