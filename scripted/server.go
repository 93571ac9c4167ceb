package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Server is a double of servers that are reached by HTTP: an
// http.RoundTripper without a socket, whose routes are tools. A request that
// no route matches is reported and fails at once. Only NewServer makes a
// Server. Declare the routes and their steps before the first request; the
// requests may come from several goroutines at once.
//
// It answers as net/http's transport does: the response's body must be closed,
// and when the request's context ends, RoundTrip and the body return
// context.Cause of it. An attempt begins when the request's body has been read,
// which takes time where the caller streams it.
type Server struct {
	t      TB
	made   double.Pos
	door   *double.Door
	rec    *trace.Recorder
	clock  clock.Clock
	offset time.Duration
	ledger *Ledger
	fields double.Fields
	spare  bool
	routes []*Route

	mu       sync.Mutex
	requests []Request
}

// A Request is what a server received.
type Request struct {
	Route  string // name of the route; empty: none matched
	Method string
	Host   string // of the URL, in lower case
	Path   string
	Query  string      // as it was sent, without the question mark
	Header http.Header // a copy
	Body   []byte      // every byte that came; nil: no body, empty: a body without a byte
	Key    string      // the idempotency key; empty: none
}

// NewServer returns a server without routes. It writes down its requests and
// responses in clear in a recorder of its own; see [Server.Into].
func NewServer(t TB) *Server {
	t.Helper()
	s := &Server{t: t, made: double.Caller(0), rec: &trace.Recorder{Clear: true}}
	s.door = double.NewDoor(t, s.finish)
	return s
}

func (s *Server) finish() {
	s.t.Helper()
	for _, r := range s.routes {
		r.finish()
	}
}

// Into lets the server write into r, which several doubles may share. The
// clock of r is then the server's too, and the key that r looks for in a body,
// unless [Server.Key] names one; so is the header in which r finds a credential. It holds for the routes that are declared after
// it, as do the other settings of a server.
func (s *Server) Into(r *trace.Recorder) *Server {
	s.t.Helper()
	if r == nil {
		s.door.Report("misuse", "scripted: server: Into(nil) at %s: there is no recorder; give one, or leave Into out", double.Caller(0))
		return s
	}
	s.rec = r
	return s
}

// Clock lets latencies run, and dates be read, on c. Nil is the recorder's
// clock, which by default is real time and virtual in a synctest bubble.
func (s *Server) Clock(c clock.Clock) *Server {
	s.clock = c
	return s
}

// ClockOffset sets what the server's clock is ahead of the caller's; negative:
// it is behind. It shows in the Date and the Retry-After of [RetryAfterDate].
func (s *Server) ClockOffset(ahead time.Duration) *Server {
	s.offset = ahead
	return s
}

// Ledger is [Route.Ledger] for the routes that are declared after it.
func (s *Server) Ledger(l *Ledger) *Server {
	s.ledger = l
	return s
}

// Key is [Route.Key] for the routes that are declared after it.
func (s *Server) Key(path string) *Server {
	s.fields.Key = path
	return s
}

// Volatile is [Route.Volatile] for the routes that are declared after it.
func (s *Server) Volatile(paths ...string) *Server {
	s.fields.Volatile = append(s.fields.Volatile, paths...)
	return s
}

// AllowUnused is [Route.AllowUnused] for the routes that are declared after it.
func (s *Server) AllowUnused() *Server {
	s.spare = true
	return s
}

// Route declares a tool: what is reached by a method at a host and path. Host
// and path are patterns of path.Match, in which * stands for a part without a
// slash; the method "*" is any. A request takes the first route that matches
// it. The host is that of the URL, with its port where it has one; the query
// is not looked at.
func (s *Server) Route(method, host, pattern string) *Route {
	s.t.Helper()
	r := &Route{s: s, method: strings.ToUpper(method), host: strings.ToLower(host), path: pattern}
	r.desk = desk[response]{
		name: r.method + " " + r.host + r.path, made: double.Caller(0), id: fmt.Sprintf("route %d ", len(s.routes)),
		t: s.t, door: s.door, rec: s.rec, clock: s.clock, ledger: s.ledger, fields: s.fields, spare: s.spare,
	}
	if r.fields.Key == "" && s.rec.Key != "" {
		r.fields.Key = "body." + s.rec.Key // where Recorder.Transport looks for it too
	}
	r.check(fmt.Sprintf("Route(%q, %q, %q)", method, host, pattern))
	s.routes = append(s.routes, r)
	return r
}

