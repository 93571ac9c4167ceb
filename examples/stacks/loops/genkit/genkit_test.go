// Package genkit_test puts the loop of genkit's Generate through trials.
package genkit_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/rehearse-go/rehearse/examples/internal/scene"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew")

// modelKey finds the double of the trial in a context.
type modelKey struct{}

// kit is built once and outside every bubble: see TestInitInABubbleEndsTheProcess. So its
// model is found in the context, and the tools are those of the trial, handed to Generate.
var kit, double = func() (*genkit.Genkit, ai.Model) {
	g := genkit.Init(context.Background())
	return g, genkit.DefineModel(g, "rehearse/model", &ai.ModelOptions{
		Supports: &ai.ModelSupports{Multiturn: true, Tools: true},
	}, generate)
}()

// generate asks the double in the context.
func generate(ctx context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	reply := ctx.Value(modelKey{}).(trace.ModelFunc)
	said, err := reply(ctx, trace.Prompt{Messages: shown(req.Messages), Tools: names(req.Tools)})
	if err != nil {
		return nil, err
	}
	m := &ai.Message{Role: ai.RoleModel}
	if said.Text != "" {
		m.Content = append(m.Content, ai.NewTextPart(said.Text))
	}
	for _, k := range said.Calls {
		var in any
		if json.Unmarshal([]byte(k.Args), &in) != nil {
			in = k.Args // what cannot be read is handed on as it is
		}
		m.Content = append(m.Content, ai.NewToolRequestPart(&ai.ToolRequest{Ref: k.ID, Name: k.Tool, Input: in}))
	}
	return &ai.ModelResponse{Request: req, Message: m, FinishReason: finish(said.Stop)}, nil
}

func finish(stop trace.Stop) ai.FinishReason {
	switch stop {
	case trace.StopLength:
		return ai.FinishReasonLength
	case trace.StopFilter:
		return ai.FinishReasonBlocked
	}
	return ai.FinishReasonStop
}

func names(tools []*ai.ToolDefinition) (list []string) {
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

// shown is what the model is shown. A tool's response has no mark of a failure.
func shown(talk []*ai.Message) (list []trace.Message) {
	for _, m := range talk {
		to := trace.Message{From: trace.FromUser, Text: m.Text()}
		switch m.Role {
		case ai.RoleModel:
			to.From = trace.FromModel
		case ai.RoleTool:
			to.From = trace.FromTool
		}
		for _, p := range m.Content {
			switch {
			case p.IsToolRequest():
				to.Calls = append(to.Calls, trace.ToolCall{ID: p.ToolRequest.Ref, Tool: p.ToolRequest.Name, Args: text(p.ToolRequest.Input)})
			case p.IsToolResponse():
				to.Results = append(to.Results, trace.ToolResult{ID: p.ToolResponse.Ref, Tool: p.ToolResponse.Name, Text: text(p.ToolResponse.Output)})
			}
		}
		list = append(list, to)
	}
	return list
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v) // it came from JSON
	return string(raw)
}

func tools(s *faultsim.Stage) []ai.ToolRef {
	doubles := scene.NewTools(s)
	return []ai.ToolRef{tool("search", doubles.Search), tool("book", doubles.Book)}
}

func tool[In any](name string, call trace.Func[In, string]) ai.ToolRef {
	return ai.NewTool(name, name, func(ctx *ai.ToolContext, in In) (string, error) { return call(ctx, in) })
}

// once: Generate asks its model once for each turn.
var once = invariants.Policy{ID: "genkit/v1.4.0", MaxAttempts: 1}

// accepted is what Generate leaves to the program around it.
var accepted = map[string]string{
	"no-call-on-dead-context": "Generate looks at no context: a model and tools that do are what ends a run",
	"one-effect":              "Generate keeps no count of what was asked for: a booking that is asked for twice is made twice",
	"stop-after-goal":         "Generate knows of no goal, and ends where the model does",
	"failure-told":            "an empty response is a response to Generate: the caller has to look at it",
	"claim-after-success":     "what the model says is returned as it is",
	"evidence-first":          "the same",
	"nothing-left":            "where a call fails beside others Generate returns at once, and what the others send nobody receives",
	"no-attempt-after-end":    "the same: their tools may not have begun by then",
	"no-effect-after-end":     "the same: their tools are at work when it returns",
}

// adapter plugs Generate in. WithMaxTurns counts the turns that ask for tools; one more
// may follow them.
func adapter(script faultsim.Script) faultsim.Adapter {
	a := scene.Adapter("genkit generate", once)
	a.Accept, a.Trials = accepted, 1000 // what is left running makes them slow
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		reply := trace.ModelFunc(s.Model("model", script).Reply)
		tools := tools(s)
		return func(ctx context.Context) (any, error) {
			r, err := genkit.Generate(context.WithValue(ctx, modelKey{}, reply), kit,
				ai.WithModel(double), ai.WithTools(tools...), ai.WithPrompt(scene.Request), ai.WithMaxTurns(scene.MaxTurns-1))
			if err != nil {
				return nil, err
			}
			return r.Text(), nil
		}
	}
	return a
}

func TestPlays(t *testing.T) { scene.Pin(t, "plays.txt", scene.Tell(t, adapter)) }

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(scene.Parallel())) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(scene.Parallel())) }

// A call that fails beside others ends Generate at once. The others go on: what they do
// is done behind its back, and each waits for ever to hand its answer over.
func TestAFailureLeavesTheCallsBesideItRunning(t *testing.T) {
	a := adapter(scene.Parallel())
	a.Accept = nil
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  search 1 ok after=1s\n  search 2 transient\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.Len(t, r.Findings, 2)
	require.Equal(t, "no-effect-after-end", r.Findings[0].Invariant)
	require.Contains(t, r.Findings[0].Text, "search was left at work when the action returned, and did it 1s later")
	require.Equal(t, "nothing-left", r.Findings[1].Invariant)
	require.Contains(t, r.Findings[1].Text, "chan send in ai.handleToolRequests")
}

// The error of a tool is in words only: errors.Is finds nothing in it.
func TestTheErrorOfAToolIsLost(t *testing.T) {
	a := adapter(scene.Straight())
	var failed error
	a.Reason = func(err error) trace.Reason { failed = err; return 0 }
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  book 1 transient\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.ErrorContains(t, failed, scene.ErrUnavailable.Error())
	require.NotErrorIs(t, failed, scene.ErrUnavailable)
}

// Init starts what waits for a signal. No bubble ends while that waits, and the panic that
// says so ends the process, which is why kit is built outside.
func TestInitInABubbleEndsTheProcess(t *testing.T) {
	const child = "REHEARSE_INIT_IN_A_BUBBLE"
	if os.Getenv(child) != "" {
		synctest.Test(t, func(*testing.T) { genkit.Init(context.Background()) })
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
	again.Env = append(os.Environ(), child+"=1")
	said, err := again.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "blocked goroutines remain")
	require.Contains(t, string(said), "signal.NotifyContext")
}
