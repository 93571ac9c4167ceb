package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Route is one tool of a [Server]: what it answers to a method, host and
// path. Its script is a strict queue, as that of a [Tool]. Steps are added by
// [Route.Status], [Route.JSON], [Route.Text], [Route.InvalidJSON],
// [Route.Fail], [Route.Reset], [Route.NotConnected], [Route.Lose],
// [Route.Hang], [Route.Panic] and [Route.Handle], and the step that was added
// last is changed by [Route.Times], [Route.Any], [Route.After], [Route.Deaf],
// [Route.Done], [Route.Means] and [Route.CutShort].
//
// An answer is written down when its body has been read to the end or closed:
// until then the attempt is in flight.
type Route struct {
	desk[response]
	s                  *Server
	method, host, path string
	requests           []*double.Request
}

// A response is what a step of a route does.
type response struct {
	reply   double.Reply
	handler http.Handler // nil: reply is the answer
	panics  bool
	value   any  // of the panic
	done    bool // the effect happens when the request arrives
}

// Named gives the tool that the route is a name; by default it is
// "POST api.pay.test/v1/charges".
func (r *Route) Named(name string) *Route {
	r.name = name
	return r
}

// As says what the requests are for: [trace.RoleAuth] or
// [trace.RoleReconcile] are written down and are no attempts.
func (r *Route) As(role trace.Role) *Route {
	r.role = role
	return r
}

// Ledger lets the route's effects be counted by l, and be deduplicated where l
// does that. An effect is an answer with a status of 2xx, unless it means
// [trace.Declined], and every step that is Done or Lost. Routes of another role
// than [trace.RoleAttempt] are not counted.
func (r *Route) Ledger(l *Ledger) *Route {
	r.ledger = l
	return r
}

// Key names the field that holds the idempotency key where the header
// Idempotency-Key does not: a dotted path, "body.request_id" or "query.key".
func (r *Route) Key(path string) *Route {
	r.fields.Key = path
	return r
}

// Volatile names fields, by dotted paths such as "query.signature" and
// "body.meta.sent_at", that differ between attempts by nature: they are not
// compared. Header fields are never compared.
func (r *Route) Volatile(paths ...string) *Route {
	r.fields.Volatile = append(r.fields.Volatile[:len(r.fields.Volatile):len(r.fields.Volatile)], paths...)
	return r
}

// AllowUnused lets steps stay unused without a report.
func (r *Route) AllowUnused() *Route {
	r.spare = true
	return r
}

// Status adds a step that answers with a status, and with a small JSON body
// where such a response has one. How a caller should read the status is that
// of [trace.ClassifyStatus]; see [Route.Means].
func (r *Route) Status(status int, options ...Option) *Route {
	r.t.Helper()
	what := fmt.Sprintf("Status(%d)", status)
	return r.answer(what, double.Caller(0), double.Reply{Status: status}, options)
}

// JSON adds a step that answers with v as JSON.
func (r *Route) JSON(status int, v any, options ...Option) *Route {
	r.t.Helper()
	at := double.Caller(0)
	what := fmt.Sprintf("JSON(%d, %T)", status, v)
	body, err := json.Marshal(v)
	if err != nil {
		r.misuse(what, at, fmt.Sprintf("encoding/json cannot write the value: %v", err))
		body = []byte("null")
	}
	return r.answer(what, at, double.Reply{Status: status, Body: body}, options)
}

// Text adds a step that answers with a body as it stands, of type text/plain
// unless an option says otherwise: Header("Content-Type", "text/event-stream").
func (r *Route) Text(status int, body string, options ...Option) *Route {
	r.t.Helper()
	options = append([]Option{Header("Content-Type", "text/plain; charset=utf-8")}, options...)
	return r.answer(fmt.Sprintf("Text(%d)", status), double.Caller(0),
		double.Reply{Status: status, Body: []byte(body)}, options)
}

// InvalidJSON adds a step that answers 200 with a body that calls itself JSON
// and is not.
func (r *Route) InvalidJSON(options ...Option) *Route {
	r.t.Helper()
	return r.step("InvalidJSON", double.Caller(0), response{reply: double.Reply{Class: trace.Malformed}}, options)
}

// Fail adds a step that fails as is usual in HTTP for a class: a status with
// a JSON body, or a transport error. [trace.Malformed], [trace.Partial] and
// [trace.Declined] are answers too.
func (r *Route) Fail(class trace.Class, options ...Option) *Route {
	r.t.Helper()
	return r.failing("Fail", double.Caller(0), class, false, options)
}

// Reset adds a step in which the connection breaks after the request was sent:
// a *net.OpError of a read, with syscall.ECONNRESET. The request is not
// carried out; see [Route.Lose].
func (r *Route) Reset() *Route {
	r.t.Helper()
	return r.failing("Reset", double.Caller(0), trace.Reset, false, nil)
}

// NotConnected adds a step in which there is no connection: a *net.OpError of
// a dial, with syscall.ECONNREFUSED. The request's body is recorded all the
// same, although a server would not see it.
func (r *Route) NotConnected() *Route {
	r.t.Helper()
	return r.failing("NotConnected", double.Caller(0), trace.NotConnected, false, nil)
}

// Lose adds a step in which the server does what it is asked and the reply is
// lost: the effect happens when the request arrives, whatever becomes of its
// context, and the caller sees class, [trace.Reset] or [trace.Timeout] as a
// rule.
func (r *Route) Lose(class trace.Class, options ...Option) *Route {
	r.t.Helper()
	return r.failing("Lose", double.Caller(0), class, true, options)
}

// Hang adds a step that never answers: the request ends with its context.
func (r *Route) Hang() *Route {
	r.t.Helper()
	r.add("Hang", double.Caller(0), response{}, double.Timing{Hang: true})
	return r
}

