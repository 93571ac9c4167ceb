package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Transport serves a model over HTTP in one provider's API, without a network. It
// may be used by several goroutines at once if the model may.
type Transport struct {
	Format Format

	// Model answers a request that was read and not rejected. An error is answered in
	// the provider's shape for its class, by [trace.Classify], with its text as the
	// message; one of a connection breaks the connection. A reply beside an error is
	// what a stream has told by then.
	Model func(context.Context, *Ask) (trace.Reply, error)

	// Rejected is told of each request that is rejected; the Ask is nil where it
	// could not be read. Nil: nobody is.
	Rejected func(context.Context, *Ask, *Rejection)

	// Lenient takes what the real provider would reject, where it can be read.
	Lenient bool

	Memory
}

// A Memory is what a double remembers of its answers.
type Memory struct {
	mu       sync.Mutex
	requests int
	given    map[string]int
}

// Open numbers a request and tells it the ids that the double has given.
func (m *Memory) Open(a *Ask, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	a.Number, a.At, a.Given = m.requests, at, make(map[string]int, len(m.given))
	for id, n := range m.given {
		a.Given[id] = n
	}
}

// Gives remembers the ids of a reply.
func (m *Memory) Gives(said trace.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.given == nil {
		m.given = map[string]int{}
	}
	for _, c := range said.Calls {
		m.given[c.ID]++
	}
}

// RoundTrip answers one request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	in, err := double.Capture(req, double.Fields{})
	switch {
	case req.Context().Err() != nil:
		return nil, context.Cause(req.Context())
	case err != nil:
		return nil, err
	case !t.Format.Match(req):
		return nil, fmt.Errorf("%s %s%s is no request of this model's API: hand the client to the SDK of its provider", in.Method, in.Host, in.Path)
	}
	reply, err := t.answer(req, in.Body)
	if err != nil {
		return nil, err
	}
	resp, err := reply.Respond(req, time.Now())
	if err != nil {
		return nil, err
	}
	double.Deliver(req.Context(), resp, func(trace.Class) {})
	return resp, nil
}

func (t *Transport) answer(req *http.Request, body []byte) (double.Reply, error) {
	a, why := Hear(t.Format, &t.Memory, req, body)
	if why != nil && (a == nil || !t.Lenient) {
		if t.Rejected != nil {
			t.Rejected(req.Context(), a, why)
		}
		return Rejects(t.Format, why), nil
	}
	said, err := t.Model(req.Context(), a)
	switch {
	case err == nil:
		out, err := Reply(t.Format, a, said)
		t.Gives(said)
		return out.Reply, err
	case req.Context().Err() != nil:
		return double.Reply{}, context.Cause(req.Context())
	case a.Stream && (said.Text != "" || len(said.Calls) > 0):
		return t.breaks(a, said, err), nil
	}
	return t.fails(err), nil
}

// Hear reads a request and holds it to what the provider demands. Where it is
// rejected the Ask may be nil.
func Hear(f Format, m *Memory, req *http.Request, body []byte) (*Ask, *Rejection) {
	a, err := f.Decode(req, body)
	if err != nil {
		why, ok := errors.AsType[*Rejection](err)
		if !ok {
			why = &Rejection{Text: err.Error()}
		}
		return nil, why
	}
	a.nameResults()
	m.Open(a, time.Now())
	return a, f.Strict(a)
}

func (t *Transport) fails(err error) double.Reply {
	o := trace.Classify(err)
	reply := Fails(t.Format, o.Class, err.Error(), o.Hint)
	reply.Hint = Wait(o.Hint)
	return reply
}

// Wait is a wait in the header: in seconds, and where that says it wrong in
// milliseconds.
func Wait(d time.Duration) double.Hint {
	switch {
	case d <= 0:
		return double.Hint{}
	case d%time.Second == 0:
		return double.Hint{Form: double.HintSeconds, Wait: d}
	}
	return double.Hint{Form: double.HintMillis, Wait: d}
}

// breaks is a stream that has begun and does not end well: with the provider's event
// for the class, or with a broken connection.
func (t *Transport) breaks(a *Ask, said trace.Reply, err error) double.Reply {
	list := t.Format.Stream(a, said)
	list = list[:Begun(t.Format, list)]
	out := double.Reply{Class: trace.Reset, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}}
	out.Body = bytes.Join(list, nil)
	if last, ok := t.Format.Broken(trace.Classify(err).Class, err.Error()); ok {
		out.Body = append(out.Body, last...)
		return out
	}
	out.Cut, out.CutAt = true, len(out.Body)
	out.Body = append(out.Body, "\n"...) // which never comes
	return out
}
