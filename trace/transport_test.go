package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

func post(t *testing.T, url, body string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	return req
}

func TestARequestWithoutAURLIsForTheTransportToRefuse(t *testing.T) {
	r := &trace.Recorder{}
	_, err := r.Transport("", &http.Transport{}).RoundTrip(&http.Request{Header: http.Header{}})
	require.ErrorContains(t, err, "nil Request.URL")
	require.Empty(t, r.Trace().Events)
}

func TestTransportRecordsRequestAndAnswer(t *testing.T) {
	r := &trace.Recorder{Clear: true, Key: "meta.key"}
	var sent string
	client := &http.Client{Transport: r.Transport("", roundTrip(func(req *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(req.Body)
		sent = string(b)
		require.Equal(t, int64(len(b)), req.ContentLength)
		require.NotNil(t, req.GetBody)
		return respond(200, `{ "id": "tx-9" }`), err
	}))}
	const body = `{"to": "ACME", "meta": {"key": "k-1"}, "amount": 5.0}`
	resp, err := client.Do(post(t, "https://user:pass@bank.example/pay/7?dry=1&tag=a&tag=b", body))
	require.NoError(t, err)
	require.Equal(t, body, sent, "the next transport gets the same bytes")
	require.Len(t, r.Trace().Events, 1, "there is no answer until the body ends")
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, `{ "id": "tx-9" }`, string(got))

	events := r.Trace().Events
	require.Len(t, events, 2)
	require.Equal(t, "POST bank.example/pay/7", events[0].Tool)
	require.Equal(t, "k-1", events[0].Key)
	require.Equal(t, `{"body":{"amount":5,"meta":{},"to":"ACME"},"host":"bank.example","method":"POST","path":"/pay/7","query":{"dry":"1","tag":["a","b"]}}`, string(events[0].Args))
	require.Equal(t, `{"id":"tx-9"}`, string(events[1].Result))
	require.Equal(t, trace.Outcome{Class: trace.OK, Code: "200"}, events[1].Outcome)
}

func TestTransportLeavesTheRequestAsItIs(t *testing.T) {
	r := &trace.Recorder{}
	closed := false
	req := post(t, "https://bank.example/pay", `{"amount":5}`)
	req.Body = closer{req.Body, &closed}
	before, body := *req, req.Body
	_, err := r.Transport("bank", roundTrip(func(got *http.Request) (*http.Response, error) {
		require.NotSame(t, req, got)
		require.Equal(t, req.Header, got.Header)
		return nil, syscall.ECONNREFUSED
	})).RoundTrip(req)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.True(t, closed)
	require.Equal(t, body, req.Body)
	require.Equal(t, before.ContentLength, req.ContentLength)
	require.Equal(t, trace.NotConnected, r.Trace().Events[1].Outcome.Class)
}

type closer struct {
	io.Reader
	closed *bool
}

func (c closer) Close() error { *c.closed = true; return nil }

func TestTransportReadsTheKeyFromTheHeaderFirst(t *testing.T) {
	for header, want := range map[string]string{"": "in-body", "k-1": "k-1", `"k-1"`: "k-1"} {
		r := &trace.Recorder{Clear: true, Key: "key"}
		req := post(t, "https://bank.example/pay", `{"key":"in-body"}`)
		if header != "" {
			req.Header.Set("Idempotency-Key", header)
		}
		_, err := r.Transport("bank", roundTrip(func(*http.Request) (*http.Response, error) { return respond(204, ""), nil })).RoundTrip(req)
		require.NoError(t, err)
		e := r.Trace().Events[0]
		require.Equal(t, want, e.Key)
		require.NotContains(t, string(e.Args), "in-body", "the key is no part of what is compared")
	}
}

