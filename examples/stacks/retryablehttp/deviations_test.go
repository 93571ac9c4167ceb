package retryablehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/rehearse-go/rehearse/examples/stacks/internal/pin"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// answering is a handler that answers with a status, whatever is asked.
func answering(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// with is the adapter on a service whose failures look otherwise.
func with(failures map[trace.Class]http.Handler) faultsim.Adapter {
	r := service
	r.Failures = failures
	return on(r, newClient)
}

// on is the adapter of a client that is made otherwise.
func on(r faultsim.Route, construct func(*http.Client) *retryablehttp.Client) faultsim.Adapter {
	a := adapter()
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := construct(s.Client(r))
		return func(ctx context.Context) (any, error) { return get(ctx, client) }
	}
	return a
}

// The waits double from RetryWaitMin and stop at RetryWaitMax.
func TestWaitsDoubleUpToTheMaximum(t *testing.T) {
	a := on(service, func(hc *http.Client) *retryablehttp.Client {
		c := newClient(hc)
		c.RetryMax = 7
		return c
	})
	a.Policy.MaxAttempts = 8
	busy := faultsim.Fail(trace.Transient)
	tr := faultsim.Run(t, a, faultsim.One(busy, busy, busy, busy, busy, busy, busy))
	assert.Equal(t, seconds(1, 2, 4, 8, 16, 30, 30), pin.Waits(&tr.Actions()[0]))
}

func seconds(list ...time.Duration) []time.Duration {
	for i := range list {
		list[i] *= time.Second
	}
	return list
}

// Retry-After is read in both forms of RFC 9110, and replaces the own backoff
// even where it is shorter.
func TestRetryAfterReplacesTheBackoff(t *testing.T) {
	for name, form := range map[string]faultsim.HintForm{"seconds": faultsim.HintSeconds, "date": faultsim.HintDate} {
		t.Run(name, func(t *testing.T) {
			long := faultsim.Fault{Class: trace.Throttled, Hint: 7 * time.Second, Form: form}
			short := faultsim.Fault{Class: trace.Transient, Hint: time.Second, Form: form} // the backoff would be 2 s
			tr := faultsim.Run(t, adapter(), faultsim.One(long, short))
			assert.Equal(t, seconds(7, 1), pin.Waits(&tr.Actions()[0]))
		})
	}
}

// The milliseconds that model providers send are not read.
func TestRetryAfterMillisecondsAreNotRead(t *testing.T) {
	r := service
	r.Hints = []faultsim.HintForm{faultsim.HintMillis}
	pin.Broken(t, on(r, newClient), faultsim.One(faultsim.Fault{Class: trace.Throttled, Hint: 7 * time.Second, Form: faultsim.HintMillis}),
		"hint-honoured", "weather asked for a wait of 7s and was called again after 1s")
}

// The documentation of DefaultBackoff speaks of waits "limited by the provided
// minimum and maximum durations", and that of RetryWaitMax of the "Maximum time
// to wait". A hint is not limited: one header parks the caller for an hour
// (hashicorp/go-retryablehttp#247).
func TestRetryWaitMaxDoesNotLimitRetryAfter(t *testing.T) {
	s := faultsim.One(faultsim.Throttle(time.Hour))
	documented := adapter()
	documented.Policy.Hint.Limit, documented.Policy.Hint.Over = 30*time.Second, invariants.OverClamp
	pin.Broken(t, documented, s, "conforms", "attempt 2 of weather came 1h0m0s after the answer, the latest is 30s")

	tr := faultsim.Run(t, adapter(), s)
	assert.Equal(t, seconds(3600), pin.Waits(&tr.Actions()[0]))
}