// check reports a route that no request, or none of its own, can match.
func (r *Route) check(what string) {
	r.t.Helper()
	advice := ""
	switch {
	case r.method == "":
		advice = `it needs a method; "*" is any`
	case r.host == "" || strings.Contains(r.host, "/"):
		advice = `it needs a host without scheme and path, such as "api.pay.test"; "*" is any`
	case !strings.HasPrefix(r.path, "/"):
		advice = `a path begins with "/"`
	}
	for _, p := range []string{r.host, r.path} {
		if _, err := path.Match(p, ""); err != nil {
			advice = fmt.Sprintf("%q is no pattern of path.Match; see its documentation", p)
		}
	}
	for _, other := range r.s.routes {
		if other.method == r.method && other.host == r.host && other.path == r.path {
			advice = fmt.Sprintf("it is never reached, since the route at %s takes the same requests; add the steps there", other.made)
		}
	}
	if advice != "" {
		r.misuse(what, r.made, advice)
	}
}

// Client returns a client whose requests go to the server. It has no timeout
// of its own.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// RoundTrip is http.RoundTripper. It does not change the request, closes its
// body, and returns the errors that net/http's transport returns; beyond the
// script it returns an [*Error]. A request whose body cannot be read, or is not
// as long as its ContentLength says (an earlier attempt has spent it), takes its
// step and gets net/http's error for it.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errors.New("http: no Host in request URL")
	}
	for _, r := range s.routes {
		if r.matches(req) {
			return r.serve(req)
		}
	}
	return nil, s.unmatched(req)
}

func (r *Route) matches(req *http.Request) bool {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	at := req.URL.Path
	if at == "" {
		at = "/"
	}
	return (r.method == "*" || r.method == method) && match(r.host, strings.ToLower(req.URL.Host)) && match(r.path, at)
}

func match(pattern, s string) bool {
	if pattern == s {
		return true
	}
	ok, _ := path.Match(pattern, s) // a bad pattern has been reported
	return ok
}

// unmatched writes down a request for which there is no route, and reports it.
func (s *Server) unmatched(req *http.Request) error {
	s.t.Helper()
	got, _ := double.Capture(req, s.fields)
	s.note("", got)
	name := got.Method + " " + got.Host + got.Path
	text := fmt.Sprintf("scripted: no route matches %s, at the server made at %s", name, s.made)
	s.door.Report("unmatched", "%s%s\n\tDeclare the route, or stop the request.", text, s.routeList())
	err := &Error{Tool: name, Text: text, Err: ErrUnmatched}
	s.rec.Call(req.Context(), trace.Call{Tool: name, Args: got.Args, Key: got.Key}).Answer(err.Outcome(), nil, err)
	return err
}

func (s *Server) routeList() string {
	var b strings.Builder
	for _, r := range s.routes {
		fmt.Fprintf(&b, "\n\t%s: %s %s%s", r.made, r.method, r.host, r.path)
	}
	return b.String()
}

func (s *Server) note(route string, got *double.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request(route, got))
}

func request(route string, r *double.Request) Request {
	return Request{Route: route, Method: r.Method, Host: r.Host, Path: r.Path, Query: r.Query, Header: r.Header, Body: r.Body, Key: r.Key}
}

// Requests returns what the server received at all routes and at none, in
// order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return double.Clone(s.requests)
}

func requests(route string, all []*double.Request) []Request {
	list := make([]Request, len(all))
	for i, r := range all {
		list[i] = double.Clone(request(route, r))
	}
	return list
}

// Trace returns what has been written down so far.
func (s *Server) Trace() *trace.Trace { return s.rec.Trace() }
