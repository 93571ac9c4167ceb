package mcp

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Link connects clients with an MCP server of the same process, without a pipe
// or a socket. A handler of the server sees the values and the deadline of the
// caller's own context, so that a call belongs to the action that made it; the
// cancel reaches it as MCP brings it, by notifications/cancelled, and not by the
// context. Make it with [NewLink]. Its methods may be called by several
// goroutines at once.
type Link struct {
	server *sdk.Server
	web    *sdk.StreamableHTTPHandler
	unsent atomic.Int64 // requests over HTTP whose context was over before they were sent

	mu       sync.Mutex
	last     int              // the ticket that was given out last
	calls    map[string]*call // under way, by their tickets
	ends     map[string]end   // clients' ends of connections, by their sessions
	received map[string]int   // messages of clients, by method
}

// An end is a client's end of a connection.
type end interface {
	lose()                                    // loses the session
	lost() bool                               // it is lost or closed
	over(ctx context.Context) context.Context // for a call over the session
}

// NewLink returns a link to the server, to which it adds a middleware. Give each
// server one link, when it has all middleware of its own: what is added later does
// not see the caller's context.
func NewLink(server *sdk.Server) *Link {
	l := &Link{server: server, calls: map[string]*call{}, ends: map[string]end{}, received: map[string]int{}}
	l.web = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	server.AddReceivingMiddleware(l.receive)
	return l
}

// receive lets the handler see the caller's context.
func (l *Link) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		l.mu.Lock()
		l.received[method]++
		l.mu.Unlock()
		c := l.callOf(req)
		if c == nil {
			return next(ctx, method, req)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		joined := join(ctx, c.ctx)
		defer joined.leave()
		defer close(c.returned)
		c.cancel = cancel
		close(c.arrived)
		return next(joined, method, req)
	}
}

// Received is how many messages of the method the server has had of its clients:
// "tools/call", "notifications/cancelled".
func (l *Link) Received(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received[method]
}

// Drop lets go of all sessions, as a server does that is started again. Calls that
// are under way are answered first; what is sent after that is refused. A client in
// memory finds its connection closed, and one over HTTP that its session is not
// found, at the next request.
func (l *Link) Drop() {
	l.mu.Lock()
	open := slices.Collect(maps.Values(l.ends))
	l.mu.Unlock()
	for _, e := range open {
		e.lose()
	}
}

// enter keeps the client's end of a session.
func (l *Link) enter(session string, e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[session] = e
}

// endOf is the client's end of a session; nil: it is none of this server's.
func (l *Link) endOf(session string) end {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[session]
}

// ticketHeader says which call a request is. A client does not see it.
const ticketHeader = "Rehearse-Call"

// A call is a request that a client has under way.
type call struct {
	ticket  string
	ctx     context.Context // the caller's
	arrived chan struct{}   // closed when the server's handler has it
	cancel  func()          // ends the handler's context; set before arrived is closed

	returned chan struct{} // closed when the handler has returned

	once sync.Once
	done chan struct{} // closed when it is answered, or will never be
	lost error         // why there is no answer; set before done is closed
}

// begin registers a call. It must be ended.
func (l *Link) begin(ctx context.Context) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	c := &call{ticket: strconv.Itoa(l.last), ctx: ctx, arrived: make(chan struct{}), returned: make(chan struct{}), done: make(chan struct{})}
	l.calls[c.ticket] = c
	return c
}

// end says how the call has ended; nil: by an answer. What comes later is not
// heard.
func (l *Link) end(c *call, lost error) {
	c.once.Do(func() {
		l.mu.Lock()
		delete(l.calls, c.ticket)
		l.mu.Unlock()
		c.lost = lost
		close(c.done)
	})
}

// abandon ends the work for a call of which the client can tell nothing any more.
func (c *call) abandon() {
	select {
	case <-c.arrived:
		c.cancel()
	default:
	}
}

// callOf is the call that a request is; nil: it came another way.
func (l *Link) callOf(req sdk.Request) *call {
	extra := req.GetExtra()
	if extra == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[extra.Header.Get(ticketHeader)]
}
