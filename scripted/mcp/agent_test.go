package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
)

const (
	attempts = 3
	limit    = 5 * time.Second
	base     = 100 * time.Millisecond
)

// What an agent can tell apart.
var (
	errBusy    = errors.New("the tool is busy")
	errRefused = errors.New("the tool refused")
	errUnclear = errors.New("nobody knows what became of the call")
	errLost    = errors.New("the session was lost under the call")
	errNotSent = errors.New("there was no session for the call")
)

// An agent calls one tool of an MCP server, over a session that its actions share.
type agent struct {
	dial func(context.Context) (*sdk.ClientSession, error)
	held chan *sdk.ClientSession // holds the session, or nil where there is none; empty while somebody opens one
	args any
	safe bool // what was lost under way may be sent again

	// Habits.
	flagIgnored   bool // a result is a success, whatever its flag says
	wordsDecide   bool // a result that speaks of a failure is one
	errorsAreText bool // an error of the protocol is handed on as the tool's answer
	errorsRetried bool // an error of the protocol is retried like a connection's
	trustsAs      bool // what errors.As finds to be a JSON-RPC error came from the server
	keeps         bool // a session stays when it is lost
	replays       bool // what was lost under way is sent again in any case
	detached      bool // the call does not get the caller's context
	unbounded     bool // an attempt has no limit
	mute          bool // the client does not tell the server that a call is cancelled
}

func newAgent(client *sdk.Client, transport func() sdk.Transport) *agent {
	a := &agent{args: map[string]any{"city": "Pune"}, safe: true, held: make(chan *sdk.ClientSession, 1)}
	a.dial = func(ctx context.Context) (*sdk.ClientSession, error) {
		if a.mute {
			return client.Connect(ctx, muted{transport()}, nil)
		}
		return client.Connect(ctx, transport(), nil)
	}
	a.held <- nil
	return a
}

// open is the session that is held, or a new one.
func (a *agent) open(ctx context.Context) (*sdk.ClientSession, error) {
	var s *sdk.ClientSession
	select {
	case s = <-a.held:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var err error
	if s == nil {
		s, err = a.dial(ctx)
	}
	a.held <- s
	return s, err
}

// drop lets go of a session, unless another one has taken its place.
func (a *agent) drop(s *sdk.ClientSession) {
	held := <-a.held
	if held == s {
		held = nil
	}
	a.held <- held
}

// close closes the session that is held.
func (a *agent) close() {
	s := <-a.held
	a.held <- nil
	if s != nil {
		s.Close()
	}
}

// ask makes one attempt.
func (a *agent) ask(ctx context.Context) (string, error) {
	if !a.unbounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	s, err := a.open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w: %w", errNotSent, err)
	}
	call := ctx
	if a.detached {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
	}
	res, err := s.CallTool(call, &sdk.CallToolParams{Name: "weather", Arguments: a.args})
	if err != nil {
		return a.failed(ctx, s, err)
	}
	return a.read(res)
}

// failed reads the error of a call that has no result.
func (a *agent) failed(ctx context.Context, s *sdk.ClientSession, err error) (string, error) {
	refusal, protocol := errors.AsType[*jsonrpc.Error](err)
	unsent := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case unsent && !(protocol && a.trustsAs):
		a.lost(s)
		return "", fmt.Errorf("%w: %w", errNotSent, err)
	case errors.Is(err, io.EOF) && !(protocol && a.trustsAs):
		a.lost(s)
		return "", fmt.Errorf("%w: %w", errLost, err)
	case protocol && a.errorsAreText:
		return refusal.Message, nil
	case protocol && a.errorsRetried:
		return "", fmt.Errorf("%w: %w", errBusy, err)
	}
	return "", fmt.Errorf("%w: %w", errRefused, err)
}

// lost lets go of a session that is lost.
func (a *agent) lost(s *sdk.ClientSession) {
	if a.keeps {
		return
	}
	a.drop(s)
	go s.Close() // waits for the calls that are under way
}

// read reads a result.
func (a *agent) read(res *sdk.CallToolResult) (string, error) {
	text := words(res)
	failed := res.IsError
	switch {
	case a.flagIgnored:
		failed = false
	case a.wordsDecide:
		failed = strings.Contains(text, "fail") || strings.Contains(text, "error")
	}
	if !failed {
		return text, nil
	}
	switch code(res) {
	case "unavailable", "throttled":
		return "", fmt.Errorf("%w: %s", errBusy, text)
	case "timeout":
		return "", fmt.Errorf("%w: %s", errUnclear, text)
	}
	return "", fmt.Errorf("%w: %s", errRefused, text)
}

// code is what a failed tool says for programs; empty: nothing.
func code(res *sdk.CallToolResult) string {
	said, _ := res.StructuredContent.(map[string]any)
	c, _ := said["code"].(string)
	return c
}

func words(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// again reports whether the call may be made again.
func (a *agent) again(err error) bool {
	switch {
	case errors.Is(err, errLost), errors.Is(err, errUnclear), errors.Is(err, context.DeadlineExceeded):
		return a.safe || a.replays
	}
	return errors.Is(err, errBusy) || errors.Is(err, errNotSent)
}

func (a *agent) forecast(ctx context.Context) (string, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		text, err := a.ask(ctx)
		if err == nil {
			return text, nil
		}
		if n == attempts || ctx.Err() != nil || !a.again(err) {
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

// readPolicy is the contract of a read.
var readPolicy = invariants.Policy{
	ID: "weather-mcp/v1", MaxAttempts: attempts, Attempt: limit,
	Retry:   []trace.Class{trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected},
	Backoff: invariants.Backoff{Base: base},
	Late:    invariants.LateWait, Repeatable: true,
}

// A door puts a server on the stage: [mcp.Serve] or [mcp.ServeHTTP].
type door = func(*faultsim.Stage, mcp.StageTool, ...mcp.StageTool) *mcp.Stage

// over is an adapter of the agent over a transport.
func over(serve door, p invariants.Policy, change func(*agent)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Session: &invariants.Session{},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			server := serve(s, mcp.StageTool{Name: "weather", Fake: sunny})
			client := newClient()
			server.Watch(client)
			a := newAgent(client, server.Transport)
			a.safe = p.Repeatable
			change(a)
			s.Close(a.close)
			return func(ctx context.Context) (any, error) { return a.forecast(ctx) }
		},
		Want: "19 degrees",
	}
}

func newClient() *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
}

// muted is a transport that keeps cancels to itself.
type muted struct{ sdk.Transport }

func (t muted) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return mutedConn{c}, err
}

type mutedConn struct{ sdk.Connection }

func (c mutedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == "notifications/cancelled" {
		return nil
	}
	return c.Connection.Write(ctx, msg)
}
