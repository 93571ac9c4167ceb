package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/examples/refund"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An MCP server as the code under test: its tool gives money back, and is called
// again by models that saw a timeout.

var (
	errKeyReused = errors.New("the key was used for another order")
	errKeyless   = errors.New("there is no key")
)

type refundCall struct {
	Key string `json:"key"`
	refund.Order
}

// refundServer serves the desk. keyOf is the key that it goes by.
func refundServer(desk *refund.Desk, keyOf func(refundCall) string) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "refunds", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "refund", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in refundCall
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		receipt, err := desk.Refund(ctx, keyOf(in), in.Order)
		if err != nil {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}, StructuredContent: map[string]string{"code": codeOf(err)}}, nil
		}
		return &sdk.CallToolResult{StructuredContent: receipt}, nil
	})
	return server
}

func codeOf(err error) string {
	switch {
	case errors.Is(err, refund.ErrKeyReused):
		return "key-reused"
	case errors.Is(err, refund.ErrKeyMissing):
		return "key-missing"
	}
	return "not-confirmed"
}

// refundOver calls the tool as a client does.
func refundOver(ctx context.Context, s *sdk.ClientSession, key string, o refund.Order) (r refund.Receipt, err error) {
	res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "refund", Arguments: refundCall{key, o}})
	switch {
	case err != nil:
		return r, err
	case !res.IsError:
		return r, unmarshalAny(res.StructuredContent, &r)
	}
	switch code(res) {
	case "key-reused":
		return r, errKeyReused
	case "key-missing":
		return r, errKeyless
	}
	return r, errors.New(words(res))
}

func unmarshalAny(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

func serving(keyOf func(refundCall) string) faultsim.Adapter {
	return faultsim.Served[refund.Order, refund.Receipt]{
		Name: "refund",
		Repeats: invariants.Repeats{
			ID: "refund-mcp/v1", AtOnce: invariants.AtOnceWaits, Failures: invariants.FailuresForgotten,
			Keyless: invariants.KeylessRefused, Key: "idempotencyKey",
		},
		Subject: func(st *faultsim.Stage) faultsim.Serve[refund.Order, refund.Receipt] {
			bank := faultsim.Tool(st, "bank", func(_ context.Context, t refund.Transfer) (string, error) { return "transfer of " + t.Key, nil },
				faultsim.Errors{trace.Throttled: errBusy, trace.Reset: errLost, trace.NotFound: errRefused})
			link := mcp.NewLink(refundServer(refund.New(bank, st.Disk()), keyOf))
			s, err := newClient().Connect(context.Background(), link.Transport(), nil)
			if err != nil {
				panic(err)
			}
			st.Close(func() { s.Close() })
			return func(ctx context.Context, key string, o refund.Order) (refund.Receipt, error) {
				return refundOver(ctx, s, key, o)
			}
		},
		Args:     refund.Order{ID: "7", Cents: 1200},
		Other:    refund.Order{ID: "7", Cents: 9900},
		Restarts: true,
		Clash:    func(err error) bool { return errors.Is(err, errKeyReused) },
		Keyless:  func(err error) bool { return errors.Is(err, errKeyless) },
	}.Adapter()
}

func TestAServerThatIsSafeToCallAgain(t *testing.T) {
	a := serving(func(c refundCall) string { return c.Key })
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// A key that the server makes for each request is none.
func TestAServerThatMakesTheKeys(t *testing.T) {
	var n atomic.Int64
	o, err := faultsim.Explore(t, serving(func(c refundCall) string {
		if c.Key == "" {
			return ""
		}
		return fmt.Sprintf("request-%d", n.Add(1))
	}))
	require.NoError(t, err)
	require.NotZero(t, o.Trial, "missed")
	assert.Equal(t, "repeat-has-no-effect", o.Invariant(), o.Findings[0])
}
