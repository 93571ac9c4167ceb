package faultsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Route is an HTTP tool: what the requests that match it get. Empty match
// fields match everything.
type Route struct {
	Tool               string // the tool's name on the stage and in schedules
	Method, Host, Path string // what it matches; a Path that ends in / matches what is below it

	// Answer does the tool's work and answers. Nil: 200 and an empty JSON object.
	Answer http.Handler

	// Failures are the tool's own answers for classes, in place of the usual
	// ones; a nil handler says that the class cannot happen. Classes that only
	// a body tells apart (quota-exhausted, declined, partial) and unknown can
	// happen only where they are listed here.
	Failures map[trace.Class]http.Handler

	// Hints are the forms in which the tool asks for a wait. Nil: Retry-After
	// in the two forms of RFC 9110 section 10.2.3, seconds and an HTTP-date.
	// Empty and not nil: it never asks.
	Hints []HintForm

	// Volatile are the fields of the body that differ between attempts by
	// nature, such as signatures and timestamps, as dotted paths; they are
	// left out of what is compared.
	Volatile []string

	// Role of the calls. A zero Role makes them attempts.
	Role trace.Role
}

// Client returns an HTTP client whose requests are answered by the routes as
// the schedule plans: a status, Retry-After in its forms, a reset, a
// connection that never came up. A request that matches no route fails at
// once and is reported. The first route that matches counts.
//
// The client needs no network and works in a bubble of virtual time. A client
// of one's own takes the [http.Client]'s Transport.
func (s *Stage) Client(routes ...Route) *http.Client {
	t := &transport{s: s}
	for i := range routes {
		r := &route{Route: routes[i]}
		if r.Hints == nil {
			r.Hints = []HintForm{HintSeconds, HintDate}
		}
		r.tool = &tool{name: r.Tool, can: r.can, hints: r.Hints}
		if r.Role == trace.RoleAttempt {
			s.register(r.tool)
		}
		t.routes = append(t.routes, r)
	}
	return &http.Client{Transport: t}
}

// route is a Route on a stage.
type route struct {
	Route
	tool *tool
}

// usually lists the failures of any HTTP tool.
var usually = map[trace.Class]bool{
	trace.Transient: true, trace.Throttled: true, trace.Timeout: true, trace.Reset: true, trace.NotConnected: true,
	trace.Invalid: true, trace.Unauthenticated: true, trace.Forbidden: true, trace.NotFound: true,
	trace.Conflict: true, trace.Malformed: true,
}

func (r *route) can(f *Fault) bool {
	if f.Hint > 0 && !slices.Contains(r.Hints, f.Form) {
		return false
	}
	if f.class() == trace.OK || f.Hang {
		return true
	}
	if h, ok := r.Failures[f.Class]; ok {
		return h != nil
	}
	return usually[f.Class]
}

func (r *route) matches(req *http.Request) bool {
	return (r.Method == "" || r.Method == req.Method) &&
		(r.Host == "" || strings.EqualFold(r.Host, req.URL.Host)) &&
		(r.Path == "" || r.Path == req.URL.Path || strings.HasSuffix(r.Path, "/") && strings.HasPrefix(req.URL.Path, r.Path))
}

// transport is the stage as an http.RoundTripper.
type transport struct {
	s      *Stage
	routes []*route
}

// RoundTrip answers one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	for _, r := range t.routes {
		if r.matches(req) {
			return (&exchange{s: t.s, r: r, req: req}).run()
		}
	}
	if req.Body != nil {
		req.Body.Close()
	}
	err := fmt.Errorf("faultsim: no route for %s %s%s: add a Route for it to Stage.Client", req.Method, req.URL.Host, req.URL.Path)
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.misuse = append(t.s.misuse, err)
	return nil, err
}

// An exchange is one request and its answer.
type exchange struct {
	s    *Stage
	r    *route
	req  *http.Request
	in   *double.Request
	p    trace.Pending
	a    *act
	once sync.Once
}

