// Package toolrunner_test puts the tool runner of anthropic-sdk-go through trials. The
// loop is the SDK's; its model is a double that speaks the provider's API.
package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
	"github.com/rehearse-go/rehearse/examples/internal/scene"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew")

// tools are those of the scene, as the runner takes them.
func tools(s *faultsim.Stage) []anthropic.BetaTool {
	doubles := scene.NewTools(s)
	return []anthropic.BetaTool{strict[scene.Place]{tool("search", doubles.Search)}, strict[scene.Order]{tool("book", doubles.Book)}}
}

// A strict tool takes no arguments that it does not know; those of the SDK drop them.
type strict[In any] struct{ anthropic.BetaTool }

func (t strict[In]) Execute(ctx context.Context, args json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	if _, err := scene.Decode[In](string(args)); err != nil {
		return nil, err
	}
	return t.BetaTool.Execute(ctx, args)
}

func tool[In any](name string, call trace.Func[In, string]) anthropic.BetaTool {
	t, err := toolrunner.NewBetaToolFromJSONSchema(name, "", func(ctx context.Context, in In) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		text, err := call(ctx, in)
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, err
	})
	if err != nil {
		panic(err) // the type of the arguments has no schema
	}
	return t
}

// params is one request of a user. A message thread keeps the conversation with the
// provider, which a double does not.
func params() anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-opus-4-5", MaxTokens: 1000,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(scene.Request))},
		},
		MaxIterations: scene.MaxTurns,
		DisableThread: true,
	}
}

func client(c *http.Client) anthropic.Client {
	return anthropic.NewClient(option.WithAPIKey("sk-ant-test"), option.WithHTTPClient(c))
}

// words are what a user is shown of a message.
func words(m *anthropic.BetaMessage) string {
	text := ""
	for _, b := range m.Content {
		text += b.Text
	}
	return text
}

// model is how the SDK asks its model again; see examples/stacks/models.
var model = invariants.Policy{
	ID:          "anthropic-sdk-go/v2.15.0",
	MaxAttempts: 3,
	Retry: []trace.Class{
		trace.Transient, trace.Throttled, trace.QuotaExhausted, trace.Conflict, trace.Reset, trace.NotConnected, trace.Timeout,
	},
	Backoff:    invariants.Backoff{Base: 500 * time.Millisecond, Cap: 8 * time.Second, Jitter: invariants.Between(0.75, 1)},
	Hint:       invariants.Hint{Use: invariants.HintReplace},
	Late:       invariants.LateWait,
	Repeatable: true,
}

// accepted is what the runner leaves to the program around it.
var accepted = map[string]string{
	"refusal-final":       "the runner keeps no count of what was asked for: each ask runs its tool",
	"one-effect":          "the same: a booking that is asked for twice is made twice",
	"stop-after-goal":     "the runner knows of no goal, and ends where the model does",
	"guard-stop":          "MaxIterations and max_tokens end the run with the last message and no error: the caller has to look at StopReason",
	"failure-told":        "an empty message is a message to the runner: the caller has to look at it",
	"claim-after-success": "what the model says is returned as it is",
	"evidence-first":      "the same",
	"user-raw-error":      "the words of a tool's error reach the model, and so the user where it repeats them",
	"user-secret":         "the same",
}

// adapter plugs the runner in as its documentation uses it.
func adapter(script faultsim.Script) faultsim.Adapter {
	return plugged(script, tools, func(m *anthropic.BetaMessage) (any, error) { return words(m), nil })
}

// plugged plugs the runner in; result is what the program makes of its last message.
func plugged(script faultsim.Script, tools func(*faultsim.Stage) []anthropic.BetaTool, result func(*anthropic.BetaMessage) (any, error)) faultsim.Adapter {
	a := scene.Adapter("anthropic tool runner", model)
	a.Accept = accepted
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := client(s.Model("model", script).Client(faultsim.Anthropic))
		tools := tools(s)
		return func(ctx context.Context) (any, error) {
			m, err := client.Beta.Messages.NewToolRunner(tools, params()).RunToCompletion(ctx)
			if err != nil {
				return nil, err
			}
			return result(m)
		}
	}
	return a
}

func TestPlays(t *testing.T) { scene.Pin(t, "plays.txt", scene.Tell(t, adapter)) }

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(scene.Parallel())) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(scene.Parallel())) }

// RunToCompletion returns whatever came last: a message in which the model was cut off,
// or one that still asks for a tool. Only StopReason tells.
func TestTheCallerHasToLookAtStopReason(t *testing.T) {
	for schedule, want := range map[string]anthropic.BetaStopReason{
		"  model 1 ok move=length\n":   anthropic.BetaStopReasonMaxTokens,
		"  model 2 ok move=stubborn\n": anthropic.BetaStopReasonToolUse, // MaxIterations
		"  model 1 ok move=filter\n":   anthropic.BetaStopReasonRefusal,
	} {
		var stop anthropic.BetaStopReason
		a := plugged(scene.Straight(), tools, func(m *anthropic.BetaMessage) (any, error) {
			if stop = m.StopReason; stop != anthropic.BetaStopReasonEndTurn {
				return nil, errors.New("the model did not come to an end: " + string(stop))
			}
			return words(m), nil
		})
		a.Accept = nil
		s, err := faultsim.Parse("rehearse schedule 1\naction\n" + schedule)
		require.NoError(t, err)
		r := faultsim.Trial(t, a, s)
		require.NoError(t, r.Err)
		require.Equal(t, want, stop, schedule)
		require.Empty(t, r.Findings, schedule)
	}
}

// The SDK's own tools drop arguments that they do not know, and do the rest.
func TestUnknownArgumentsAreDropped(t *testing.T) {
	loose := func(s *faultsim.Stage) []anthropic.BetaTool {
		doubles := scene.NewTools(s)
		return []anthropic.BetaTool{tool("search", doubles.Search), tool("book", doubles.Book)}
	}
	a := plugged(scene.Straight(), loose, func(m *anthropic.BetaMessage) (any, error) { return words(m), nil })
	s, err := faultsim.Parse("rehearse schedule 1\naction\n  model 3 ok move=extend\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.Contains(t, r.Trace.Turns(0)[2].Asks[0].Args, `"admin":true`)
	booked := 0
	for at := range r.Trace.Attempts() {
		if at.Tool == "book" {
			booked++
			require.NotContains(t, string(at.Args), "admin")
		}
	}
	require.Equal(t, 2, booked)
}
