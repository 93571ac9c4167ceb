package faultsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

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

	// Empty answers that there is nothing, which is a valid answer; nil: the tool
	// has no such answer, and no schedule plans one.
	Empty http.Handler

	// Batch makes it a tool that does several items in one request and answers
	// for each. Nil: it is none.
	Batch *RouteBatch

	// Failures are the tool's own answers for classes, in place of the usual
	// ones; a nil handler says that the class cannot happen. Classes that only
	// a body tells apart (quota-exhausted, declined, partial) and unknown can
	// happen only where they are listed here.
	Failures map[trace.Class]http.Handler

	// Hints are the forms in which the tool asks for a wait. Nil: Retry-After
	// in the two forms of RFC 9110 section 10.2.3, seconds and an HTTP-date.
	// Empty and not nil: it never asks. HintMillis and HintSkewed ask more of a
	// client and are there where they are listed.
	Hints []HintForm

	// Advice is the header in which the tool says of a failing answer whether it may
	// be asked again, true or false, as in "X-Should-Retry". Empty: it does not say.
	Advice string

	// Streams: the body of a success comes in pieces, over time, and may break
	// or stop half-way. Faults with a Body can then happen, and are drawn. Not for a
	// Batch.
	Streams bool

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
		r.tool = &tool{name: r.Tool, skills: r}
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

func (r *route) forms() []HintForm { return r.Hints }

// unusable reports hints and classes that do not exist.
func (r *route) unusable() error {
	for _, f := range r.Hints {
		if !slices.Contains(hintForms, f) {
			return fmt.Errorf("Route.Hints lists %q: say HintSeconds, HintDate, HintSkewed or HintMillis", f)
		}
	}
	if err := r.Batch.unusable(); err != nil {
		return err
	}
	for c := range r.Failures {
		if !fails(c) {
			return fmt.Errorf("Route.Failures lists %v, which is no class of failure: take it out", c)
		}
	}
	return nil
}

func (r *route) can(f *Fault) bool {
	if f.Hint > 0 && !slices.Contains(r.Hints, f.Form) {
		return false
	}
	if f.Body > 0 {
		return r.Streams && r.Batch == nil && !f.packed() && !f.Empty && !f.gives()
	}
	if f.Items != "" {
		return r.canItems(f)
	}
	if f.Empty {
		return r.Empty != nil
	}
	if f.class() == trace.OK || f.Hang {
		return true
	}
	h, own := r.Failures[f.Class]
	if f.Hint > 0 && !own && !(double.Reply{Class: f.Class}).Connects() {
		return false // there is no answer that could ask for it
	}
	if f.Advice != trace.AdviceNone && (r.Advice == "" || !own && !double.Speaks(f.Class)) {
		return false // there is no answer in which it could say so
	}
	if f.packed() && (own || f.Wrap != WrapNone || !double.Speaks(f.Class)) {
		return false // an answer of the tool's own has its own words
	}
	if own {
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
			if t.s.saboteur != nil && r.Role == trace.RoleAttempt {
				return t.s.saboteur.trip(t.s, r, req)
			}
			return (&exchange{s: t.s, r: r, req: req}).run()
		}
	}
	if req.Body != nil {
		req.Body.Close()
	}
	err := fmt.Errorf("faultsim: no route for %s %s%s: add a Route for it to Stage.Client", req.Method, req.URL.Host, req.URL.Path)
	return nil, t.s.misused(err)
}