func (x *exchange) run() (*http.Response, error) {
	if ctx := x.req.Context(); ctx.Err() != nil && x.s.unsent.Add(1) <= int64(x.s.limit) {
		// net/http's own transport does not send it: no attempt reaches the tool.
		if x.req.Body != nil {
			x.req.Body.Close()
		}
		return nil, context.Cause(ctx)
	}
	in, err := double.Capture(x.req, double.Fields{Key: x.s.policy.Key, Volatile: x.r.Volatile, Borrow: true})
	if err != nil {
		return nil, err // the request was never sent
	}
	x.in = in
	key := in.Key
	if h := in.Header.Get(x.s.policy.Key); key == "" && h != "" {
		key = h
	}
	x.p = x.s.rec.Call(x.req.Context(), trace.Call{Tool: x.r.Tool, Role: x.r.Role, Args: in.Args, Key: key})
	var f Fault
	if x.r.Role == trace.RoleAttempt {
		f, x.a = x.s.arrive(x.r.tool, x.p)
	}
	return x.answer(&f)
}

// answer plays the fault.
func (x *exchange) answer(f *Fault) (*http.Response, error) {
	ctx := x.req.Context()
	if f.Done {
		x.work()
	}
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang, Deaf: f.Deaf}
	if ended := timing.Play(ctx, nil, x.p); ended != 0 {
		x.over(trace.Outcome{Class: ended}, nil, ctx.Err())
		return nil, context.Cause(ctx)
	}
	reply := x.reply(f)
	resp, err := reply.Respond(x.req, time.Now())
	if err != nil {
		x.over(reply.Outcome(), nil, err)
		return nil, err
	}
	x.deliver(f, &reply, resp)
	return resp, nil
}

// deliver lets the answer end with the response's body.
func (x *exchange) deliver(f *Fault, reply *double.Reply, resp *http.Response) {
	o := reply.Outcome()
	o.Hint, o.Slack = reply.Hint.Sent(time.Now())
	var failure error
	if o.Failed() {
		failure = errors.New(resp.Status)
	}
	ctx := x.req.Context()
	if f.Deaf {
		ctx = nil
	}
	double.Deliver(ctx, resp, func(ended trace.Class) {
		if ended != 0 {
			o.Class = ended
		}
		content := reply.Content()
		if o.Class == trace.OK {
			content = canonical(content)
		}
		x.over(o, content, failure)
	})
}

// canonical is the canonical form of a success. Trial after trial a route
// answers the same, so the latest one is kept.
func canonical(body []byte) []byte {
	if c := latestBody.Load(); c != nil && bytes.Equal(c.body, body) {
		return c.canonical
	}
	c := &canonicalBody{bytes.Clone(body), trace.Canonical(body)}
	latestBody.Store(c)
	return c.canonical
}

type canonicalBody struct{ body, canonical []byte }

var latestBody atomic.Pointer[canonicalBody]

// reply is the answer that the fault plans: the route's own, or the usual one
// for its class.
func (x *exchange) reply(f *Fault) double.Reply {
	usual := double.Reply{Class: f.class()}
	h := x.r.Failures[f.Class]
	if usual.Class == trace.OK {
		h = x.r.Answer
		if !f.Done {
			x.work()
		}
	}
	if h != nil {
		own := double.Serve(h, x.req, x.in)
		own.Class = usual.Class
		usual = own
	}
	usual.Hint = double.Hint{Wait: f.Hint, Form: f.form()}
	return usual
}

// form is the hint's form on the wire.
func (f *Fault) form() double.HintForm {
	switch {
	case f.Hint <= 0:
		return double.HintNone
	case f.Form == HintDate:
		return double.HintDate
	case f.Form == HintMillis:
		return double.HintMillis
	}
	return double.HintSeconds
}

// work records the effect, once for each key.
func (x *exchange) work() {
	if _, done := x.s.stored(x.r.tool, x.p.Key()); done {
		return
	}
	x.p.Effect()
	x.s.store(x.r.tool, x.p.Key(), true)
}

// over records the answer once: at the end of its body, or when there is none.
func (x *exchange) over(o trace.Outcome, result []byte, err error) {
	x.once.Do(func() {
		x.p.Answer(o, result, err)
		if x.r.Role == trace.RoleAttempt {
			x.s.answered(x.a, nil, callError{x.p.Number(), err, o.Code != ""})
		}
	})
}
