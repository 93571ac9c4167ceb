package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
)

// Transport returns a transport of a client that is connected in memory, as over
// the pipes of a local server. It is for one session, as all transports of the SDK
// are: make one for each Connect. A lost session shows as a closed pipe.
func (l *Link) Transport() sdk.Transport { return &memory{link: l} }

// A memory is a transport in memory.
type memory struct {
	link     *Link
	sessions *faultsim.Sessions // of a stage; nil: there are none, or they cannot be lost
}

// Connect implements sdk.Transport.
func (t *memory) Connect(ctx context.Context) (sdk.Connection, error) {
	c := &clientEnd{link: t.link, up: newQueue(), down: newQueue(), calls: map[jsonrpc.ID]*call{}}
	if t.sessions != nil {
		s, err := t.sessions.Dial(ctx)
		if err != nil {
			return nil, err
		}
		c.session = s
	}
	// Not ctx: its values are of whoever opens the session, and many will use it.
	if _, err := t.link.server.Connect(context.Background(), serverSide{c}, nil); err != nil {
		return nil, err
	}
	t.link.enter(c.SessionID(), c)
	return c, nil
}

// A clientEnd is the client's end of a connection in memory.
type clientEnd struct {
	link     *Link
	up, down *queue            // to the server, and to the client
	session  *faultsim.Session // nil: none

	mu    sync.Mutex
	calls map[jsonrpc.ID]*call // under way
	gone  bool                 // lost or closed: nothing is taken any more
	ends  bool                 // the server ends it when nothing is under way
}

// SessionID is none of the protocol's, which has no ids here. It tells sessions of
// one server apart.
func (c *clientEnd) SessionID() string { return fmt.Sprintf("%p", c) }

func (c *clientEnd) Read(ctx context.Context) (jsonrpc.Message, error) { return c.down.get(ctx) }

// Write sends a message. With a call of a tool it returns when that is answered,
// lost or left by its caller, so that a loss can show as an error of its own call
// while the others go on.
func (c *clientEnd) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return c.send(msg, nil)
	}
	call := c.link.begin(c.over(ctx))
	if err := c.send(req, call); err != nil {
		c.link.end(call, err)
		return err
	}
	sent(ctx, call)
	if req.Method != methodCall {
		return nil
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		select { // what was sent has arrived before its caller leaves
		case <-call.arrived:
		case <-call.done:
		}
		return nil
	}
	return c.failed(call.lost)
}

func (c *clientEnd) over(ctx context.Context) context.Context { return over(c.session, ctx) }

// over is ctx for a call over a session of a stage; nil: there are none.
func over(s *faultsim.Session, ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return s.Over(ctx)
}

// failed is how the loss of a call shows; nil: there was none. With the error the
// SDK takes no more calls, and closes the connection when none is under way.
func (c *clientEnd) failed(lost error) error {
	if lost == nil {
		return nil
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	return inMemory(lost)
}

// send puts the message on its way; call is nil where it is none.
func (c *clientEnd) send(msg jsonrpc.Message, call *call) error {
	msg, err := copied(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone && !(isCancel(msg) && len(c.calls) > 0) { // which may be of one of them
		return errPipe
	}
	if req, ok := msg.(*jsonrpc.Request); ok && call != nil {
		c.calls[req.ID] = call
		req.Extra = &sdk.RequestExtra{Header: http.Header{ticketHeader: {call.ticket}}}
	}
	c.up.put(msg)
	return nil
}

func isCancel(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	return ok && req.Method == methodCancelled
}

// lose ends the connection behind what is under way.
func (c *clientEnd) lose() {
	c.mu.Lock()
	c.gone, c.ends = true, true
	idle := len(c.calls) == 0
	c.mu.Unlock()
	if idle {
		c.shut()
	}
}

func (c *clientEnd) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Close is the client's. The SDK calls it also when it has found the connection
// lost and nothing is under way.
func (c *clientEnd) Close() error {
	c.mu.Lock()
	lost := c.gone
	c.gone = true
	calls := c.calls
	c.calls = map[jsonrpc.ID]*call{}
	c.mu.Unlock()
	if c.session != nil && !lost {
		c.session.Close()
	}
	for _, call := range calls {
		c.link.end(call, io.EOF)
	}
	c.shut()
	return nil
}

func (c *clientEnd) shut() {
	c.up.close()
	c.down.close()
}

// answer takes a message of the server.
func (c *clientEnd) answer(msg jsonrpc.Message) error {
	msg, err := copied(msg)
	if err != nil {
		return err
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		c.down.put(msg)
		return nil
	}
	c.mu.Lock()
	call := c.calls[resp.ID]
	delete(c.calls, resp.ID)
	last := c.ends && len(c.calls) == 0
	c.mu.Unlock()
	if call != nil {
		if call.heard() {
			c.down.put(msg)
		}
		c.link.end(call, nil)
	}
	if last {
		c.shut()
	}
	return nil
}

// heard reports whether an answer of the call would reach its caller.
func (c *call) heard() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// copied is the message as it comes out at the other end: ends share no memory, and
// an error has lost what does not go over a wire.
func copied(msg jsonrpc.Message) (jsonrpc.Message, error) {
	switch m := msg.(type) {
	case *jsonrpc.Request:
		return &jsonrpc.Request{ID: m.ID, Method: m.Method, Params: bytes.Clone(m.Params)}, nil
	case *jsonrpc.Response:
		if m.Error == nil { // the SDK's decoder takes 32 kB for each message
			return &jsonrpc.Response{ID: m.ID, Result: bytes.Clone(m.Result)}, nil
		}
	}
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(b)
}

// A serverSide is the server's end of a connection in memory, and its transport.
type serverSide struct{ *clientEnd }

func (s serverSide) Connect(context.Context) (sdk.Connection, error) { return s, nil }

func (s serverSide) Read(ctx context.Context) (jsonrpc.Message, error) { return s.up.get(ctx) }

func (s serverSide) Write(_ context.Context, msg jsonrpc.Message) error { return s.answer(msg) }

func (s serverSide) Close() error {
	s.shut()
	return nil
}

// A queue is one direction of a connection, without a bound.
type queue struct {
	mu     sync.Mutex
	msgs   []jsonrpc.Message
	closed bool
	more   chan struct{} // holds a token when there may be something to read
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

func (q *queue) put(msg jsonrpc.Message) {
	q.mu.Lock()
	if !q.closed {
		q.msgs = append(q.msgs, msg)
	}
	q.mu.Unlock()
	q.wake()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// get returns the next message, and io.EOF behind the last one.
func (q *queue) get(ctx context.Context) (jsonrpc.Message, error) {
	for {
		q.mu.Lock()
		if len(q.msgs) > 0 {
			msg := q.msgs[0]
			q.msgs = q.msgs[1:]
			q.mu.Unlock()
			return msg, nil
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