// DefaultBackoff is documented to read Retry-After of a 429. It reads that of a
// 503 too, and of no other status.
func TestRetryAfterIsReadOf429And503Only(t *testing.T) {
	s := faultsim.One(faultsim.Fault{Class: trace.Transient, Hint: 7 * time.Second})

	documented := adapter()
	documented.Policy.Hint.Classes = []trace.Class{trace.Throttled}
	pin.Broken(t, documented, s, "waits-in-window", "attempt 2 of weather came 7s after the answer, the latest is 1s")

	internal := with(map[trace.Class]http.Handler{trace.Transient: answering(http.StatusInternalServerError)})
	pin.Broken(t, internal, s, "hint-honoured", "weather asked for a wait of 7s and was called again after 1s")

	internal.Policy.Hint.Classes = []trace.Class{trace.Throttled}
	faultsim.Check(t, internal)
}

// The package's documentation says that "if a 500-range response is received,
// then a retry is invoked". The README has the exception: 501 is not retried.
func Test501IsNotRetried(t *testing.T) {
	a := with(map[trace.Class]http.Handler{trace.Unknown: answering(http.StatusNotImplemented)})
	s := faultsim.One(faultsim.Fail(trace.Unknown))
	faultsim.Run(t, a, s)

	a.Policy.Retry = append([]trace.Class{trace.Unknown}, a.Policy.Retry...)
	pin.Broken(t, a, s, "conforms", "given up after attempt 1 (unknown), the policy allows 3")
}

// Who is told "giving up" is not told why: the status of the last answer is
// neither in the text nor in the chain. An error of the transport is.
func TestGivingUpDoesNotTellTheStatus(t *testing.T) {
	end := func(f faultsim.Fault) string {
		return faultsim.Run(t, adapter(), faultsim.One(f, f, f)).Actions()[0].Error
	}
	assert.Equal(t, "GET http://weather.test/pune giving up after 3 attempt(s)", end(faultsim.Fail(trace.Transient)))
	assert.Equal(t, "GET http://weather.test/pune giving up after 3 attempt(s)", end(faultsim.Fail(trace.Throttled)))
	assert.Contains(t, end(faultsim.Fail(trace.Reset)), "giving up after 3 attempt(s): Get \"http://weather.test/pune\": read tcp weather.test: read: connection reset by peer")
}

// PassthroughErrorHandler hands the last answer through, so that its status
// can be read; the number of attempts is then lost.
func TestPassthroughErrorHandlerKeepsTheStatus(t *testing.T) {
	a := on(service, func(hc *http.Client) *retryablehttp.Client {
		c := newClient(hc)
		c.ErrorHandler = retryablehttp.PassthroughErrorHandler
		return c
	})
	a.Reason = nil // a 503 says as little about why it is the last as no status
	busy := faultsim.Fail(trace.Transient)
	assert.Equal(t, "weather: 503", faultsim.Run(t, a, faultsim.One(busy, busy, busy)).Actions()[0].Error)
	faultsim.Check(t, a)
}

// With a timeout of the http.Client each attempt has its own, and is retried
// when it is over.
func TestTimeoutOfTheHTTPClientIsThatOfAnAttempt(t *testing.T) {
	a := on(service, func(hc *http.Client) *retryablehttp.Client {
		hc.Timeout = 5 * time.Second
		return newClient(hc)
	})
	a.Policy.Attempt = 5 * time.Second
	a.Reason = func(err error) trace.Reason {
		if r := reason(err); r != trace.ReasonDeadline {
			return r
		}
		return 0 // "Client.Timeout exceeded" is a context.DeadlineExceeded too
	}
	hang := faultsim.Fault{Hang: true}
	tr := faultsim.Run(t, a, faultsim.One(hang, hang))
	assert.Equal(t, 2*5*time.Second+3*time.Second, tr.Actions()[0].End)
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// StandardClient is the same behind an http.Client.
func TestStandardClient(t *testing.T) {
	a := adapter()
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := newClient(s.Client(service)).StandardClient()
		return func(ctx context.Context) (any, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.test/pune", nil)
			if err != nil {
				return nil, err
			}
			return read(client.Do(req))
		}
	}
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// post is the adapter of a POST with a body of any kind that NewRequest takes,
// and with a key of the caller's for each action.
func post(body func() any, keyed bool) faultsim.Adapter {
	r := service
	r.Method = http.MethodPost
	a := adapter()
	a.Policy.ID += " POST"
	a.Policy.Repeatable = false
	a.Policy.Key = "Idempotency-Key"
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := newClient(s.Client(r))
		var reports atomic.Int64
		return func(ctx context.Context) (any, error) {
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, "http://weather.test/report", body())
			if err != nil {
				return nil, err
			}
			req.Header.Set("Content-Type", "application/json")
			if keyed {
				req.Header.Set("Idempotency-Key", fmt.Sprintf("report-%d", reports.Add(1)))
			}
			return read(client.Do(req))
		}
	}
	return a
}