// Panic adds a step that panics with value in the caller's goroutine.
func (r *Route) Panic(value any) *Route {
	r.t.Helper()
	r.add("Panic", double.Caller(0), response{panics: true, value: value}, double.Timing{})
	return r
}

// Handle adds a step that is a handler. It runs in the caller's goroutine, so
// it must not call FailNow or Fatal. A panic with http.ErrAbortHandler breaks
// the connection; another panic does too, and is reported.
func (r *Route) Handle(h http.Handler) *Route {
	r.t.Helper()
	at := double.Caller(0)
	if h == nil {
		r.misuse("Handle(nil)", at, "there is no handler to call; give one")
		h = http.NotFoundHandler()
	}
	r.add("Handle", at, response{handler: h}, double.Timing{})
	return r
}

func (r *Route) failing(name string, at double.Pos, class trace.Class, done bool, options []Option) *Route {
	r.t.Helper()
	what := name
	if class != trace.Reset && class != trace.NotConnected || done {
		what = fmt.Sprintf("%s(%s)", name, className(class))
	}
	if advice := unfitClass(class, done, "JSON or Status"); advice != "" {
		r.misuse(what, at, advice)
		class = trace.Unknown
	}
	return r.step(what, at, response{reply: double.Reply{Class: class}, done: done}, options)
}

// answer adds a step that answers with a response.
func (r *Route) answer(name string, at double.Pos, reply double.Reply, options []Option) *Route {
	r.t.Helper()
	if reply.Status < 200 || reply.Status > 999 {
		r.misuse(name, at, "it is no status of a final response; give 200 to 999")
		reply.Status = http.StatusInternalServerError
	}
	reply.Class = trace.ClassifyStatus(reply.Status)
	return r.step(name, at, response{reply: reply}, options)
}

// step adds a step with its options.
func (r *Route) step(name string, at double.Pos, say response, options []Option) *Route {
	r.t.Helper()
	say.reply.Hint.Offset = r.s.offset
	for _, o := range options {
		switch {
		case o.apply == nil:
			r.misuse("Option{} on "+name, at, "an option comes from a function of this package, such as RetryAfter")
		case !say.reply.Connects():
			r.misuse(o.name+" on "+name, at, "there is no response that could carry it; leave it out")
		default:
			if advice := o.apply(&say.reply); advice != "" {
				r.misuse(o.name+" on "+name, at, advice)
			}
		}
	}
	r.add(name, at, say, double.Timing{})
	return r
}

// Times lets the step before it answer n requests in a row, n ≥ 1.
func (r *Route) Times(n int) *Route {
	r.t.Helper()
	r.times(n, double.Caller(0))
	return r
}

// Any lets the step before it answer every further request, none included. It
// is the last step.
func (r *Route) Any() *Route {
	r.t.Helper()
	r.any(double.Caller(0))
	return r
}

// After lets the answer of the step before it come after a latency, unless the
// request's context ends first. Where both fall on the same instant, either
// may win.
func (r *Route) After(latency time.Duration) *Route {
	r.t.Helper()
	r.after(latency, double.Caller(0))
	return r
}

// Deaf lets the step before it ignore the request's context, as a transport
// would that does not heed it: the answer comes late, and can then be read.
func (r *Route) Deaf() *Route {
	r.t.Helper()
	r.deaf(double.Caller(0))
	return r
}

// Done lets the effect of the step before it happen when the request arrives,
// whatever is answered and whenever.
func (r *Route) Done() *Route {
	r.t.Helper()
	r.modify("Done", double.Caller(0), func(s *double.Step[response]) string {
		switch {
		case s.Answer.handler != nil:
			return "a handler has its effect when it answers 2xx; leave Done out"
		case s.Answer.reply.Class == trace.NotConnected:
			return "a request that was never sent has no effect; use Lose"
		}
		s.Answer.done = true
		return ""
	})
	return r
}

// Means says how a caller should read the response of the step before it,
// where its status does not say so: Status(403).Means(trace.QuotaExhausted),
// JSON(200, no).Means(trace.Declined).
func (r *Route) Means(class trace.Class) *Route {
	r.t.Helper()
	r.modify(fmt.Sprintf("Means(%s)", className(class)), double.Caller(0), func(s *double.Step[response]) string {
		switch {
		case class != trace.OK && !failure(class):
			return "give a class of package trace"
		case s.Answer.reply.Class == 0:
			return "this step says by itself how it reads; leave Means out"
		case s.Answer.reply.Status == 0:
			return "its class is what it says; change that, or use Status or JSON"
		}
		s.Answer.reply.Class = class
		return ""
	})
	return r
}

// CutShort lets the connection break after n bytes of the body of the step
// before it: Content-Length tells the whole length, and a read ends with
// io.ErrUnexpectedEOF. It then means [trace.Reset].
func (r *Route) CutShort(n int) *Route {
	r.t.Helper()
	r.modify(fmt.Sprintf("CutShort(%d)", n), double.Caller(0), func(s *double.Step[response]) string {
		reply := &s.Answer.reply
		switch {
		case reply.Body == nil:
			return "it has no body of yours to cut; put it after JSON or Text"
		case n < 0 || n >= len(reply.Body):
			return fmt.Sprintf("the body has %s; give 0 to %d", plural(len(reply.Body), "byte"), len(reply.Body)-1)
		}
		reply.Cut, reply.CutAt, reply.Class = true, n, trace.Reset
		return ""
	})
	return r
}

// Requests returns what the route received, in order.
func (r *Route) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return requests(r.name, r.requests)
}

// Calls is how many requests the route received.
func (r *Route) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.script.Calls()
}
