package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/rehearse-go/rehearse/examples/stacks/internal/pin"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// failing is the endpoint with failures that look otherwise; nil: the class
// cannot happen.
func failing(failures map[trace.Class]http.Handler) faultsim.Route {
	r := chat
	r.Failures = failures
	return r
}

// timed is the adapter of a client with the timeout that the README promises:
// "To set a per-retry timeout, use option.WithRequestTimeout()."
func timed() faultsim.Adapter {
	p := policy
	p.ID += " request timeout"
	p.Attempt = 20 * time.Second
	a := adapter(p, chat, option.WithRequestTimeout(20*time.Second))
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, context.DeadlineExceeded) {
			return 0 // the attempt's or the caller's: the error is the same
		}
		return reason(err)
	}
	return a
}

// An attempt that runs into its timeout ends the whole call, because Execute
// looks at the attempt's context where it means the caller's. No second attempt
// is made, and the caller is told of a deadline that he did not set.
func TestRequestTimeoutEndsTheWholeCall(t *testing.T) {
	tr := pin.Broken(t, timed(), faultsim.One(faultsim.Fault{Hang: true}),
		"conforms", "chat was given up after attempt 1 (timeout), the policy allows 3")
	end := &tr.Actions()[0]
	assert.Equal(t, 20*time.Second, end.End)
	assert.Equal(t, "context deadline exceeded", end.Error)
	assert.Zero(t, end.Deadline, "the caller set none")
}

// The timeout runs on while the client waits: one that is shorter than what the
// service asks for ends the call in the middle of the wait. So does an attempt
// that fails just before it.
func TestRequestTimeoutEndsTheWaitBehindTheAttempt(t *testing.T) {
	for _, f := range []faultsim.Fault{
		faultsim.Throttle(30 * time.Second),
		{Class: trace.Transient, Latency: 20*time.Second - time.Millisecond},
	} {
		tr := pin.Broken(t, timed(), faultsim.One(f), "conforms", "given up after attempt 1")
		end := &tr.Actions()[0]
		assert.Len(t, end.Attempts, 1)
		assert.Equal(t, 20*time.Second, end.End)
		assert.Equal(t, "context deadline exceeded", end.Error)
	}
}

// These deviations are all there is: every other rule of the promised policy holds.
func TestRequestTimeoutIsOtherwiseAsPromised(t *testing.T) {
	a := timed()
	a.Accept = map[string]string{
		"conforms":      "the timeout of an attempt ends the whole call: see TestRequestTimeoutEndsTheWholeCall",
		"no-last-delay": "the timeout of an attempt ends the wait behind it: see TestRequestTimeoutEndsTheWaitBehindTheAttempt",
		"honest-ending": "… and then only the timeout is told, not the failure that was waited on",
	}
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// What the service asks for is followed in all three forms, even where it is
// shorter than the own backoff.
func TestRetryAfterReplacesTheBackoff(t *testing.T) {
	for name, form := range map[string]faultsim.HintForm{
		"Retry-After: 7": faultsim.HintSeconds, "Retry-After: date": faultsim.HintDate, "Retry-After-Ms: 7000": faultsim.HintMillis,
	} {
		t.Run(name, func(t *testing.T) {
			long := faultsim.Fault{Class: trace.Throttled, Hint: 7 * time.Second, Form: form}
			tr := faultsim.Run(t, adapter(policy, chat), faultsim.One(long))
			assert.Equal(t, []time.Duration{7 * time.Second}, pin.Waits(&tr.Actions()[0]))
		})
	}
	short := faultsim.Fault{Class: trace.Transient, Hint: 3 * time.Millisecond, Form: faultsim.HintMillis}
	tr := faultsim.Run(t, adapter(policy, chat), faultsim.One(short))
	assert.Equal(t, []time.Duration{3 * time.Millisecond}, pin.Waits(&tr.Actions()[0]))
}

// A hint of nothing is followed too: the client comes back at once, where
// without a hint it would have waited for three eighths of a second at least.
func TestRetryAfterZeroIsRetriedAtOnce(t *testing.T) {
	zero := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	busy := faultsim.Fail(trace.Throttled)
	tr := pin.Broken(t, adapter(policy, failing(map[trace.Class]http.Handler{trace.Throttled: zero})), faultsim.One(busy, busy),
		"waits-in-window", "attempt 2 of chat came 0s after the answer, the earliest is 374.999999ms")
	assert.Equal(t, []time.Duration{0, 0}, pin.Waits(&tr.Actions()[0]))
}

// Two minutes are followed, more ends the call with the service's own error.
func TestHintAboveTwoMinutesEndsTheCall(t *testing.T) {
	tr := faultsim.Run(t, adapter(policy, chat), faultsim.One(faultsim.Throttle(2*time.Minute)))
	assert.Len(t, tr.Actions()[0].Attempts, 2)
	tr = faultsim.Run(t, adapter(policy, chat), faultsim.One(faultsim.Throttle(121*time.Second)))
	assert.Len(t, tr.Actions()[0].Attempts, 1)
	assert.Equal(t, trace.ReasonHintTooLong, tr.Actions()[0].Reason)
	assert.Equal(t, "OpenAI API error: 429 Too Many Requests", tr.Actions()[0].Error)
}

// WithMaxRetryDelay bounds both: the own backoff, which is capped, and the
// service's wait, which then ends the call.
func TestMaxRetryDelay(t *testing.T) {
	p := policy
	p.ID += " max retry delay"
	p.Backoff.Cap = 700 * time.Millisecond
	p.Hint.Limit = 700 * time.Millisecond
	a := adapter(p, chat, option.WithMaxRetryDelay(700*time.Millisecond))
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// The service's own word goes before the status: x-should-retry makes a 503
// final and a 400 passing.
func TestServiceSaysWhetherToRetry(t *testing.T) {
	said := func(status int, should string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", should)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			w.Write([]byte(`{"error":{"message":"no","type":"server_error","param":null,"code":null}}`))
		})
	}
	p := policy
	p.ID += " x-should-retry"
	p.Retry = []trace.Class{trace.Invalid, trace.Throttled, trace.Conflict, trace.Reset, trace.NotConnected, trace.Timeout}
	a := adapter(p, failing(map[trace.Class]http.Handler{
		trace.Transient: said(http.StatusServiceUnavailable, "false"), trace.Invalid: said(http.StatusBadRequest, "true"),
	}))
	a.Reason = nil
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, a) })
	faultsim.Check(t, a)
}

