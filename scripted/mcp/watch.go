package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/trace"
)

// Watch writes down the calls that the client refuses by itself, because it knows
// that their session is lost. They reach no server, and without Watch no trace. It
// adds a middleware to the client; give each client one. Only calls over sessions
// of this server are looked at.
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

type sentKey struct{}

// sent notes that a call has been sent.
func sent(ctx context.Context) {
	if flag, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		flag.Store(true)
	}
}

func (l *Link) watch(c *sdk.Client, refused func(context.Context, end, *sdk.CallToolParams, error)) {
	c.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			p, ok := req.GetParams().(*sdk.CallToolParams)
			if !ok || method != methodCall {
				return next(ctx, method, req)
			}
			var flag atomic.Bool
			res, err := next(context.WithValue(ctx, sentKey{}, &flag), method, req)
			if e := l.endOf(req.GetSession().ID()); err != nil && !flag.Load() && e != nil && e.lost() {
				refused(ctx, e, p, err)
			}
			return res, err
		}
	})
}
