package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

type ownOutcome struct{ error }

func (ownOutcome) Outcome() trace.Outcome {
	return trace.Outcome{Class: trace.Declined, Code: "limit", Advice: trace.AdviceStop}
}

type retryable bool

func (retryable) Error() string     { return "busy" }
func (r retryable) Retryable() bool { return bool(r) }

type temporary bool

func (temporary) Error() string     { return "busy" }
func (r temporary) Temporary() bool { return bool(r) }

func TestClassify(t *testing.T) {
	is := func(c trace.Class) trace.Outcome { return trace.Outcome{Class: c} }
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}}
	}
	tests := map[string]struct {
		err  error
		want trace.Outcome
	}{
		"nil":                    {nil, is(trace.OK)},
		"anything":               {errors.New("odd"), is(trace.Unknown)},
		"cancelled":              {fmt.Errorf("call: %w", context.Canceled), is(trace.Cancelled)},
		"deadline":               {context.DeadlineExceeded, is(trace.Timeout)},
		"deadline within a url":  {&url.Error{Op: "Get", Err: context.DeadlineExceeded}, is(trace.Timeout)},
		"i/o timeout":            {os.ErrDeadlineExceeded, is(trace.Timeout)},
		"refused":                {dial(syscall.ECONNREFUSED), is(trace.NotConnected)},
		"no route":               {dial(syscall.EHOSTUNREACH), is(trace.NotConnected)},
		"no such host":           {&net.DNSError{Err: "no such host", IsNotFound: true}, is(trace.NotConnected)},
		"reset":                  {dial(syscall.ECONNRESET), is(trace.Reset)},
		"broken pipe":            {dial(syscall.EPIPE), is(trace.Reset)},
		"end of stream":          {&url.Error{Op: "Post", Err: io.EOF}, is(trace.Reset)},
		"cut off":                {io.ErrUnexpectedEOF, is(trace.Reset)},
		"an outcome of its own":  {fmt.Errorf("pay: %w", ownOutcome{io.EOF}), trace.Outcome{Class: trace.Declined, Code: "limit", Advice: trace.AdviceStop}},
		"calls itself retryable": {fmt.Errorf("pay: %w", retryable(true)), trace.Outcome{Class: trace.Unknown, Advice: trace.AdviceRetry}},
		"calls itself final":     {retryable(false), trace.Outcome{Class: trace.Unknown, Advice: trace.AdviceStop}},
		"temporary":              {temporary(true), trace.Outcome{Class: trace.Unknown, Advice: trace.AdviceRetry}},
		"permanent":              {temporary(false), trace.Outcome{Class: trace.Unknown, Advice: trace.AdviceStop}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, trace.Classify(test.err)) })
	}
}

func TestClassifyStatus(t *testing.T) {
	want := map[int]trace.Class{
		200: trace.OK, 204: trace.OK, 207: trace.Partial, 304: trace.OK, 400: trace.Invalid, 401: trace.Unauthenticated,
		403: trace.Forbidden, 404: trace.NotFound, 408: trace.Timeout, 409: trace.Conflict, 410: trace.NotFound,
		412: trace.Conflict, 418: trace.Unknown, 422: trace.Invalid, 429: trace.Throttled, 500: trace.Transient,
		501: trace.Unknown, 502: trace.Transient, 503: trace.Transient, 504: trace.Transient, 100: trace.Unknown, 0: trace.Unknown,
	}
	for status, class := range want {
		require.Equal(t, class, trace.ClassifyStatus(status), status)
	}
}

func TestEnumsReadWhatTheyPrint(t *testing.T) {
	for _, class := range trace.Classes() {
		text, err := class.MarshalText()
		require.NoError(t, err)
		var again trace.Class
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, class, again)
		require.Equal(t, class.String(), string(text))
	}
	require.Equal(t, "#99", trace.Class(99).String())
	_, err := trace.Reason(99).MarshalText()
	require.ErrorContains(t, err, "99")
	var k trace.Kind
	require.ErrorContains(t, k.UnmarshalText([]byte("pause")), `"begin"`)
	raw, err := json.Marshal(trace.Outcome{Class: trace.Throttled, Effect: trace.EffectNotDone, Advice: trace.AdviceRetry})
	require.NoError(t, err)
	require.JSONEq(t, `{"class":"throttled","effect":"not-done","advice":"retry"}`, string(raw))
}
