// Package eino_test puts the ReAct agent of cloudwego/eino through trials.
package eino_test

import (
	"context"
	"errors"
	"flag"
	"maps"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/rehearse-go/rehearse/examples/internal/scene"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var update = flag.Bool("update", false, "write testdata anew")

// chat is the double as eino's model.
type chat struct {
	reply trace.ModelFunc
	tools []string
}

func (c chat) WithTools(infos []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	c.tools = nil
	for _, info := range infos {
		c.tools = append(c.tools, info.Name)
	}
	return c, nil
}

func (c chat) Generate(ctx context.Context, talk []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	said, err := c.reply(ctx, trace.Prompt{Messages: shown(talk), Tools: c.tools})
	if err != nil {
		return nil, err
	}
	m := schema.AssistantMessage(said.Text, nil)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: string(said.Stop)}
	for _, k := range said.Calls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			ID: k.ID, Type: "function", Function: schema.FunctionCall{Name: k.Tool, Arguments: k.Args},
		})
	}
	return m, nil
}

func (c chat) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("the agent is not asked for a stream")
}

// shown is what the model is shown. A tool's message has no mark of a failure.
func shown(talk []*schema.Message) (list []trace.Message) {
	for _, m := range talk {
		to := trace.Message{From: trace.FromUser, Text: m.Content}
		switch m.Role {
		case schema.Assistant:
			to.From = trace.FromModel
			for _, k := range m.ToolCalls {
				to.Calls = append(to.Calls, trace.ToolCall{ID: k.ID, Tool: k.Function.Name, Args: k.Function.Arguments})
			}
		case schema.Tool:
			to = trace.Message{From: trace.FromTool, Results: []trace.ToolResult{{ID: m.ToolCallID, Tool: m.ToolName, Text: m.Content}}}
		}
		list = append(list, to)
	}
	return list
}

func tools(s *faultsim.Stage) []tool.BaseTool {
	doubles := scene.NewTools(s)
	return []tool.BaseTool{infer("search", doubles.Search), infer("book", doubles.Book)}
}

// strictTools take no arguments that they do not know.
func strictTools(s *faultsim.Stage) []tool.BaseTool {
	doubles := scene.NewTools(s)
	return []tool.BaseTool{
		infer("search", doubles.Search, utils.WithUnmarshalArguments(strictly[scene.Place])),
		infer("book", doubles.Book, utils.WithUnmarshalArguments(strictly[scene.Order])),
	}
}

func strictly[In any](_ context.Context, args string) (any, error) { return scene.Decode[In](args) }

func infer[In any](name string, call trace.Func[In, string], options ...utils.Option) tool.BaseTool {
	t, err := utils.InferTool(name, name, func(ctx context.Context, in In) (string, error) {
		return call(trace.CallID(ctx, compose.GetToolCallID(ctx)), in)
	}, options...)
	if err != nil {
		panic(err) // the type of the arguments has no schema
	}
	return t
}

// once: the agent asks its model once for each turn.
var once = invariants.Policy{ID: "eino/v0.7.36", MaxAttempts: 1}

// accepted is what the agent leaves to the program around it.
var accepted = map[string]string{
	"one-effect":          "the agent keeps no count of what was asked for: a booking that is asked for twice is made twice",
	"stop-after-goal":     "the agent knows of no goal, and ends where the model does",
	"failure-told":        "an empty message is a message to the agent: the caller has to look at it",
	"claim-after-success": "what the model says is returned as it is",
	"evidence-first":      "the same",
}

// adapter plugs the agent in as it comes.
func adapter(script faultsim.Script) faultsim.Adapter {
	a := plugged("eino react", script, tools, compose.ToolsNodeConfig{})
	a.Accept = accepted
	return a
}

// failure begins what telling tells the model of an error.
const failure = "error: "

// telling plugs the agent in with what its configuration has for a model that is to be
// told of errors.
func telling(script faultsim.Script) faultsim.Adapter {
	script.Reads = func(r trace.ToolResult) bool { return strings.HasPrefix(r.Text, failure) }
	a := plugged("eino react, telling", script, strictTools, compose.ToolsNodeConfig{
		UnknownToolsHandler: func(_ context.Context, name, _ string) (string, error) {
			return failure + "there is no tool " + name, nil
		},
		ToolCallMiddlewares: []compose.ToolMiddleware{{Invokable: tell}},
	})
	a.Accept = maps.Clone(accepted)
	maps.Copy(a.Accept, acceptedTelling)
	return a
}

// tell turns errors into words. A context that is over still ends the run.
func tell(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, in)
		if err == nil || ctx.Err() != nil {
			return out, err
		}
		return &compose.ToolOutput{Result: failure + err.Error()}, nil
	}
}

// acceptedTelling is what comes on top where the model is told of errors.
var acceptedTelling = map[string]string{
	"refusal-final":  "the agent keeps no count of what was asked for: each ask runs its tool",
	"user-raw-error": "the words of a tool's error reach the model, and so the user where it repeats them",
	"user-secret":    "the same",
}

// plugged plugs the agent in. A turn is two steps of its graph, the model and the tools.
func plugged(name string, script faultsim.Script, tools func(*faultsim.Stage) []tool.BaseTool, config compose.ToolsNodeConfig) faultsim.Adapter {
	a := scene.Adapter(name, once)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		config := config // the agent adds to it
		config.Tools = tools(s)
		agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
			ToolCallingModel: chat{reply: s.Model("model", script).Reply},
			ToolsConfig:      config,
			MaxStep:          2 * scene.MaxTurns,
		})
		if err != nil {
			panic(err) // the configuration is the same each time
		}
		return func(ctx context.Context) (any, error) {
			m, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(scene.Request)})
			if err != nil {
				return nil, err
			}
			return m.Content, nil
		}
	}
	return a
}

func TestTellingPlays(t *testing.T) { scene.Pin(t, "telling.txt", scene.Tell(t, telling)) }

func TestTellingMatrix(t *testing.T) { matrix.Run(t, telling(scene.Parallel())) }

func TestTellingFaults(t *testing.T) { faultsim.Check(t, telling(scene.Parallel())) }

func TestPlays(t *testing.T) { scene.Pin(t, "plays.txt", scene.Tell(t, adapter)) }

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(scene.Parallel())) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(scene.Parallel())) }
