package faultsim

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// An exchange is one request and its answer.
type exchange struct {
	s    *Stage
	r    *route
	req  *http.Request
	in   *double.Request
	p    trace.Pending
	a    *act
	once sync.Once
	read atomic.Bool // the body has been read to its end or closed

	// The answer as it was sent, once there is one.
	o       trace.Outcome
	content []byte
	failure error
}

func (x *exchange) run() (*http.Response, error) {
	if x.s.gone() {
		return nil, x.s.buried()
	}
	if ctx := x.req.Context(); ctx.Err() != nil && x.s.unsent.Add(1) <= int64(x.s.limit) {
		// net/http's own transport does not send it: no attempt reaches the tool.
		if x.req.Body != nil {
			x.req.Body.Close()
		}
		return nil, context.Cause(ctx)
	}
	in, err := double.Capture(x.req, double.Fields{Key: x.s.policy.Key, Volatile: x.r.Volatile, Borrow: true})
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
		return nil, x.unsendable(err)
	}
	return x.answer(&f)
}

// unsendable records a request that net/http's transport would refuse to
// send, such as one whose body an earlier attempt has spent. It is an attempt
// all the same, and its arguments show what is wrong with it.
func (x *exchange) unsendable(err error) error {
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
	switch {
	case f.Work > 0:
		x.workLater(f)
	case f.Done:
		x.deliverWork(f)
	}
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang, Deaf: f.Deaf}
	ended := timing.Play(ctx, nil, x.p)
	if x.s.gone() {
		_ = x.reply(f) // the tool has worked on, and nobody hears of it
		return nil, x.s.buried()
	}
	if ended != 0 {
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
	x.o, x.content = reply.Outcome(), reply.Content()
	x.o.Hint, x.o.Slack = reply.Hint.Sent(time.Now())
	if x.o.Failed() {
		x.failure = errors.New(resp.Status)
	}
	if x.o.Class == trace.OK {
		x.content = canonical(x.content)
	}
	ctx := x.req.Context()
	if f.Deaf {
		ctx = nil
	}
	x.s.delivers(x)
	double.Deliver(ctx, resp, x.ends)
	if resp.StatusCode >= http.StatusBadRequest {
		x.rest() // the status is the answer, whether or not somebody reads on
	}
}

// ends records the answer at the end of its body, or of the context in it.
func (x *exchange) ends(interrupted trace.Class) {
	x.read.Store(true)
	o := x.o
	if interrupted != 0 {
		o.Class = interrupted
	}
	x.over(o, x.content, x.failure)
}

// rest records the answer without waiting for the end of its body.
func (x *exchange) rest() { x.over(x.o, x.content, x.failure) }

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
		if !f.works() {
			x.deliverWork(f)
		}
	}
	if h != nil {
		own := double.Serve(h, x.req, x.in)
		own.Class = usual.Class
		usual = own
	}
	if f.Say != "" {
		usual.Body = double.Saying(usual.Class, f.Say)
	}
	usual.Hint = f.hint()
	return usual
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
		if x.s.gone() {
			return
		}
		// In this order: an action that ends between the two has the error to keep.
		if x.r.Role == trace.RoleAttempt {
			x.s.answered(x.a, answer{}, callError{call: x.p.Number(), err: err, status: o.Code != ""})
		}
		x.p.Answer(o, result, err)
	})
}
