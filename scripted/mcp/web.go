package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/faultsim"
)

// Endpoint is where a [Link] is reached over HTTP.
const Endpoint = "http://mcp.test/mcp"

const sessionHeader = "Mcp-Session-Id"

// HTTP returns a transport of a client over streamable HTTP. There is no socket:
// the requests go to the SDK's own handler. Its fields can be changed before it is
// used, but for HTTPClient. It is for one session.
func (l *Link) HTTP() *sdk.StreamableClientTransport {
	return &sdk.StreamableClientTransport{Endpoint: Endpoint, HTTPClient: &http.Client{Transport: newWire(l)}}
}

// A dialed transport is one over HTTP that opens a session of a stage.
type dialed struct {
	link     *Link
	sessions *faultsim.Sessions // nil: they cannot be lost
}

// Connect implements sdk.Transport. There is no stream beside the calls: the SDK
// opens a broken one again after a time that it draws by chance.
func (t *dialed) Connect(ctx context.Context) (sdk.Connection, error) {
	w := newWire(t.link)
	if t.sessions != nil {
		s, err := t.sessions.Dial(ctx)
		if err != nil {
			return nil, err
		}
		w.session = s
	}
	inner := &sdk.StreamableClientTransport{Endpoint: Endpoint, HTTPClient: &http.Client{Transport: w}, DisableStandaloneSSE: true}
	return inner.Connect(ctx)
}

// A wire is the http.RoundTripper of one session.
type wire struct {
	link    *Link
	session *faultsim.Session // nil: none

	mu      sync.Mutex
	id      string // of the session; empty: there is none yet
	gone    bool   // the server does not know it any more
	calls   int    // of tools, under way
	streams map[*stream]struct{}
}

func newWire(l *Link) *wire { return &wire{link: l, streams: map[*stream]struct{}{}} }

// mostUnsent bounds the requests of one server that are not sent because their
// context is over. A loop of them would end nowhere; what follows is sent, so that
// a trace shows it.
const mostUnsent = 1000

// RoundTrip implements http.RoundTripper. The answer to a call of a tool is handed
// on when it is complete; others as soon as they begin. As net/http's own transport
// it does not send what nobody waits for.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Err() != nil && w.link.unsent.Add(1) <= mostUnsent {
		return nil, context.Cause(req.Context())
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	msg := requestIn(body)
	if w.unknown(req, msg) {
		return notFound(req), nil
	}
	if req.Method == http.MethodDelete {
		w.closed()
	}
	var c *call
	if msg != nil && msg.IsCall() {
		c = w.link.begin(w.over(req.Context()))
	}
	if c != nil && msg.Method == methodCall {
		return w.await(req, body, c)
	}
	s := w.serve(req, body, c)
	select {
	case <-s.ready:
	case <-req.Context().Done():
		s.leave()
		return nil, req.Context().Err()
	}
	w.note(s)
	return s.response(req), nil
}

// await makes a call of a tool and waits for all of the answer.
func (w *wire) await(req *http.Request, body []byte, c *call) (*http.Response, error) {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
	defer w.settle()
	sent(req.Context(), c)
	s := w.serve(req, body, c)
	select {
	case <-c.done:
	case <-req.Context().Done():
		select { // what was sent has arrived before its caller leaves
		case <-c.arrived:
		case <-c.done:
		}
		s.leave()
		if w.lost() { // the SDK does not send a cancel over a session that has failed
			c.abandon()
		}
		return nil, req.Context().Err()
	}
	if c.lost == nil {
		return s.response(req), nil
	}
	s.leave()
	w.lose()
	return nil, overHTTP(c.lost)
}

// serve lets the SDK's handler answer.
func (w *wire) serve(req *http.Request, body []byte, c *call) *stream {
	// Not the request's context: the handler keeps the values of the first for all
	// that follow in the session, and a server hears of a cancel over the wire.
	ctx, cancel := context.WithCancel(context.Background())
	inner := req.Clone(ctx)
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if c != nil {
		inner.Header.Set(ticketHeader, c.ticket)
	}
	s := newStream(req.Context(), req.Method == http.MethodGet, cancel)
	w.mu.Lock()
	w.streams[s] = struct{}{}
	w.mu.Unlock()
	go func() {
		w.link.web.ServeHTTP(s, inner)
		s.end()
		w.mu.Lock()
		delete(w.streams, s)
		w.mu.Unlock()
		if c != nil {
			w.link.end(c, nil)
		}
	}()
	return s
}

// note remembers the session that the answer tells of.
func (w *wire) note(s *stream) {
	id := s.header.Get(sessionHeader)
	if id == "" {
		return
	}
	w.mu.Lock()
	first := w.id == ""
	w.id = id
	w.mu.Unlock()
	if first {
		w.link.enter(id, w)
	}
}

// unknown reports whether the request is of a session that is lost, and is turned
// away. A cancel passes: it is of a call that was under way before.
func (w *wire) unknown(req *http.Request, msg *jsonrpc.Request) bool {
	cancels := msg != nil && isCancel(msg)
	return w.lost() && req.Header.Get(sessionHeader) != "" && !cancels
}

func (w *wire) over(ctx context.Context) context.Context { return over(w.session, ctx) }

// closed is the client's own end of the session.
func (w *wire) closed() {
	w.mu.Lock()
	w.gone = true
	w.mu.Unlock()
	if w.session != nil {
		w.session.Close()
	}
}

// lose lets the server forget the session. What is under way is answered first:
// the SDK's server gives no answers any more when a session is being closed.
func (w *wire) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	if w.calls == 0 {
		w.forget()
	}
}

func (w *wire) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// settle is the end of a call of a tool.
func (w *wire) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls--; w.gone && w.calls == 0 {
		w.forget()
	}
}

// forget ends the session at the server. w.mu is held.
func (w *wire) forget() {
	for s := range w.streams {
		if s.get {
			s.leave() // and the SDK's client looks whether the session is still there
		}
	}
	if w.id == "" {
		return
	}
	req, err := http.NewRequest(http.MethodDelete, Endpoint, nil)
	if err != nil {
		panic(err) // a constant
	}
	req.Header.Set(sessionHeader, w.id)
	go func() {
		w.link.web.ServeHTTP(newStream(context.Background(), false, func() {}), req)
	}()
}

func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// requestIn is the request or notification in a body; nil: there is none.
func requestIn(body []byte) *jsonrpc.Request {
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil
	}
	req, _ := msg.(*jsonrpc.Request)
	return req
}

// notFound is what a server says of a session that it does not know (revision
// 2025-06-18, basic/transports, Session Management).
func notFound(req *http.Request) *http.Response {
	const text = "session not found\n"
	return &http.Response{
		Status: "404 Not Found", StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(strings.NewReader(text)), Request: req,
	}
}
