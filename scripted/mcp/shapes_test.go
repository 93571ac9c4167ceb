package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a server sends when its tool fails, when there is no such tool, and when the
// service behind the tool does not answer (field case F027).

type upstream = trace.Func[struct{}, string]

// A maker makes a server whose tool "weather" asks the service.
type maker func(upstream) *sdk.Server

const patience = 30 * time.Second

// typed is a server as the SDK wants it: what its tool returns as an error becomes
// a result with isError.
func typed(ask upstream) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "typed", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "weather"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
		out, err := patiently(ctx, ask)
		return nil, out, err
	})
	return server
}

// raw is a server whose handler hands the tool's error to the protocol.
func raw(ask upstream) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "weather", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		out, err := patiently(ctx, ask)
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out}}}, nil
	})
	return server
}

// kind is a server that answers everything by a result.
func kind(ask upstream) *sdk.Server {
	server := typed(ask)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			if _, ok := req.(*sdk.CallToolRequest); ok && err != nil {
				return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
			}
			return res, err
		}
	})
	return server
}

// silent is a server that does not say what a timeout means.
func silent(ask upstream) *sdk.Server {
	return typed(func(ctx context.Context, in struct{}) (string, error) {
		out, err := ask(ctx, in)
		if ctx.Err() != nil {
			err = errors.New("504 Gateway Timeout")
		}
		return out, err
	})
}

// patiently asks the service for half a minute.
func patiently(ctx context.Context, ask upstream) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := ask(ctx, struct{}{})
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("the service did not answer in time, the outcome is unknown")
	}
	return out, err
}

// complaints calls the server in the three situations, and says what it should
// have sent.
func complaints(t *testing.T, make maker) (wrong []string) {
	service := scripted.NewTool[struct{}, string](t, "service").Fail(trace.NotFound, errors.New("no such city")).Hang()
	s, err := newClient().Connect(t.Context(), mcp.NewLink(make(service.Call)).Transport(), nil)
	require.NoError(t, err)
	defer s.Close()
	complain := func(what, got string) { wrong = append(wrong, what+", it is "+got) }

	res, err := weather(t.Context(), s)
	if got := shape(res, err); got != `a failed result "no such city"` {
		complain("a tool that fails is a failed result", got)
	}
	res, err = s.CallTool(t.Context(), &sdk.CallToolParams{Name: "wether"})
	if got := shape(res, err); got != "error -32602" {
		complain("a tool that is not there is error -32602", got)
	}
	start := time.Now()
	res, err = weather(t.Context(), s)
	if got := shape(res, err); !strings.HasPrefix(got, "a failed result") || !strings.Contains(got, "outcome is unknown") {
		complain("a timeout behind the tool is a failed result that says that the outcome is unknown", got)
	}
	assert.Equal(t, patience, time.Since(start))
	return wrong
}

func shape(res *sdk.CallToolResult, err error) string {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Sprintf("error %d", e.Code)
	}
	switch {
	case err != nil:
		return err.Error()
	case res.IsError:
		return fmt.Sprintf("a failed result %q", words(res))
	}
	return fmt.Sprintf("a result %q", words(res))
}

func TestWhatAServerSends(t *testing.T) {
	for name, tc := range map[string]struct {
		make maker
		want []string
	}{
		"typed": {typed, nil},
		"raw": {raw, []string{
			"a tool that fails is a failed result, it is error 0",
			"a timeout behind the tool is a failed result that says that the outcome is unknown, it is error 0",
		}},
		"kind":   {kind, []string{`a tool that is not there is error -32602, it is a failed result "unknown tool \"wether\""`}},
		"silent": {silent, []string{`a timeout behind the tool is a failed result that says that the outcome is unknown, it is a failed result "504 Gateway Timeout"`}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { assert.Equal(t, tc.want, complaints(t, tc.make)) })
		})
	}
}
