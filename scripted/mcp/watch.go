package mcp

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/trace"
)

// Watch lets the trace hold what a server alone cannot know of a client. A call that
// does not arrive because its session is lost, be it that the client refuses it by
// itself, is written down as not-connected. And a call that its caller has cancelled comes back
// when the tool has heard of that, so that the trace has one order; where the tool is
// deaf or nobody tells it, a nanosecond later.
//
// Watch adds a middleware to the client; give each client one. Only calls over
// sessions of this server are looked at.
func (s *Server) Watch(c *sdk.Client) {
	s.watch(c, func(ctx context.Context, _ end, p *sdk.CallToolParams, err error) {
		call := s.rec.Call(ctx, trace.Call{Tool: p.Name, Args: arguments(p)})
		call.Answer(trace.Outcome{Class: trace.NotConnected}, nil, err)
	})
}

// Watch is [Server.Watch] for a stage: with it a call over a session that is lost
// is an attempt, as one that reaches the server is.
func (s *Stage) Watch(c *sdk.Client) {
	s.server.watch(c, func(ctx context.Context, e end, p *sdk.CallToolParams, _ error) {
		s.server.mu.Lock()
		call := s.server.tools[p.Name]
		s.server.mu.Unlock()
		if call != nil {
			_, _ = call(e.over(ctx), arguments(p)) // which the stage refuses as well
		}
	})
}

func arguments(p *sdk.CallToolParams) json.RawMessage {
	b, err := json.Marshal(p.Arguments)
	if err != nil {
		return nil
	}
	return b
}

// A watched call is one that a client with Watch makes. Only its caller's goroutine
// uses it, which is the one that sends it.
type watched struct{ sent *call }

type watchedKey struct{}

// sent notes that the call has been sent, where it is watched.
func sent(ctx context.Context, c *call) {
	if w, ok := ctx.Value(watchedKey{}).(*watched); ok {
		w.sent = c
	}
}

func (l *Link) watch(c *sdk.Client, refused func(context.Context, end, *sdk.CallToolParams, error)) {
	c.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			p, ok := req.GetParams().(*sdk.CallToolParams)
			if !ok || method != methodCall {
				return next(ctx, method, req)
			}
			w := &watched{}
			res, err := next(context.WithValue(ctx, watchedKey{}, w), method, req)
			switch e := l.endOf(req.GetSession().ID()); {
			case err == nil:
			case w.sent != nil && ctx.Err() != nil:
				w.sent.settle()
			case w.sent == nil && e != nil && e.lost():
				refused(ctx, e, p, err)
			}
			return res, err
		}
	})
}

// settle waits until the handler has returned, or has been told of the cancel and
// goes on: in virtual time, that is a nanosecond later.
func (c *call) settle() {
	timer := time.NewTimer(1)
	defer timer.Stop()
	select {
	case <-c.returned:
	case <-timer.C:
	}
}
