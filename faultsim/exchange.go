package faultsim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// An exchange is one request and its answer.
type exchange struct {
	s     *Stage
	r     *route
	req   *http.Request
	in    *double.Request
	p     trace.Pending
	a     *act
	once  sync.Once
	read  atomic.Bool // the body has been read to its end or closed
	empty bool        // the answer holds nothing, as planned
	turn  *modelTurn  // of a model; nil: a tool's

	// The answer as it was sent, once there is one.
	o       trace.Outcome
	content []byte
	failure error
	saw     trace.Outcome // what the caller saw of it in the end

	asked []trace.Item // of a batch
	order []string     // the items of the action, as it first sent them
}

func (x *exchange) run() (*http.Response, error) {
	if err := x.unsent(); err != nil {
		return nil, err
	}
	in, err := double.Capture(x.req, double.Fields{Key: x.s.rec.Key, Volatile: x.r.Volatile, Borrow: true})
	x.in = in
	key := in.Key
	if h := in.Header.Get(x.s.rec.Key); key == "" && h != "" {
		key = h
	}
	call := trace.Call{Tool: x.r.Tool, Role: x.r.Role, Args: in.Args, Key: key, Credential: trace.Bearer(in.Header, x.s.policy.Refresh.Credential)}
	call.Definition = x.s.known(call.Tool)
	if x.r.Batch != nil {
		x.asked = x.r.Batch.asked(in.Body)
		call.Items = trace.ItemsOf(x.asked...)
	}
	x.p = x.s.reached(x.req.Context(), call)
	if x.r.Batch != nil {
		x.order = x.s.sent(x.r.tool, x.p, x.asked)
	}
	var f Fault
	if x.r.Role == trace.RoleAttempt {
		f, x.a = x.s.arrive(x.r.tool, x.p)
	}
	if err != nil {
		return nil, x.unsendable(err)
	}
	return x.answer(&f)
}

// unsent is why no request reaches the double: its process is dead, or its context
// over, in which net/http's own transport does not send it. Nil: it does.
func (x *exchange) unsent() error {
	if x.s.gone() {
		return x.s.buried()
	}
	ctx := x.req.Context()
	if ctx.Err() == nil || x.s.unsent.Add(1) > int64(x.s.limit) {
		return nil
	}
	if x.req.Body != nil {
		x.req.Body.Close()
	}
	return context.Cause(ctx)
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
	if ended := x.s.enter(x.r.tool, f, ctx); ended != 0 {
		x.over(trace.Outcome{Class: ended}, nil, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	defer x.s.leave(x.r.tool)
	if r := x.s.reception(x.r.tool); r != nil && x.r.Role == trace.RoleAttempt {
		v, ended := r.visit(ctx, x.s.place(x.p), f)
		if ended != 0 {
			if v.worksOn(f) {
				x.workBehind(v, f)
			}
			x.over(trace.Outcome{Class: ended}, nil, context.Cause(ctx))
			return nil, context.Cause(ctx)
		}
	} else {
		x.s.gathers(f)
	}
	switch {
	case f.Work > 0:
		x.workLater(f)
	case f.Done:
		x.deliverWork(f)
	}
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang && f.Body == 0, Deaf: f.Deaf}
	ended := timing.Play(ctx, nil, x.p)
	if x.s.gone() {
		_ = x.reply(f) // the tool has worked on, and nobody hears of it
		return nil, x.s.buried()
	}
	if ended != 0 {
		x.over(trace.Outcome{Class: ended}, nil, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	reply := x.reply(f)
	if f.Body > 0 && len(reply.Content()) == 0 {
		return x.halfway(f)
	}
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
	if x.r.Batch != nil && (x.o.Class == trace.OK || x.o.Class == trace.Partial) {
		x.o.Items = trace.ItemsOf(x.went(f)...)
	}
	x.o.Hint, x.o.Slack = reply.Hint.Sent(time.Now())
	x.o.Advice = f.Advice
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
	switch interrupted {
	case 0:
		x.over(o, x.content, x.failure)
		return
	case trace.Reset:
		x.failure = io.ErrUnexpectedEOF
	default:
		x.failure = context.Cause(x.req.Context())
	}
	o.Class, o.Code = interrupted, "" // the status was no answer
	x.over(o, nil, x.failure)
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
	usual := double.Reply{Class: f.class(), Pieces: f.pieces()}
	if x.r.Batch != nil && (usual.Class == trace.OK || f.Items != "") {
		return x.itemised(f)
	}
	h := x.r.Failures[f.Class]
	if f.Body > 0 {
		usual.Class = trace.OK // as the status says
	}
	if usual.Class == trace.OK {
		h = x.r.Answer
		if x.empty = f.Empty; x.empty {
			h = x.r.Empty
		} else if !f.works() {
			x.deliverWork(f)
		}
	}
	if h != nil {
		own := x.served(h)
		own.Class, own.Pieces = usual.Class, usual.Pieces
		usual = own
	}
	if f.Say != "" {
		usual.Body = double.Saying(usual.Class, f.Say)
	}
	if f.Advice != trace.AdviceNone {
		if usual.Header = usual.Header.Clone(); usual.Header == nil {
			usual.Header = http.Header{}
		}
		usual.Header.Set(x.r.Advice, strconv.FormatBool(f.Advice == trace.AdviceRetry))
	}
	usual.Hint = f.hint()
	return usual
}

// work records the effect, once for each key.
func (x *exchange) work() {
	if x.s.first(x.r.tool, x.p.Key()) {
		x.p.Effect()
	}
}

// over records the answer once: at the end of its body, or when there is none.
func (x *exchange) over(o trace.Outcome, result []byte, err error) {
	x.once.Do(func() {
		x.saw = o
		if x.s.gone() {
			return
		}
		if x.turn != nil {
			x.turn.over(o, err)
			return
		}
		x.a.tells(func() {
			if x.r.Role == trace.RoleAttempt {
				x.s.answered(x.a, answer{empty: x.empty}, callError{call: x.p.Number(), err: err, status: o.Code != ""})
			}
			x.p.Answer(o, result, err)
		})
	})
}
