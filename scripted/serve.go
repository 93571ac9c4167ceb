package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// serve answers one request.
func (r *Route) serve(req *http.Request) (*http.Response, error) {
	got, refused := double.Capture(req, r.fields)
	ctx := req.Context()
	call := trace.Call{Args: got.Args, Key: got.Key, Credential: trace.Bearer(got.Header, r.rec.Credential)}
	a := r.arrive(ctx, call, func() { r.note(got) })
	switch {
	case a.step == nil:
		r.t.Helper()
		return nil, r.extra(a, r.arguments(got.Args))
	case refused != nil:
		return nil, refuse(ctx, a.Pending, refused)
	}
	say := &a.step.Answer
	if say.done {
		r.early(say, a)
	}
	if class := a.step.Timing.Play(ctx, r.waits(), a.Pending); class != 0 {
		err := context.Cause(ctx)
		a.Answer(trace.Outcome{Class: class}, nil, err)
		return nil, err
	}
	if say.panics {
		a.Answer(trace.Outcome{Class: trace.Unknown}, nil, fmt.Errorf("panic: %v", say.value))
		panic(say.value)
	}
	r.due(req, got, say, a)
	return r.send(req, a, say.reply)
}

func (r *Route) note(got *double.Request) {
	r.requests = append(r.requests, got)
	r.s.note(r.name, got)
}

// refuse answers a request that net/http's transport would not send whole.
func refuse(ctx context.Context, p trace.Pending, err error) error {
	o := trace.Classify(err)
	if class := double.Ended(ctx); class != 0 {
		o.Class = class
	}
	p.Answer(o, nil, err)
	return err
}

// early lets the effect happen at the arrival of the request.
func (r *Route) early(say *response, a arrival[response]) {
	if succeeds(say.reply) {
		r.happens(say, a)
	} else if err := r.lose(a); err != nil {
		say.reply = refusal(err)
	}
}

// due makes the reply whose time has come, and lets its effect happen.
func (r *Route) due(req *http.Request, got *double.Request, say *response, a arrival[response]) {
	returned := false
	defer a.guard(&returned)
	switch {
	case say.handler != nil && !r.counts():
		say.reply = r.run(a.step, req, got)
	case say.handler != nil:
		say.reply = r.serves(req, got, a)
	case r.counts() && !say.done && succeeds(say.reply):
		r.happens(say, a)
	}
	returned = true
}

// succeeds tells whether a reply says that the server did what it was asked.
func succeeds(r double.Reply) bool {
	return r.Connects() && r.StatusCode()/100 == 2 && r.Class != 0 && r.Class != trace.Declined
}

// happens lets the effect of a reply happen; the ledger may know an earlier
// one, which is sent again whole where it was cut.
func (r *Route) happens(say *response, a arrival[response]) {
	whole := say.reply
	whole.Cut = false
	result, err := r.happen(a, &whole)
	switch {
	case err != nil:
		say.reply = refusal(err)
	case result != any(&whole):
		say.reply = *result.(*double.Reply)
	}
}

// errNoEffect tells the ledger that an answer was no success.
var errNoEffect = errors.New("scripted: no effect")

// serves lets a handler have its effect, unless the ledger knows its key.
func (r *Route) serves(req *http.Request, got *double.Request, a arrival[response]) double.Reply {
	var reply double.Reply
	result, err := r.perform(a, func() (any, error) {
		if reply = r.run(a.step, req, got); !succeeds(reply) {
			return nil, errNoEffect
		}
		return &reply, nil
	})
	switch {
	case err == errNoEffect:
		return reply
	case err != nil:
		return refusal(err)
	}
	return *result.(*double.Reply)
}

// refusal is how a conflict in the ledger reads in HTTP.
func refusal(conflict error) double.Reply {
	return double.Reply{Class: trace.Conflict, Body: double.ErrorBody("idempotency_conflict", conflict.Error())}
}

// run lets a handler answer, and turns its panic into a broken connection.
func (r *Route) run(step *double.Step[response], req *http.Request, got *double.Request) (reply double.Reply) {
	defer func() {
		switch v := recover(); {
		case v == nil:
			return
		case v != http.ErrAbortHandler:
			r.door.Report(r.id+"panic", "scripted: %s: the handler of %s at %s panicked: %v", r.name, step.Name, step.Pos, v)
		}
		reply = double.Reply{Class: trace.Reset}
	}()
	return double.Serve(step.Answer.handler, req, got)
}

// send answers with the reply, and writes the answer down when it has ended.
func (r *Route) send(req *http.Request, a arrival[response], reply double.Reply) (*http.Response, error) {
	now := double.Now(r.waits())
	resp, err := reply.Respond(req, now)
	outcome := reply.Outcome()
	if err != nil {
		a.Answer(outcome, nil, err)
		return nil, err
	}
	if outcome.Hint == 0 {
		outcome.Hint, outcome.Slack = double.ReadHint(resp.Header, now)
	}
	var result json.RawMessage
	if !reply.Cut {
		result = reply.Content()
	}
	ctx := req.Context()
	if a.step.Timing.Deaf {
		ctx = nil
	}
	double.Deliver(ctx, resp, func(interrupted trace.Class) {
		if interrupted != 0 {
			a.Answer(trace.Outcome{Class: interrupted}, nil, context.Cause(req.Context()))
			return
		}
		a.Answer(outcome, result, nil)
	})
	return resp, nil
}
