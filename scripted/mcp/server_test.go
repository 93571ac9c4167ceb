package mcp_test

import (
	"context"
	"errors"
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

// What a result can be, as the client has it.
func TestResultsArriveAsTheyWereWritten(t *testing.T) {
	text := func(texts ...string) (blocks []sdk.Content) {
		for _, s := range texts {
			blocks = append(blocks, &sdk.TextContent{Text: s})
		}
		return blocks
	}
	for name, tc := range map[string]struct {
		result mcp.Result
		want   sdk.CallToolResult
	}{
		"text":                    {mcp.Text("19"), sdk.CallToolResult{Content: text("19")}},
		"several blocks":          {mcp.Text("19", "dry"), sdk.CallToolResult{Content: text("19", "dry")}},
		"nothing":                 {mcp.Result{}, sdk.CallToolResult{Content: []sdk.Content{}}},
		"an empty text":           {mcp.Text(""), sdk.CallToolResult{Content: text("")}},
		"a failure":               {mcp.IsError("no such city"), sdk.CallToolResult{Content: text("no such city"), IsError: true}},
		"structured with text":    {mcp.Structured(map[string]any{"celsius": 19.0}), sdk.CallToolResult{Content: text(`{"celsius":19}`), StructuredContent: map[string]any{"celsius": 19.0}}},
		"structured without text": {mcp.Result{Structured: []any{19.0}}, sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: []any{19.0}}},
		"an image": {mcp.Result{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte{1}}}},
			sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte{1}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
				srv := mcp.NewServer(t)
				srv.Tool("weather", nil).Return(tc.result)
				got, err := weather(t.Context(), connect(srv.Link))
				require.NoError(t, err)
				got.Meta = nil
				assert.Equal(t, tc.want.Content, got.Content)
				assert.Equal(t, tc.want.StructuredContent, got.StructuredContent)
				assert.Equal(t, tc.want.IsError, got.IsError)
			})
		})
	}
}

// A tool's failure is a result, and a server's is an error.
func TestToolErrorsAndProtocolErrors(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).
			Fail(trace.NotFound, mcp.ToolError("no-city", "there is no such city")).
			Fail(trace.Invalid, mcp.ProtocolError(jsonrpc.CodeInvalidParams, "city is missing")).
			Fail(trace.Unknown, errors.New("nil map"))
		s := connect(srv.Link)

		res, err := weather(t.Context(), s)
		require.NoError(t, err)
		assert.True(t, res.IsError)
		assert.Equal(t, "there is no such city", words(res))
		assert.Equal(t, "no-city", code(res))
		for _, want := range []jsonrpc.Error{{Code: -32602, Message: "city is missing"}, {Code: -32603, Message: "nil map"}} {
			_, err = weather(t.Context(), s)
			got, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, want, *got)
		}
		a := srv.Trace().Actions()
		require.Len(t, a, 1)
		for i, want := range []trace.Class{trace.NotFound, trace.Invalid, trace.Unknown} {
			assert.Equal(t, want, a[0].Attempts[i].Outcome.Class)
			assert.JSONEq(t, `{"city":"Pune"}`, string(a[0].Attempts[i].Args))
		}
	})
}

// Servers say in two ways that there is no such tool.
func TestAToolThatIsNotThere(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil)
		srv.Remove("weather")
		s := connect(srv.Link)
		_, err := weather(t.Context(), s)
		got, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, jsonrpc.Error{Code: -32602, Message: `unknown tool "weather"`}, *got)

		srv.UnknownAsResult()
		res, err := weather(t.Context(), s)
		require.NoError(t, err)
		assert.True(t, res.IsError)
		attempts := srv.Trace().Actions()[0].Attempts
		require.Len(t, attempts, 2, "both are on record")
		assert.Equal(t, trace.Outcome{Class: trace.Invalid, Code: "-32602"}, attempts[0].Outcome)
		assert.Equal(t, trace.Invalid, attempts[1].Outcome.Class)
	})
}