// "We retry by default all connection errors, 408 Request Timeout, 409
// Conflict, 429 Rate Limit, and >=500 Internal errors": as promised.
func TestDocumentedStatusesAreRetried(t *testing.T) {
	for status, retried := range map[int]bool{
		408: true, 409: true, 429: true, 500: true, 501: true, 503: true, 520: true,
		400: false, 401: false, 403: false, 404: false, 412: false, 422: false,
	} {
		p := policy
		if retried {
			p.Retry = append([]trace.Class{trace.Unknown}, p.Retry...)
		}
		a := adapter(p, failing(map[trace.Class]http.Handler{trace.Unknown: answer("application/json", status, `{"error":{"message":"no"}}`)}))
		a.Reason = nil
		faultsim.Run(t, a, faultsim.One(faultsim.Fail(trace.Unknown)))
	}
}

// The README says: "When the API returns a non-success status code, we return
// an error with type *openai.Error." So it is, even where a proxy answers in
// HTML, or with nothing.
func TestErrorOfAProxyKeepsItsStatus(t *testing.T) {
	for _, body := range []string{"<html><body>502 Bad Gateway</body></html>", ""} {
		var got error
		a := adapter(policy, failing(map[trace.Class]http.Handler{trace.Transient: answer("text/html", http.StatusBadGateway, body)}))
		a.Reason = func(err error) trace.Reason {
			got = err
			return reason(err)
		}
		bad := faultsim.Fail(trace.Transient)
		faultsim.Run(t, a, faultsim.One(bad, bad, bad))
		api, ok := errors.AsType[*openai.Error](got)
		assert.True(t, ok, "%T: %v", got, got)
		assert.Equal(t, http.StatusBadGateway, api.StatusCode)
		assert.Equal(t, 3, attempts(got))
	}
}

// A POST is repeated after a reset, and no idempotency key goes with it: the
// service makes, and bills, two completions.
func TestResetIsSentTwice(t *testing.T) {
	p := policy
	p.Repeatable = false
	p.Retry = []trace.Class{trace.Throttled, trace.Conflict, trace.NotConnected} // what is safe to repeat
	tr := pin.Broken(t, adapter(p, chat), faultsim.One(faultsim.Lose(trace.Reset)),
		"one-effect", "chat did its work 2 times for one action")
	assert.Len(t, tr.Actions()[0].Effects, 2)
	assert.Empty(t, tr.Actions()[0].Attempts[0].Key)
}

// An answer that is cut off in the middle of its JSON is not asked for again.
func TestUnreadableAnswerIsNotRetried(t *testing.T) {
	tr := faultsim.Run(t, adapter(policy, chat), faultsim.One(faultsim.Fail(trace.Malformed)))
	assert.Len(t, tr.Actions()[0].Attempts, 1)
	assert.Contains(t, tr.Actions()[0].Error, "error parsing response json")
}

// An answer that breaks in the middle of its body is not asked for again,
// though one that breaks before its status is.
func TestBrokenBodyIsNotRetried(t *testing.T) {
	r := chat
	r.Streams = true
	pin.Broken(t, adapter(policy, r), faultsim.One(faultsim.Fault{Class: trace.Reset, Body: 100 * time.Millisecond}),
		"conforms", "given up after attempt 1 (reset), the policy allows 3")
}