func TestTransportAnswersWhenTheBodyEnds(t *testing.T) {
	tests := map[string]struct {
		body io.Reader
		use  func(io.ReadCloser)
		want trace.Outcome
		text string
		json string
	}{
		"read to its end": {strings.NewReader(`[1]`), func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, trace.Outcome{Class: trace.OK, Code: "200"}, "", `[1]`},
		"closed unread":   {strings.NewReader(`[1]`), func(b io.ReadCloser) { _ = b.Close() }, trace.Outcome{Class: trace.OK, Code: "200"}, "", ""},
		"closed twice":    {strings.NewReader(`[1]`), func(b io.ReadCloser) { _ = b.Close(); _ = b.Close() }, trace.Outcome{Class: trace.OK, Code: "200"}, "", ""},
		"no JSON":         {strings.NewReader("<html>"), func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, trace.Outcome{Class: trace.OK, Code: "200"}, "", `"<html>"`},
		"cut off": {io.MultiReader(strings.NewReader(`[1`), iotest.ErrReader(io.ErrUnexpectedEOF)),
			func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, trace.Outcome{Class: trace.Reset, Code: "200"}, "unexpected EOF", `"[1"`},
		"malformed": {iotest.ErrReader(errors.New("gzip: invalid header")),
			func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, trace.Outcome{Class: trace.Malformed, Code: "200"}, "gzip: invalid header", ""},
		"out of time": {iotest.ErrReader(context.DeadlineExceeded),
			func(b io.ReadCloser) { _, _ = io.ReadAll(b) }, trace.Outcome{Class: trace.Timeout, Code: "200"}, "context deadline exceeded", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Clear: true}
			resp, err := r.Transport("bank", roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(test.body)}, nil
			})).RoundTrip(post(t, "https://bank.example/pay", ""))
			require.NoError(t, err)
			test.use(resp.Body)
			events := r.Trace().Events
			require.Len(t, events, 2)
			require.Equal(t, test.want, events[1].Outcome)
			require.Equal(t, test.text, events[1].Error)
			require.Equal(t, test.json, string(events[1].Result))
		})
	}
}

func TestTransportDigestsLargeBodies(t *testing.T) {
	large := strings.Repeat("a", trace.BodyLimit)
	r := &trace.Recorder{Clear: true}
	tp := r.Transport("bank", roundTrip(func(req *http.Request) (*http.Response, error) {
		return respond(200, large+large), nil
	}))
	for _, body := range []string{large + "1", large + "1", large + "2", "\xff\xfe", "\xff\xfd"} {
		resp, err := tp.RoundTrip(post(t, "https://bank.example/pay", body))
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Len(t, got, 2*len(large))
	}
	events := r.Trace().Events
	require.Len(t, events, 10)
	require.Less(t, len(events[0].Args), 300)
	require.Less(t, len(events[1].Result), 300)
	require.Contains(t, string(events[0].Args), "65537 bytes")
	require.True(t, trace.SameArgs(events[0].Args, events[2].Args))
	require.False(t, trace.SameArgs(events[0].Args, events[4].Args))
	require.False(t, trace.SameArgs(events[6].Args, events[8].Args), "what is no text must not become equal")
}

func TestTransportKeepsTheContractInOddCases(t *testing.T) {
	request := func(body io.Reader) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), "", "https://bank.example?%zz", body)
		require.NoError(t, err)
		req.Method = "" // as a client may leave it
		return req
	}
	t.Run("body that cannot be read", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		_, err := r.Transport("", nil).RoundTrip(request(iotest.ErrReader(io.ErrNoProgress)))
		require.ErrorIs(t, err, io.ErrNoProgress)
		require.Empty(t, r.Trace().Events, "the tool was not reached")
	})
	t.Run("no body", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		for _, body := range []io.ReadCloser{nil, http.NoBody} {
			_, err := r.Transport("", roundTrip(func(req *http.Request) (*http.Response, error) {
				require.Equal(t, body, req.Body)
				return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
			})).RoundTrip(func() *http.Request { req := request(nil); req.Body = body; return req }())
			require.NoError(t, err)
		}
		events := r.Trace().Events
		require.Len(t, events, 4)
		require.Equal(t, "GET bank.example", events[0].Tool)
		require.Equal(t, `{"host":"bank.example","method":"GET","path":"","query":"%zz"}`, string(events[0].Args))
		require.Equal(t, trace.Transient, events[1].Outcome.Class)
	})
	t.Run("neither response nor error", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		resp, err := r.Transport("", roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })).RoundTrip(request(nil))
		require.Nil(t, resp)
		require.NoError(t, err)
		require.Equal(t, trace.Unknown, r.Trace().Events[1].Outcome.Class)
	})
	t.Run("switching protocols", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		own := &http.Response{StatusCode: 101, Body: io.NopCloser(strings.NewReader(""))}
		resp, err := r.Transport("", roundTrip(func(*http.Request) (*http.Response, error) { return own, nil })).RoundTrip(request(nil))
		require.NoError(t, err)
		require.Same(t, own, resp, "its body can be written to")
		require.Len(t, r.Trace().Events, 2)
	})
	t.Run("panic", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		require.PanicsWithValue(t, "odd", func() {
			_, _ = r.Transport("", roundTrip(func(*http.Request) (*http.Response, error) { panic("odd") })).RoundTrip(request(nil))
		})
		require.Len(t, r.Trace().Events, 2)
	})
	t.Run("the response of next is not changed", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		own := respond(200, "x")
		body := own.Body
		_, err := r.Transport("", roundTrip(func(*http.Request) (*http.Response, error) { return own, nil })).RoundTrip(request(nil))
		require.NoError(t, err)
		require.Equal(t, body, own.Body)
	})
}

