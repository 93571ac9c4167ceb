package faultsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/internal/wire"
	"github.com/rehearse-go/rehearse/trace"
)

// Client returns an HTTP client that speaks the provider's API, for the SDK with
// which a loop asks its model: openai-go and anthropic-sdk-go take it by
// option.WithHTTPClient, genai by ClientConfig.HTTPClient. Only the path of a request
// tells what it is, so that the SDK's base URL and key may be any.
//
// The model is the same as that of [Model.Reply], in schedules and in traces: a
// request of the SDK is a physical call, its retries included. Failures look as the
// provider's own; what it says of a wait is in its headers and, of Gemini, in
// the body. Whether a turn comes as a stream the request says, and with
// [Script].Streams schedules break streams: within the last call where its arguments
// come in fragments, or with the provider's event of a failure. Anthropic's whole
// answers have no arguments that are no JSON: a turn that a move would make so is as the
// script says. Gemini answers MALFORMED_FUNCTION_CALL in their place.
//
// A conversation that the provider would reject, such as a call without its result, is
// rejected with its words, as trace.Invalid with [CodeConversation], unless the
// [Script] is Lenient. Ids that the model gave twice or not at
// all are not held against the loop.
func (d *Model) Client(p Provider) *http.Client {
	api, err := p.Format()
	if err != nil {
		d.s.misused(fmt.Errorf("faultsim: model %q: Client: %w", d.t.name, err))
		api, _ = OpenAIChat.Format()
	}
	d.s.mu.Lock()
	d.t.skills = speaking{thinking{d.script}, p, api}
	d.s.mu.Unlock()
	route := &route{Route: Route{Tool: d.t.name, Role: trace.RoleModel}, tool: d.t}
	return &http.Client{Transport: &modelTransport{d: d, api: api, route: route}}
}

// modelTransport is a model as an http.RoundTripper.
type modelTransport struct {
	d      *Model
	api    wire.Format
	route  *route
	memory wire.Memory
}

// RoundTrip answers one request.
func (t *modelTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	u := &modelTurn{d: t.d, t: t}
	u.x = &exchange{s: t.d.s, r: t.route, req: req, turn: u}
	return u.run()
}

// A modelTurn is one request for a turn of a model, and its answer.
type modelTurn struct {
	d *Model
	t *modelTransport
	x *exchange

	ask   *wire.Ask
	body  []byte       // of the answer, where it has a reply
	taken atomic.Int64 // how much of it has been read
	whole atomic.Bool  // all of it has been read

	refused bool // no provider would take the request
}

func (u *modelTurn) run() (*http.Response, error) {
	x, s := u.x, u.d.s
	if err := x.unsent(); err != nil {
		return nil, err
	}
	in, err := double.Capture(x.req, double.Fields{})
	if !u.t.api.Match(x.req) {
		return nil, s.misused(fmt.Errorf("faultsim: the client of model %q is asked for %s %s%s, which is no turn of its provider's API: hand it to the SDK of the provider that Client names", u.d.t.name, in.Method, in.Host, in.Path))
	}
	ask, why := wire.Hear(u.t.api, &u.t.memory, x.req, in.Body)
	call := trace.Call{Tool: u.d.t.name, Role: trace.RoleModel, Definition: u.d.script.Version}
	if u.ask = ask; ask != nil {
		call.Prompt = &ask.Prompt
	}
	if ask != nil && u.d.script.Lenient {
		why = nil
	}
	u.refused = why != nil
	x.p = s.reached(x.req.Context(), call)
	f, a := s.arrive(u.d.t, x.p)
	x.a = a
	if err != nil {
		return nil, x.unsendable(err)
	}
	return u.answer(&f, why)
}