// A slow tool is left by its caller, and stops; a deaf one goes on and does it.
func TestSlowAndDeafTools(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		tool := srv.Tool("weather", nil).
			Return(mcp.Text("19")).After(time.Second).
			Return(mcp.Text("19")).After(time.Minute).
			Hang().
			Return(mcp.Text("19")).After(time.Minute).Deaf()
		tool.Ledger(&scripted.Ledger{})
		s := connect(srv.Link)

		start := time.Now()
		_, err := weather(within(t, 2*time.Second), s)
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(start))
		for range 3 {
			start = time.Now()
			_, err = weather(within(t, 2*time.Second), s)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 2*time.Second, time.Since(start), "the caller leaves, whatever the tool does")
		}
		time.Sleep(time.Hour)
		attempts := srv.Trace().Actions()[0].Attempts
		for i, want := range []trace.Class{trace.OK, trace.Timeout, trace.Timeout} {
			assert.Equal(t, want, attempts[i].Outcome.Class)
		}
		assert.Equal(t, trace.Timeout, attempts[3].Outcome.Class, "which its caller saw as well")
		effects := srv.Trace().Actions()[0].Effects
		require.Len(t, effects, 2, "of the first and of the deaf one")
		assert.Equal(t, attempts[3].Begin+time.Minute, srv.Trace().Events[effects[1]].At)
		assert.Equal(t, 3, srv.Received("notifications/cancelled"))
	})
}

// The work is done and the connection goes; or it goes before.
func TestALostReplyAndACallThatWasNeverSent(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).
			Lose(trace.Reset, mcp.ErrLost).After(time.Second).
			Fail(trace.NotConnected, mcp.ErrNotSent).
			Return(mcp.Text("19"))
		_, err := weather(t.Context(), connect(srv.Link))
		assert.ErrorIs(t, err, mcp.ErrLost)
		_, err = weather(t.Context(), connect(srv.Link))
		assert.ErrorIs(t, err, mcp.ErrNotSent)
		_, err = weather(t.Context(), connect(srv.Link))
		assert.NoError(t, err)
		assert.Len(t, srv.Trace().Actions()[0].Effects, 1, "of the lost reply")
	})
}

// A session that is dropped between two calls is found at the next.
func TestASessionIsDroppedBetweenCalls(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).Return(mcp.Text("19")).Times(2)
		s := connect(srv.Link)
		_, err := weather(t.Context(), s)
		require.NoError(t, err)
		srv.Drop()
		time.Sleep(time.Nanosecond) // else the write may still find a broken pipe
		_, err = weather(t.Context(), s)
		assert.True(t, errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing), "%v", err)
		_, err = weather(t.Context(), connect(srv.Link))
		assert.NoError(t, err)
		assert.Equal(t, 2, srv.Received("tools/call"))
	})
}

// What is under way when the server lets go of its sessions is answered.
func TestADropWaitsForCallsUnderWay(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).Return(mcp.Text("19")).After(time.Minute)
		s := connect(srv.Link)
		time.AfterFunc(time.Second, srv.Drop)
		_, err := weather(t.Context(), s)
		require.NoError(t, err)
		_, err = weather(t.Context(), s)
		assert.Error(t, err)
	})
}

// Clients hear of a tool that changes or goes.
func TestTheListOfToolsChanges(t *testing.T) {
	for name, wire := range wires {
		for _, version := range []string{"2025-06-18", ""} {
			t.Run(name+" "+version, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					srv := mcp.NewServer(t)
					srv.Tool("weather", map[string]any{"type": "object", "required": []string{"city"}}).AllowUnused()
					heard := make(chan time.Time, 9)
					client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
						ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { heard <- time.Now() },
					})
					s, err := client.Connect(t.Context(), wire(srv.Link), &sdk.ClientSessionOptions{ProtocolVersion: version})
					require.NoError(t, err)
					defer s.Close()
					list := func() (required []any) {
						l, err := s.ListTools(t.Context(), nil)
						require.NoError(t, err)
						for _, tool := range l.Tools {
							required = append(required, tool.InputSchema.(map[string]any)["required"])
						}
						return required
					}
					assert.Equal(t, []any{[]any{"city"}}, list())
					time.Sleep(time.Hour)
					assert.Empty(t, heard, "nothing has changed")

					srv.Redefine("weather", map[string]any{"type": "object", "required": []string{"place"}})
					assert.Equal(t, []any{[]any{"place"}}, list())
					time.Sleep(time.Second)
					assert.Len(t, heard, 1)
					srv.Remove("weather")
					assert.Empty(t, list())
					time.Sleep(time.Second)
					assert.Len(t, heard, 2)
				})
			})
		}
	}
}