const report = `{"city":"Pune","celsius":19}`

// Whatever the body is made of, each attempt sends the whole of it.
func TestBodyIsSentAgain(t *testing.T) {
	for name, body := range map[string]func() any{
		"bytes":         func() any { return []byte(report) },
		"io.ReadSeeker": func() any { return strings.NewReader(report) },
		"io.Reader":     func() any { return io.LimitReader(strings.NewReader(report), 1000) },
		"ReaderFunc": func() any {
			return retryablehttp.ReaderFunc(func() (io.Reader, error) { return strings.NewReader(report), nil })
		},
		"func of io.Reader": func() any { return func() (io.Reader, error) { return strings.NewReader(report), nil } },
	} {
		t.Run(name, func(t *testing.T) {
			busy := faultsim.Fail(trace.Transient)
			tr := faultsim.Run(t, post(body, true), faultsim.One(busy, busy))
			attempts := tr.Actions()[0].Attempts
			assert.Len(t, attempts, 3)
			for i := range attempts {
				assert.Contains(t, string(attempts[i].Args), `"body":{"celsius":19,"city":"Pune"}`)
			}
		})
	}
}

// The caller's own key goes with every attempt, so that a reply that is lost
// is done once.
func TestPostWithKey(t *testing.T) {
	a := post(func() any { return []byte(report) }, true)
	a.Reason = func(err error) trace.Reason {
		if status, ok := errors.AsType[statusError](err); ok && status == http.StatusConflict {
			return 0 // it may be with an own attempt, which the error does not tell
		}
		return reason(err)
	}
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// The client repeats a POST after a reset as readily as a GET, and sends no key
// of its own: the service does the work twice.
func TestPostWithoutKeyIsDoneTwice(t *testing.T) {
	a := post(func() any { return []byte(report) }, false)
	a.Policy.Key = ""
	a.Policy.Retry = []trace.Class{trace.Throttled, trace.NotConnected} // what is safe to repeat
	tr := pin.Broken(t, a, faultsim.One(faultsim.Lose(trace.Reset)), "one-effect", "weather did its work 2 times for one action")
	assert.Len(t, tr.Actions()[0].Effects, 2)
}

// A wait that ends at the very instant of the deadline is a race: the client
// goes on, and whether net/http still finds the context alive is chance. In
// eleven runs of this test 42 to 59 of the 100 sent a second request; either is
// right.
func TestRequestAtTheInstantOfTheDeadlineIsARace(t *testing.T) {
	a := adapter()
	a.Attempts = nil // "giving up after 2 attempt(s)" counts the one that was not sent
	s := faultsim.One(faultsim.Fail(trace.Transient))
	s.Actions[0].Deadline = time.Second // which is the wait
	sent := 0
	for range 100 {
		if len(faultsim.Run(t, a, s).Actions()[0].Attempts) > 1 {
			sent++
		}
	}
	t.Logf("%d of 100 runs sent a request at the instant of the deadline", sent)
}

// A retry covers an answer up to its status. One that breaks in the middle of
// its body is the caller's, who has the first half.
func TestBrokenBodyIsNotRetried(t *testing.T) {
	r := service
	r.Streams = true
	pin.Broken(t, on(r, newClient), faultsim.One(faultsim.Fault{Class: trace.Reset, Body: 100 * time.Millisecond}),
		"conforms", "given up after attempt 1 (reset), the policy allows 3")
}
