package faultsim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A change is what a saboteur does to the arguments of a call.
type change uint8

const (
	asIs     change = iota
	argument        // one value is another
	freshKey        // the idempotency key is another
	keyLost         // there is no idempotency key
)

// A reply is what a tool answered.
type reply struct {
	out any
	err error
	o   trace.Outcome
	ok  bool // the call could be made, with that change
}

// A visit is one call of a tool by the code under test, on its way through a
// saboteur.
type visit struct {
	s    *Stage
	t    *tool
	ctx  context.Context
	args string // what is asked, to tell a repeat from the next request
	send func(context.Context, change) reply
	can  func(change) bool

	v     *saboteur
	stint *stint
	lane  *lane
	given time.Duration // that the code gave the attempt itself; 0: only the caller's
}

// between puts the trial's saboteur between the code and a function tool.
func between[In, Out any](s *Stage, t *tool, play func(context.Context, In) (Out, trace.Outcome, error)) trace.Func[In, Out] {
	v := s.saboteur
	send := func(ctx context.Context, in In) reply {
		out, o, err := play(ctx, in)
		return reply{out, err, o, true}
	}
	v.offer(t.name, func(ctx context.Context) reply {
		var in In
		return send(ctx, in)
	})
	return func(ctx context.Context, in In) (Out, error) {
		if ctx == nil {
			var none Out
			return none, s.misused(fmt.Errorf("faultsim: %s was called with a nil context: hand the caller's context on", t.name))
		}
		changed := func(c change) (In, bool) { return changeOf(in, c, s.rec.Key) }
		r := v.meet(&visit{
			s: s, t: t, ctx: ctx, args: string(double.JSON(in)),
			send: func(ctx context.Context, c change) reply {
				in, ok := changed(c)
				if !ok {
					return reply{}
				}
				return send(ctx, in)
			},
			can: func(c change) bool { _, ok := changed(c); return ok },
		})
		out, _ := r.out.(Out)
		return out, r.err
	}
}

// trip puts the saboteur between the code and an HTTP tool. The body of the answer
// is read here, so that what comes behind it comes behind the attempt.
func (v *saboteur) trip(s *Stage, r *route, req *http.Request) (*http.Response, error) {
	body, unreadable := drain(req)
	send := func(ctx context.Context, c change) reply {
		again, ok := changedRequest(req.Clone(ctx), body, c, s.rec.Key)
		if !ok {
			return reply{}
		}
		if unreadable != nil {
			again.Body = bodyOf(body, unreadable)
		}
		x := &exchange{s: s, r: r, req: again}
		resp, err := x.run()
		if err != nil {
			return reply{nil, err, x.saw, true}
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = bodyOf(answer, err)
		return reply{resp, nil, x.saw, true}
	}
	got := v.meet(&visit{
		s: s, t: r.tool, ctx: req.Context(), args: req.Method + " " + req.URL.String() + "\n" + string(body), send: send,
		can: func(c change) bool { _, ok := changedRequest(req.Clone(req.Context()), body, c, s.rec.Key); return ok },
	})
	resp, _ := got.out.(*http.Response)
	return resp, got.err
}

// bodyOf is a body that ends with an error, where there is one.
func bodyOf(content []byte, err error) io.ReadCloser {
	if err == nil {
		return io.NopCloser(bytes.NewReader(content))
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(content), &broken{err}))
}

// broken is the end of a body that breaks off.
type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) { return 0, b.err }

// drain reads the body of a request, for calls of it that are made again.
func drain(req *http.Request) (body []byte, err error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err = io.ReadAll(req.Body)
	req.Body.Close()
	return body, err
}

// changedRequest gives the request the body, and makes the change; false: it
// cannot be made.
func changedRequest(req *http.Request, body []byte, c change, path string) (*http.Request, bool) {
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	switch c {
	case asIs:
		return req, true
	case argument:
		query := req.URL.Query()
		query.Set("sabotaged", "1")
		req.URL.RawQuery = query.Encode()
		return req, true
	}
	for _, header := range [...]string{double.KeyHeader, path} {
		if header == "" || req.Header.Get(header) == "" {
			continue
		}
		if c == keyLost {
			req.Header.Del(header)
		} else {
			req.Header.Set(header, otherKey)
		}
		return req, true
	}
	changed, ok := changedJSON(body, c, path)
	if ok {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	}
	return req, ok
}

// failure is the error of a reply that failed, also where it is a status or a value.
func (r reply) failure(tool string) error {
	if r.err != nil || !r.o.Failed() {
		return r.err
	}
	if resp, ok := r.out.(*http.Response); ok {
		return fmt.Errorf("%s: %s", tool, strings.ToLower(resp.Status))
	}
	return fmt.Errorf("%s: %v", tool, r.o.Class)
}

// zeroOf is the zero value of the type that v has; nil of none.
func zeroOf(v any) any {
	if v == nil {
		return nil
	}
	return reflect.Zero(reflect.TypeOf(v)).Interface()
}
