package double

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// StatusUnknown is the status of [trace.Unknown]: one that no RFC gives a
// meaning to.
const StatusUnknown = 520

// A Reply is an answer at the level of HTTP, before it is sent. Only Class is
// needed: the rest is filled in by what is usual for that class.
type Reply struct {
	Class  trace.Class
	Status int         // 0: that of the class
	Body   []byte      // nil: that of the class; must not be changed later
	Header http.Header // set last; an empty value takes the field away
	Hint   Hint        //
	Cut    bool        // the connection breaks after CutAt bytes of the body
	CutAt  int         //
	Pieces Pieces      // of a body that comes over time
}

// Outcome is what a caller sees of the reply.
func (r Reply) Outcome() trace.Outcome {
	o := trace.Outcome{Class: r.Class, Hint: r.Hint.Seen(), Slack: r.Hint.Slack()}
	if r.Connects() {
		o.Code = strconv.Itoa(r.StatusCode())
	}
	return o
}

// Connects tells whether the reply is a response, and not a transport error.
func (r Reply) Connects() bool {
	switch r.Class {
	case trace.Timeout, trace.Reset, trace.NotConnected, trace.Cancelled:
		return r.Status != 0
	}
	return true
}

// Respond sends the reply to req at the instant now: a response, or the error
// with which net/http's own transport reports that there is none. The
// response's body ends with io.EOF, or with io.ErrUnexpectedEOF where it is
// cut short.
func (r Reply) Respond(req *http.Request, now time.Time) (*http.Response, error) {
	if !r.Connects() {
		return nil, connError(r.Class, req)
	}
	h := make(http.Header, 4)
	h["Content-Type"] = []string{"application/json"}
	r.Hint.write(h, now)
	for name, values := range r.Header {
		if len(values) == 0 || values[0] == "" {
			delete(h, name)
			continue
		}
		h[name] = append([]string(nil), values...)
	}
	cut := -1
	if r.Cut {
		cut = r.CutAt
	}
	return response(req, r.StatusCode(), h, r.Content(), cut, r.Pieces), nil
}

// StatusCode is the status of the response, where there is one.
func (r Reply) StatusCode() int {
	if r.Status != 0 {
		return r.Status
	}
	if r.Class == trace.Declined && r.Body != nil {
		return http.StatusOK // a valid answer that says no
	}
	if s := usual[r.Class].status; s != 0 {
		return s
	}
	return StatusUnknown
}

// Content is the whole body of the response, where there is one. It must not
// be changed.
func (r Reply) Content() []byte {
	if r.Body != nil {
		return r.Body
	}
	if r.Class == trace.Malformed {
		return invalidJSON
	}
	if r.StatusCode() < 300 && r.Class == trace.OK {
		return emptyJSON
	}
	return usual[r.Class].body
}

var (
	emptyJSON   = []byte(`{}`)
	invalidJSON = []byte(`{"result": [1, 2,`)
)

// usual is how each class reads in HTTP: RFC 9110 section 15 and, for the
// codes in the bodies, what the large model providers send.
var usual = [...]rendering{
	trace.OK:              {status: http.StatusOK},
	trace.Transient:       said(http.StatusServiceUnavailable, "service_unavailable"),
	trace.Throttled:       said(http.StatusTooManyRequests, "rate_limit_exceeded"),
	trace.QuotaExhausted:  said(http.StatusTooManyRequests, "insufficient_quota"),
	trace.Timeout:         said(http.StatusRequestTimeout, "timeout"),
	trace.Invalid:         said(http.StatusBadRequest, "invalid_request"),
	trace.Unauthenticated: said(http.StatusUnauthorized, "unauthenticated"),
	trace.Forbidden:       said(http.StatusForbidden, "forbidden"),
	trace.NotFound:        said(http.StatusNotFound, "not_found"),
	trace.Conflict:        said(http.StatusConflict, "conflict"),
	trace.Declined:        said(http.StatusPaymentRequired, "declined"),
	trace.Malformed:       {status: http.StatusOK},
	trace.Partial:         said(http.StatusMultiStatus, "partial"),
	trace.Unknown:         said(StatusUnknown, "unknown"),
}

// A rendering is the status and the body of a class.
type rendering struct {
	status int
	body   []byte
}

func said(status int, code string) rendering {
	return rendering{status, ErrorBody(code, strings.ReplaceAll(code, "_", " "))}
}

// ErrorBody is the body of an error: {"error":{"code":…,"message":…}}.
func ErrorBody(code, message string) []byte {
	type inner struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	body, err := json.Marshal(map[string]inner{"error": {code, message}})
	if err != nil {
		panic(err) // two strings
	}
	return body
}

// connError is the error of net/http's transport for an answer that does not
// come, in the types that it has there.
func connError(class trace.Class, req *http.Request) error {
	e := &net.OpError{Op: "read", Net: "tcp", Addr: address(req.URL.Host)}
	switch class {
	case trace.NotConnected:
		e.Op, e.Err = "dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case trace.Reset:
		e.Err = os.NewSyscallError("read", syscall.ECONNRESET)
	case trace.Timeout:
		e.Err = os.ErrDeadlineExceeded
	default:
		return context.Canceled
	}
	return e
}

// An address is a host as a net.Addr.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }
