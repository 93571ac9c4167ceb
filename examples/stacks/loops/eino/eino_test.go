// Package eino_test puts the ReAct agent of cloudwego/eino through trials.
package eino_test

import (
	"context"
	"errors"
	"flag"
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

func infer[In any](name string, call trace.Func[In, string]) tool.BaseTool {
	t, err := utils.InferTool(name, name, func(ctx context.Context, in In) (string, error) {
		return call(trace.CallID(ctx, compose.GetToolCallID(ctx)), in)
	})
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

// adapter plugs the agent in. A turn is two steps of its graph, the model and the tools.
func adapter(script faultsim.Script) faultsim.Adapter {
	a := scene.Adapter("eino react", once)
	a.Accept = accepted
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
			ToolCallingModel: chat{reply: s.Model("model", script).Reply},
			ToolsConfig:      compose.ToolsNodeConfig{Tools: tools(s)},
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

func TestPlays(t *testing.T) { scene.Pin(t, "plays.txt", scene.Tell(t, adapter)) }

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(scene.Parallel())) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(scene.Parallel())) }
