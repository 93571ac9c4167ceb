package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server that reports on its work in the payload: the call is finished, and the
// payload says whether the transfer was made (field case F025). What it says of a
// success has a word in it that frightens (F024).

const done = "12 processed, 0 failed"

func transfer(context.Context, json.RawMessage) (mcp.Result, error) {
	return mcp.Structured(map[string]string{"status": "ok", "report": done}), nil
}

var transferFailures = faultsim.Errors{
	trace.Transient: mcp.ToolError("unavailable", "try again later"),
	trace.Forbidden: mcp.ToolError("forbidden", "not yours"),
	trace.Declined:  faultsim.Value(mcp.Structured(map[string]string{"status": "error", "report": "insufficient balance"})),
}

var errNotDone = errors.New("the transfer was not made")

// A reading of a result is its report, or why there is none.
type reading = func(*sdk.CallToolResult) (string, error)

func field(res *sdk.CallToolResult, name string) string {
	m, _ := res.StructuredContent.(map[string]any)
	s, _ := m[name].(string)
	return s
}

// byStructure goes by the flag and by the status, and by nothing else.
func byStructure(res *sdk.CallToolResult) (string, error) {
	if res.IsError || field(res, "status") != "ok" {
		return "", errors.Join(errNotDone, errors.New(words(res)))
	}
	return field(res, "report"), nil
}

// byTheEnvelope takes what has finished for done.
func byTheEnvelope(res *sdk.CallToolResult) (string, error) {
	if res.IsError {
		return "", errors.Join(errNotDone, errors.New(words(res)))
	}
	return field(res, "report"), nil
}

// byWords looks for words of failure.
func byWords(res *sdk.CallToolResult) (string, error) {
	if text := words(res); res.IsError || strings.Contains(text, "fail") || strings.Contains(text, "error") {
		return "", errors.Join(errNotDone, errors.New(text))
	}
	return field(res, "report"), nil
}

// paying asks once.
func paying(read reading) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "pay", Policy: invariants.Policy{ID: "transfer-mcp/v1", MaxAttempts: 1}, Want: done,
		Subject: func(st *faultsim.Stage) faultsim.Action {
			server := mcp.Serve(st, mcp.StageTool{Name: "transfer", Fake: transfer, Failures: transferFailures})
			s, err := newClient().Connect(context.Background(), server.Transport(), nil)
			if err != nil {
				panic(err)
			}
			st.Close(func() { s.Close() })
			return func(ctx context.Context) (any, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "transfer"})
				if err != nil {
					return nil, err
				}
				return read(res)
			}
		},
	}
}

func TestPayloadsAreReadByTheirStructure(t *testing.T) {
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, paying(byStructure)) })
	faultsim.Check(t, paying(byStructure))
}

func TestPayloadsReadByEnvelopeOrWords(t *testing.T) {
	for name, read := range map[string]reading{"finished is done (F025)": byTheEnvelope, "words decide (F024)": byWords} {
		t.Run(name, func(t *testing.T) {
			o, err := faultsim.Explore(t, paying(read))
			require.NoError(t, err)
			require.NotZero(t, o.Trial, "missed")
			assert.Equal(t, "honest-ending", o.Invariant())
			t.Log(o.Findings[0], o.Schedule)
		})
	}
}
