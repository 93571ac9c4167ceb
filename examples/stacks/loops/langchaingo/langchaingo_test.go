// Package langchaingo_test puts the agent executor of langchaingo through trials.
package langchaingo_test

import (
	"context"
	"flag"
	"testing"

	"github.com/rehearse-go/rehearse/examples/internal/scene"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

var update = flag.Bool("update", false, "write testdata anew")

// chat is the double as langchaingo's model.
type chat struct{ reply trace.ModelFunc }

func (c chat) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, c, prompt, options...)
}

func (c chat) GenerateContent(ctx context.Context, talk []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	shown := trace.Prompt{}
	for _, f := range o.Functions {
		shown.Tools = append(shown.Tools, f.Name)
	}
	for _, m := range talk {
		shown.Messages = append(shown.Messages, message(m))
	}
	said, err := c.reply(ctx, shown)
	if err != nil {
		return nil, err
	}
	choice := &llms.ContentChoice{Content: said.Text, StopReason: string(said.Stop)}
	for _, k := range said.Calls {
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{
			ID: k.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: k.Tool, Arguments: k.Args},
		})
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

// message is what the model is shown. A tool's response has no mark of a failure.
func message(m llms.MessageContent) trace.Message {
	to := trace.Message{From: trace.FromUser}
	switch m.Role {
	case llms.ChatMessageTypeAI:
		to.From = trace.FromModel
	case llms.ChatMessageTypeTool:
		to.From = trace.FromTool
	case llms.ChatMessageTypeSystem:
		to.From = trace.FromSystem
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llms.TextContent:
			to.Text += p.Text
		case llms.ToolCall:
			to.Calls = append(to.Calls, trace.ToolCall{ID: p.ID, Tool: p.FunctionCall.Name, Args: p.FunctionCall.Arguments})
		case llms.ToolCallResponse:
			to.Results = append(to.Results, trace.ToolResult{ID: p.ToolCallID, Tool: p.Name, Text: p.Content})
		}
	}
	return to
}

// A tool takes its arguments as text.
type tool[In any] struct {
	name string
	call trace.Func[In, string]
}

func (t tool[In]) Name() string        { return t.name }
func (t tool[In]) Description() string { return t.name }

func (t tool[In]) Call(ctx context.Context, args string) (string, error) {
	in, err := scene.Decode[In](args)
	if err != nil {
		return "", err
	}
	return t.call(ctx, in)
}

// once: the executor asks its model once for each turn.
var once = invariants.Policy{ID: "langchaingo/v0.1.14", MaxAttempts: 1}

// accepted is what the executor leaves to the program around it.
var accepted = map[string]string{
	"no-call-on-dead-context": "the executor looks at no context: a model and tools that do are what ends a run",
	"one-effect":              "the executor keeps no count of what was asked for: a booking that is asked for twice is made twice",
	"stop-after-goal":         "the executor knows of no goal, and ends where the model does",
	"failure-told":            "an empty answer is an answer to the executor: the caller has to look at it",
	"claim-after-success":     "what the model says is returned as it is",
	"evidence-first":          "the same",
	"reply-kept":              "the agent tells turns apart by the words of its log, and joins two that ask for the same",
	"one-result":              "a call without an id gets a result without one and without a name",
	"conversation-taken":      "the same: a provider that has ids refuses the conversation",
}

func adapter(script faultsim.Script) faultsim.Adapter {
	a := scene.Adapter("langchaingo executor", once)
	a.Accept = accepted
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		doubles := scene.NewTools(s)
		agent := agents.NewOpenAIFunctionsAgent(chat{s.Model("model", script).Reply}, []tools.Tool{
			tool[scene.Place]{"search", doubles.Search}, tool[scene.Order]{"book", doubles.Book},
		})
		executor := agents.NewExecutor(agent, agents.WithMaxIterations(scene.MaxTurns))
		return func(ctx context.Context) (any, error) { return result(chains.Run(ctx, executor, scene.Request)) }
	}
	return a
}

// result returns the text, or the error alone.
func result(text string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return text, nil
}

func TestPlays(t *testing.T) { scene.Pin(t, "plays.txt", scene.Tell(t, adapter)) }

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(scene.Parallel())) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(scene.Parallel())) }

// Two turns that ask for the same in the same words become one message of the model, in
// which it asks twice. A model that goes by what it is shown asks for more each time.
func TestTurnsThatAskForTheSameAreJoined(t *testing.T) {
	a := adapter(scene.Straight())
	a.Accept = nil
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  model 2 ok move=stubborn\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "reply-kept", r.Findings[0].Invariant)
	require.Contains(t, r.Findings[0].Text, "its reply of turn 2 was not in what it was shown")
	asked := []int{}
	for _, turn := range r.Trace.Turns(0) {
		asked = append(asked, len(turn.Asks))
	}
	require.Equal(t, []int{1, 1, 2, 4, 8, 16}, asked)
}

// The agent tells its model that each tool takes one text, __arg1. What the model then
// asks for goes back to it without that name, as arguments that are no JSON.
func TestArgumentsOfOneTextGoBackAsNoJSON(t *testing.T) {
	script := faultsim.Script{Lenient: true, Steps: []faultsim.Step{faultsim.Then(func(shown trace.Prompt) trace.Reply {
		if len(shown.Messages) > 2 {
			return trace.Reply{Text: "done"}
		}
		return trace.Reply{Calls: []trace.ToolCall{{Tool: "search", Args: `{"__arg1":"{\"city\":\"Pune\"}"}`}, {Tool: "invented", Args: `{"__arg1":"Pune"}`}}}
	})}}
	r := faultsim.Trial(t, adapter(script), faultsim.One())
	require.NoError(t, r.Err)
	turns := r.Trace.Turns(0)
	require.Len(t, turns, 2)
	var args []string
	for _, m := range turns[1].Prompt.Messages {
		for _, c := range m.Calls {
			args = append(args, c.Args)
		}
	}
	require.Equal(t, []string{`{"city":"Pune"}`, "Pune"}, args)
}

// The error of a tool ends the run as it is, and what was asked for behind it is not done.
func TestAToolsErrorEndsTheRun(t *testing.T) {
	a := adapter(scene.Parallel())
	var failed error
	a.Reason = func(err error) trace.Reason { failed = err; return 0 }
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  search 1 transient\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.Len(t, r.Trace.Actions()[0].Attempts, 1)
	require.ErrorIs(t, failed, scene.ErrUnavailable)
}

// Two calls of one turn are run one after another, and shown as a turn each.
func TestCallsOfOneTurnAreShownAsTwo(t *testing.T) {
	r := faultsim.Trial(t, adapter(scene.Parallel()), faultsim.One())
	require.NoError(t, r.Err)
	turns := r.Trace.Turns(0)
	require.Len(t, turns[0].Asks, 2)
	calls := []int{}
	for _, m := range turns[1].Prompt.Messages {
		if m.From == trace.FromModel {
			calls = append(calls, len(m.Calls))
		}
	}
	require.Equal(t, []int{1, 1}, calls)
}
