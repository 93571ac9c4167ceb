package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tool whose schema changes under the client: unit is C, then celsius.

func unitSchema(units ...string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"unit": map[string]any{"enum": units}}})
	if err != nil {
		panic(err)
	}
	return b
}

var unitSchemas = []json.RawMessage{unitSchema("C", "F"), unitSchema("celsius", "fahrenheit"), unitSchema("degree_celsius")}

// celsius are names of one and the same unit.
var celsius = []string{"C", "celsius", "degree_celsius"}

// A gauge asks for the temperature in a unit that the tool takes.
type gauge struct {
	client *sdk.Client
	s      *sdk.ClientSession
	stale  bool // the mistake: the list of tools is fetched once and kept
	guess  bool // the mistake: another name is tried, and nobody looks

	mu   sync.Mutex
	unit string
}

// learn reads the unit off the list of tools.
func (g *gauge) learn(ctx context.Context) error {
	list, err := g.s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, tool := range list.Tools {
		for _, unit := range unitsOf(tool) {
			if name, ok := unit.(string); ok && slices.Contains(celsius, name) {
				g.keep(name)
				return nil
			}
		}
	}
	return errors.New("the tool takes no unit that is known")
}

func unitsOf(tool *sdk.Tool) []any {
	schema, _ := tool.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	unit, _ := properties["unit"].(map[string]any)
	list, _ := unit["enum"].([]any)
	return list
}

func (g *gauge) keep(unit string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unit = unit
}

func (g *gauge) kept() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unit
}

func (g *gauge) ask(ctx context.Context, unit string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := g.s.CallTool(ctx, &sdk.CallToolParams{Name: "weather", Arguments: map[string]any{"city": "Pune", "unit": unit}})
	switch {
	case err != nil:
		return "", err
	case res.IsError:
		return "", errors.Join(errBusy, errors.New(words(res)))
	}
	return words(res), nil
}

// correct finds other arguments in place of those that were rejected.
func (g *gauge) correct(ctx context.Context) error {
	switch {
	case g.stale:
		return nil
	case g.guess:
		g.keep("celsius")
		return nil
	}
	return g.learn(ctx)
}

func (g *gauge) forecast(ctx context.Context) (string, error) {
	wait, unit, corrected := base, g.kept(), false
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		text, err := g.ask(ctx, unit)
		refusal, ok := errors.AsType[*jsonrpc.Error](err)
		rejected := ok && refusal.Code == jsonrpc.CodeInvalidParams
		switch {
		case err == nil:
			return text, nil
		case n == attempts || ctx.Err() != nil:
			return "", err
		case rejected && !corrected:
			if failed := g.correct(ctx); failed != nil || g.kept() == unit && !g.stale {
				return "", err
			}
			unit, corrected = g.kept(), true
			continue
		case !errors.Is(err, errBusy) && !errors.Is(err, context.DeadlineExceeded):
			return "", err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		wait *= 2
	}
}

var unitPolicy = func() invariants.Policy {
	p := readPolicy
	p.ID, p.Retry = "weather-units-mcp/v1", []trace.Class{trace.Transient, trace.Timeout}
	p.Correct = invariants.Correct{Once: true, Fields: []string{"unit"}}
	return p
}()

// measuring plugs the gauge in.
func measuring(change func(*gauge)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "measure", Policy: unitPolicy, Want: "19 degrees",
		Subject: func(st *faultsim.Stage) faultsim.Action {
			server := mcp.Serve(st, mcp.StageTool{Name: "weather", Fake: sunny, Schemas: unitSchemas, Failures: faultsim.Errors{
				trace.Transient: mcp.ToolError("unavailable", "try again later"),
				trace.Invalid:   mcp.ProtocolError(jsonrpc.CodeInvalidParams, "unit is not one of the list"),
			}})
			g := &gauge{client: newClient(), unit: "C"}
			change(g)
			var err error
			if g.s, err = g.client.Connect(context.Background(), server.Transport(), nil); err != nil {
				panic(err)
			}
			st.Close(func() { g.s.Close() })
			return func(ctx context.Context) (any, error) { return g.forecast(ctx) }
		},
	}
}

func TestTheListOfToolsIsReadAnew(t *testing.T) {
	a := measuring(func(*gauge) {})
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

func TestAStaleListOfTools(t *testing.T) {
	for want, change := range map[string]func(*gauge){
		"rejected-payload":    func(g *gauge) { g.stale = true },
		"correction-grounded": func(g *gauge) { g.guess = true },
	} {
		t.Run(want, func(t *testing.T) {
			o, err := faultsim.Explore(t, measuring(change))
			require.NoError(t, err)
			require.NotZero(t, o.Trial, "missed")
			assert.Equal(t, want, o.Invariant())
			t.Log(o.Findings[0], o.Schedule)
		})
	}
}

// A client in memory hears of the change behind the rejection, and can look before
// it asks again.
func TestAChangeOfTheListIsAnnounced(t *testing.T) {
	sched, err := faultsim.Parse("rehearse schedule 1\naction\n  weather 1 invalid\naction after=1s\n")
	require.NoError(t, err)
	var heard atomic.Int64
	a := measuring(func(g *gauge) {
		g.client = sdk.NewClient(&sdk.Implementation{Name: "listener", Version: "1"}, &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { heard.Add(1) },
		})
	})
	tr := faultsim.Run(t, a, sched)
	assert.EqualValues(t, 1, heard.Load())
	assert.Len(t, tr.Actions()[1].Attempts, 1, "the correction is kept")
}
