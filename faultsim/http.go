package faultsim

import (
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

	// Volatile are the fields of the body that differ between attempts by
	// nature, such as signatures and timestamps, as dotted paths; they are
	// left out of what is compared.
	Volatile []string

	// Hints are the forms in which the server asks for a wait. Nil: all of them.
	Hints []HintForm

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
		r.tool = &tool{name: r.Tool, can: r.can, hints: true}
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
	if f.class() == trace.OK || f.Hang {
		return true
	}
	if f.Hint > 0 && r.Hints != nil && !slices.Contains(r.Hints, f.Form) {
		return false
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
	read atomic.Bool // the body has been read to its end or closed, or there is none
	rest func()      // records the answer without its body
}

func (x *exchange) run() (*http.Response, error) {
	in, err := double.Capture(x.req, double.Fields{Key: x.s.policy.Key, Volatile: x.r.Volatile})
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
	if err != nil {
		return nil, x.unsent(err)
	}
	return x.answer(&f)
}

// unsent records a request that net/http's transport would refuse to send,
// such as one whose body an earlier attempt has spent. It is an attempt all
// the same, and its arguments show what is wrong with it.
func (x *exchange) unsent(err error) error {
	o := trace.Outcome{Class: trace.NotConnected}
	if ended := double.Ended(x.req.Context()); ended != 0 {
		o.Class = ended
	}
	x.over(o, nil, err)
	return err
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
	reply, own := x.reply(f)
	resp, err := own, error(nil)
	if resp == nil {
		resp, err = reply.Respond(x.req, time.Now())
	}
	o := reply.Outcome()
	if own != nil {
		o.Code = fmt.Sprint(own.StatusCode)
	}
	if err != nil {
		x.over(o, nil, err)
		return nil, err
	}
	var failure error
	if o.Failed() {
		failure = errors.New(resp.Status)
	}
	if f.Deaf {
		ctx = nil
	}
	result := trace.Canonical(double.Body(resp))
	x.rest = func() { x.over(o, result, failure) }
	x.s.delivers(x)
	double.Deliver(ctx, resp, func(ended trace.Class) {
		x.read.Store(true)
		if ended != 0 {
			o.Class = ended
		}
		x.over(o, result, failure)
	})
	if resp.StatusCode >= http.StatusBadRequest {
		x.rest() // the status is the answer, whether or not somebody reads on
	}
	return resp, nil
}

// delivers notes a response whose body is now the caller's to close.
func (s *Stage) delivers(x *exchange) {
	if x.a == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, x)
}

// leaves ends the answers whose bodies an action leaves unread as it ends: it
// has gone by the status.
func (s *Stage) leaves(a *act) {
	s.mu.Lock()
	bodies := s.bodies
	s.mu.Unlock()
	for _, x := range bodies {
		if x.a == a && !x.read.Load() {
			x.rest()
		}
	}
}

// unclosed records the bodies that keep their connections: those that nobody
// has read to the end or closed, and whose context has not ended.
func (s *Stage) unclosed() {
	s.mu.Lock()
	bodies := s.bodies
	s.mu.Unlock()
	for _, x := range bodies {
		if !x.read.Load() && x.req.Context().Err() == nil {
			x.a.op.Trouble(trace.KindLeak, fmt.Sprintf("the body of call %d, an answer of %s, was neither read to its end nor closed", x.p.Number(), x.r.Tool))
		}
	}
}

// reply is the answer that the fault plans: the usual one for its class, or
// the route's own.
func (x *exchange) reply(f *Fault) (reply double.Reply, own *http.Response) {
	reply = double.Reply{Class: f.class(), Hint: f.hint()}
	if reply.Class == trace.OK {
		if !f.Done {
			x.work()
		}
		if x.r.Answer == nil {
			return reply, nil
		}
		return reply, double.Serve(x.r.Answer, x.req, x.in)
	}
	if h := x.r.Failures[f.Class]; h != nil {
		own = double.Serve(h, x.req, x.in)
		reply.Hint.Write(own.Header, time.Now())
	}
	return reply, own
}

// skew is how far the clock of a skewed server is behind.
const skew = 5 * time.Minute

// hint is the hint as it is written.
func (f *Fault) hint() double.Hint {
	h := double.Hint{Wait: f.Hint, Form: f.form()}
	if f.Form == HintSkewed {
		h.Offset = -skew
	}
	return h
}

// form is the hint's form on the wire.
func (f *Fault) form() double.HintForm {
	switch {
	case f.Hint <= 0:
		return double.HintNone
	case f.Form == HintDate, f.Form == HintSkewed:
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
		if x.r.Role == trace.RoleAttempt {
			x.s.answered(x.a, nil, callError{x.p.Number(), err, o.Code != ""})
		}
		x.p.Answer(o, result, err)
	})
}