// answer plays the fault.
func (u *modelTurn) answer(f *Fault, why *wire.Rejection) (*http.Response, error) {
	x, ctx := u.x, u.x.req.Context()
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang && f.Body == 0, Deaf: f.Deaf}
	ended := timing.Play(ctx, nil, x.p)
	switch {
	case u.d.s.gone():
		return nil, u.d.s.buried()
	case ended != 0:
		x.over(trace.Outcome{Class: ended}, nil, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	reply, err := u.reply(f, why)
	if err != nil {
		x.over(trace.Outcome{Class: trace.Unknown}, nil, err)
		return nil, u.d.s.misused(fmt.Errorf("faultsim: model %q: %w", u.d.t.name, err))
	}
	resp, err := reply.Respond(x.req, time.Now())
	if err != nil {
		x.over(reply.Outcome(), nil, err)
		return nil, err
	}
	u.deliver(f, &reply, resp)
	return resp, nil
}

// reply is the answer: a failure before the first word, a rejection, or the model's
// turn.
func (u *modelTurn) reply(f *Fault, why *wire.Rejection) (double.Reply, error) {
	switch {
	case !f.whole() && f.Body == 0:
		out := wire.Fails(u.t.api, f.Class, f.Say, f.Hint)
		out.Hint = f.hint()
		return out, nil
	case why != nil:
		return wire.Rejects(u.t.api, why), nil
	case f.gives() && !u.ask.Stream:
		return wire.Fails(u.t.api, f.Class, "", 0), nil // it has said nothing yet
	}
	said := u.d.turn(u.x.a, f.Move, &u.ask.Prompt)
	out, err := wire.Reply(u.t.api, u.ask, said)
	if err != nil { // the API cannot carry what a move made of the turn
		said = u.d.behaved(u.x.a, &u.ask.Prompt)
		out, err = wire.Reply(u.t.api, u.ask, said)
	}
	if err != nil {
		return double.Reply{}, err
	}
	u.t.memory.Gives(said)
	u.body = out.Body
	out.Pieces = f.pieces()
	if u.ask.Stream && !f.whole() {
		u.breaks(f, &out)
	}
	return out.Reply, nil
}

// breaks lets a stream break off half-way: within an event, or with the one in which
// the provider gives up.
func (u *modelTurn) breaks(f *Fault, out *wire.Answer) {
	n := wire.Cut(u.t.api, out.Events)
	said := bytes.Join(out.Events[:n], nil)
	if f.gives() {
		last, _ := u.t.api.Broken(f.Class, "")
		out.Class, out.Body = f.Class, append(said, last...)
		u.body = out.Body
		return
	}
	out.Pieces.Half = len(said) + len(out.Events[n])/2
}

// deliver lets the turn end with the response's body.
func (u *modelTurn) deliver(f *Fault, reply *double.Reply, resp *http.Response) {
	x := u.x
	x.o = reply.Outcome()
	x.o.Hint, x.o.Slack = reply.Hint.Sent(time.Now())
	switch {
	case f.gives() && u.body != nil:
		x.o.Code = "" // the status was no answer
		x.failure = errors.New("the provider gave up within the stream")
	case u.refused && x.o.Class == trace.Invalid:
		x.o.Code, x.failure = CodeConversation, errors.New(resp.Status)
	case x.o.Failed():
		x.failure = errors.New(resp.Status)
	}
	ctx := x.req.Context()
	if f.Deaf {
		ctx = nil
	}
	x.s.delivers(x)
	b := &modelBody{ReadCloser: resp.Body, u: u}
	double.Deliver(ctx, resp, func(interrupted trace.Class) {
		u.whole.Store(interrupted == 0 && !b.left.Load())
		x.ends(interrupted)
	})
	resp.Body = b
	if resp.StatusCode >= http.StatusBadRequest {
		x.rest() // the status is the answer, whether or not somebody reads on
	}
}

// A modelBody counts what is read of an answer.
type modelBody struct {
	io.ReadCloser
	u    *modelTurn
	left atomic.Bool // it was closed
}

func (b *modelBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.u.taken.Add(int64(n))
	return n, err
}

func (b *modelBody) Close() error {
	b.left.Store(true)
	return b.ReadCloser.Close()
}

// errLeft is the end of a stream that the program left before its end.
var errLeft = errors.New("the program closed the stream before its end")

// over records what the program got of the turn.
func (u *modelTurn) over(o trace.Outcome, err error) {
	p := u.x.p
	if u.body == nil || u.ask == nil {
		p.Answer(o, nil, err)
		return
	}
	all := u.t.api.Read(u.body)
	if u.whole.Load() && o.Class == trace.OK {
		p.Reply(all)
		return
	}
	got := all
	if !u.whole.Load() {
		got = u.t.api.Read(u.body[:min(int(u.taken.Load()), len(u.body))])
	}
	switch {
	case o.Class == trace.OK && sameReply(got, all):
		p.Reply(all) // what is left unread says nothing
	case o.Class == trace.OK:
		p.Break(trace.Outcome{Class: trace.Cancelled}, got, errLeft)
	default:
		p.Break(o, got, err)
	}
}

// sameReply reports whether two readings are of one reply.
func sameReply(a, b trace.Reply) bool {
	return a.Text == b.Text && a.Stop == b.Stop && fmt.Sprint(a.Calls) == fmt.Sprint(b.Calls)
}