func TestTransportReadsHintsOnTheRecordersClock(t *testing.T) {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	r := &trace.Recorder{Clear: true, Clock: mock}
	resp, err := r.Transport("bank", roundTrip(func(*http.Request) (*http.Response, error) {
		return respond(429, "", "Retry-After", "Sat, 31 Jan 2026 12:00:05 GMT"), nil
	})).RoundTrip(post(t, "https://bank.example/pay", ""))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, trace.Outcome{Class: trace.Throttled, Code: "429", Hint: 5 * time.Second, Slack: time.Second}, r.Trace().Events[1].Outcome)
}

// A caller may measure a date from the response's Date or from its own clock.
func TestAHintThatIsADateLeavesBothReadersTheirWait(t *testing.T) {
	for date, want := range map[string]trace.Outcome{
		"Sat, 31 Jan 2026 12:00:00 GMT": {Hint: 1300 * time.Millisecond, Slack: 700 * time.Millisecond},
		"Sat, 31 Jan 2026 11:59:58 GMT": {Hint: 4 * time.Second, Slack: time.Second}, // a clock that is off
	} {
		mock := clock.NewMock()
		mock.Set(time.Date(2026, 1, 31, 12, 0, 0, 700e6, time.UTC))
		r := &trace.Recorder{Clear: true, Clock: mock}
		resp, err := r.Transport("bank", roundTrip(func(*http.Request) (*http.Response, error) {
			return respond(503, "", "Retry-After", "Sat, 31 Jan 2026 12:00:02 GMT", "Date", date), nil
		})).RoundTrip(post(t, "https://bank.example/pay", ""))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		want.Class, want.Code = trace.Transient, "503"
		require.Equal(t, want, r.Trace().Events[1].Outcome)
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	const (
		later = "Sat, 31 Jan 2026 12:00:30 GMT"
		date  = "Sat, 31 Jan 2026 12:00:20 GMT"
	)
	tests := []struct {
		ms, after, date string
		want            time.Duration
		ok              bool
	}{
		{"", "", "", 0, false},
		{"", "3", "", 3 * time.Second, true},
		{"", " 3 ", "", 3 * time.Second, true},
		{"", "0", "", 0, true},
		{"", "003", "", 3 * time.Second, true},
		{"", "1.5", "", 0, false},
		{"", "+3", "", 0, false},
		{"", "-3", "", 0, false},
		{"", "3s", "", 0, false},
		{"", "soon", "", 0, false},
		{"", "٣", "", 0, false},
		{"", "99999999999999999999999", "", math.MaxInt64, true},
		{"", "9223372037", "", math.MaxInt64, true},
		{"1500", "", "", 1500 * time.Millisecond, true},
		{"1500", "9", "", 1500 * time.Millisecond, true},
		{"-1", "9", "", 9 * time.Second, true},
		{"", later, "", 30 * time.Second, true},
		{"", later, date, 10 * time.Second, true},
		{"", later, "junk", 30 * time.Second, true},
		{"", date, later, 0, false},
		{"", later, later, 0, false},
		{"", "Saturday, 31-Jan-26 12:00:30 GMT", "", 30 * time.Second, true},
		{"", "Sat Jan 31 12:00:30 2026", "", 30 * time.Second, true},
		{"", "Sat, 31 Jan 2026 11:59:59 GMT", "", 0, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/%s/%s", test.ms, test.after, test.date), func(t *testing.T) {
			h := http.Header{}
			for name, value := range map[string]string{"Retry-After-Ms": test.ms, "Retry-After": test.after, "Date": test.date} {
				if value != "" {
					h.Set(name, value)
				}
			}
			got, ok := trace.ParseRetryAfter(h, now)
			require.Equal(t, test.ok, ok)
			require.Equal(t, test.want, got)
		})
	}
}

func TestTransportHidesWhatIsNotKept(t *testing.T) {
	r := &trace.Recorder{Keep: func(f string) bool { return f == "method" || f == "body.city" }}
	resp, err := r.Transport("", roundTrip(func(*http.Request) (*http.Response, error) {
		return respond(200, `{"owner":"jane@example.com"}`), nil
	})).RoundTrip(post(t, "https://api.example/users/jane@example.com?mail=jane@example.com", `{"city":"Pune","mail":"jane@example.com"}`))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	tr := r.Trace()
	var b bytes.Buffer
	_, err = tr.WriteTo(&b)
	require.NoError(t, err)
	require.NotContains(t, b.String()+tr.Timeline(), "jane")
	require.Contains(t, b.String(), `"city":"Pune"`)
	require.True(t, strings.HasPrefix(tr.Events[0].Tool, "POST api.example/~"), tr.Events[0].Tool)
}
