package mcp_test

import (
	"context"
	"errors"
	"io"
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

// What the client of the official SDK does by itself, v1.8.0. Each is measured by
// the double; where the next version does otherwise, the test says so.

// Whatever fails, the client sends a call once.
func TestClientRepeatsNothing(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		for n, err := range []error{
			mcp.ToolError("", "busy"), mcp.ProtocolError(jsonrpc.CodeInternalError, "busy"), mcp.ErrLost, mcp.ErrNotSent,
		} {
			srv := mcp.NewServer(t)
			srv.Tool("weather", nil).Fail(trace.Unknown, err)
			_, _ = weather(t.Context(), connect(srv.Link))
			time.Sleep(24 * time.Hour)
			assert.Equal(t, 1, srv.Received("tools/call"), n)
		}
	})
}

// A cancel, and a deadline, are told to the server at once: the tool stops at that
// instant. The caller is told its own context's error, and not jsonrpc's.
func TestClientTellsTheServerOfACancel(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).Hang().Times(2)
		s := connect(srv.Link)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := weather(ctx, s)
		assert.Equal(t, context.Canceled, err)
		_, err = weather(within(t, 3*time.Second), s)
		assert.Equal(t, context.DeadlineExceeded, err)

		time.Sleep(time.Nanosecond)
		assert.Equal(t, 2, srv.Received("notifications/cancelled"))
		attempts := srv.Trace().Actions()[0].Attempts
		assert.Equal(t, trace.Cancelled, attempts[0].Outcome.Class)
		assert.Equal(t, time.Second, attempts[0].End-attempts[0].Begin)
		assert.Equal(t, trace.Timeout, attempts[1].Outcome.Class)
		assert.Equal(t, 3*time.Second, attempts[1].End-attempts[1].Begin)
	})
}

// A call with a context that is over is sent all the same in memory, and followed
// by a cancel. Over HTTP it is not.
func TestCallWithADeadContext(t *testing.T) {
	for name, want := range map[string]int{"in memory": 1, "over HTTP": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				srv := mcp.NewServer(t)
				srv.Tool("weather", nil).Return(mcp.Text("19")).AllowUnused()
				s, err := newClient().Connect(t.Context(), wires[name](srv.Link), nil)
				require.NoError(t, err)
				defer s.Close()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err = weather(ctx, s)
				assert.ErrorIs(t, err, context.Canceled)
				time.Sleep(time.Nanosecond)
				assert.Equal(t, want, srv.Received("tools/call"))
			})
		})
	}
}

// A connection in memory that is lost stays so: the client opens no other, refuses
// what comes by itself, and Wait returns.
func TestClientOpensNoSessionAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).Lose(trace.Reset, mcp.ErrLost)
		client := newClient()
		srv.Watch(client)
		s, err := client.Connect(t.Context(), srv.Transport(), nil)
		require.NoError(t, err)
		defer s.Close()
		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, io.EOF)
		assert.EqualError(t, err, `calling "tools/call": EOF`)
		assert.NoError(t, s.Wait(), "an end like any other")
		time.Sleep(24 * time.Hour)
		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, sdk.ErrConnectionClosed)
		assert.Equal(t, 1, srv.Received("tools/call"))
		attempts := srv.Trace().Actions()[0].Attempts
		require.Len(t, attempts, 2, "with Watch the refused call is on record")
		assert.Equal(t, trace.NotConnected, attempts[1].Outcome.Class)
	})
}

// Over HTTP the session is not lost with a reply: "any error from client.Do means
// the request didn't reach the server", the transport thinks, and goes on. What
// was done is not known all the same.
func TestClientTakesALostReplyForARequestThatWasNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv := mcp.NewServer(t)
		ledger := &scripted.Ledger{}
		srv.Tool("weather", nil).Lose(trace.Reset, mcp.ErrLost).Ledger(ledger)
		transport := srv.HTTP()
		transport.DisableStandaloneSSE = true
		s, err := newClient().Connect(t.Context(), transport, nil)
		require.NoError(t, err)
		defer s.Close()

		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, io.EOF)
		assert.Contains(t, err.Error(), "rejected by transport")
		assert.Equal(t, 1, ledger.Count())
		refusal, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "so errors.As does not tell a server's error from a transport's")
		assert.EqualValues(t, -32005, refusal.Code)

		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, sdk.ErrSessionMissing, "it is only the next request that finds the session gone")
		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, sdk.ErrConnectionClosed)
	})
}

// The 404 of one call ends all calls of the session with "session not found", also
// those that the server has in hand: it does not mean that a call was not done.
func TestSessionNotFoundIsSaidOfACallThatIsDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv := mcp.NewServer(t)
		ledger := &scripted.Ledger{}
		srv.Tool("weather", nil).Return(mcp.Text("19")).After(time.Minute).Deaf().Ledger(ledger)
		s, err := newClient().Connect(t.Context(), srv.HTTP(), nil)
		require.NoError(t, err)
		defer s.Close()
		time.AfterFunc(time.Second, func() {
			srv.Drop()
			_, _ = weather(context.Background(), s)
		})
		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, sdk.ErrSessionMissing)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, ledger.Count())
	})
}

// Close waits for the calls that are under way, however long they take.
func TestCloseWaitsForCalls(t *testing.T) {
	onEachWire(t, func(t *testing.T, connect func(*mcp.Link) *sdk.ClientSession) {
		srv := mcp.NewServer(t)
		srv.Tool("weather", nil).Return(mcp.Text("19")).After(time.Hour)
		s := connect(srv.Link)
		closed := make(chan time.Duration, 1)
		start := time.Now()
		time.AfterFunc(time.Second, func() {
			s.Close()
			closed <- time.Since(start)
		})
		_, err := weather(t.Context(), s)
		assert.NoError(t, err)
		assert.Equal(t, time.Hour, <-closed)
	})
}

// A server's session that is closed waits for its handlers and then drops what
// they answer: the call is lost with its reply.
func TestServerCloseLosesTheAnswersUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ledger := &scripted.Ledger{}
		tool := scripted.NewTool[struct{}, string](t, "work").Return("done").After(time.Minute).Ledger(ledger)
		server := sdk.NewServer(&sdk.Implementation{Name: "server", Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: "weather"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, any, error) {
			out, err := tool.Call(ctx, struct{}{})
			return nil, out, err
		})
		s, err := newClient().Connect(t.Context(), mcp.NewLink(server).Transport(), nil)
		require.NoError(t, err)
		defer s.Close()
		time.AfterFunc(time.Second, func() {
			for session := range server.Sessions() {
				session.Close()
			}
		})
		start := time.Now()
		_, err = weather(t.Context(), s)
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, 1, ledger.Count())
	})
}
