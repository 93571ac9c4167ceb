package double_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func call(ctx context.Context) (*trace.Recorder, trace.Pending) {
	r := &trace.Recorder{Clear: true}
	return r, r.Call(ctx, trace.Call{Tool: "pay"})
}

func TestAnswerComesAfterItsLatency(t *testing.T) {
	for name, tc := range map[string]struct {
		timing double.Timing
		limit  time.Duration
		want   trace.Class
		after  time.Duration
	}{
		"at once":                       {double.Timing{}, time.Second, 0, 0},
		"later":                         {double.Timing{Latency: 2 * time.Second}, 3 * time.Second, 0, 2 * time.Second},
		"too late":                      {double.Timing{Latency: 2 * time.Second}, time.Second, trace.Timeout, time.Second},
		"never":                         {double.Timing{Hang: true}, time.Second, trace.Timeout, time.Second},
		"one nanosecond in time":        {double.Timing{Latency: time.Second - 1}, time.Second, 0, time.Second - 1},
		"one nanosecond late":           {double.Timing{Latency: time.Second + 1}, time.Second, trace.Timeout, time.Second},
		"deaf, late":                    {double.Timing{Latency: 2 * time.Second, Deaf: true}, time.Second, 0, 2 * time.Second},
		"context over before":           {double.Timing{}, -1, trace.Timeout, 0},
		"context over before, deaf":     {double.Timing{Deaf: true}, -1, 0, 0},
		"context over before, and slow": {double.Timing{Latency: time.Second}, -1, trace.Timeout, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
				defer cancel()
				start := time.Now()
				_, p := call(ctx)
				require.Equal(t, tc.want, tc.timing.Play(ctx, nil, p))
				require.Equal(t, tc.after, time.Since(start))
			})
		})
	}
}

func TestDeafToolWritesDownTheInstantOfTheInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, p := call(ctx)
		double.Timing{Latency: time.Minute, Deaf: true}.Play(ctx, nil, p)
		events := r.Trace().Events
		require.Len(t, events, 2)
		require.Equal(t, trace.KindInterrupt, events[1].Kind)
		require.Equal(t, time.Second, events[1].At)
		require.Equal(t, trace.Timeout, events[1].Outcome.Class)
	})
}

func TestHangEndsWithACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		_, p := call(ctx)
		require.Equal(t, trace.Cancelled, double.Timing{Hang: true}.Play(ctx, nil, p))
	})
}

func TestDeafHangNeverReturns(t *testing.T) {
	blocked := func() (text any) {
		defer func() { text = recover() }()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, p := call(ctx)
			go double.Timing{Hang: true, Deaf: true}.Play(ctx, nil, p)
			time.Sleep(time.Hour)
		})
		return nil
	}()
	require.Contains(t, fmt.Sprint(blocked), "blocked goroutines remain")
}

func TestLatencyRunsOnTheClockThatWasHandedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		var answered bool
		_, p := call(t.Context())
		go func() {
			double.Timing{Latency: time.Second}.Play(t.Context(), mock, p)
			answered = true
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.False(t, answered)
		mock.Add(time.Second)
		synctest.Wait()
		require.True(t, answered)
	})
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	return req
}

func TestEveryClassReadsInHTTPAsItsOwn(t *testing.T) {
	now := time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC)
	for _, class := range trace.Classes() {
		t.Run(class.String(), func(t *testing.T) {
			reply := double.Reply{Class: class}
			resp, err := reply.Respond(request(t, "POST", "https://api.pay.test/v1", "{}"), now)
			if err != nil {
				require.False(t, reply.Connects())
				require.Equal(t, class, trace.Classify(err).Class)
				return
			}
			require.True(t, reply.Connects())
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			switch class {
			case trace.QuotaExhausted:
				require.Equal(t, 429, resp.StatusCode)
				require.Contains(t, string(body), `"code":"insufficient_quota"`)
			case trace.Declined:
				require.Equal(t, 402, resp.StatusCode)
			case trace.Malformed:
				require.Equal(t, 200, resp.StatusCode)
				require.False(t, json.Valid(body))
			default:
				require.Equal(t, class, trace.ClassifyStatus(resp.StatusCode))
			}
			require.Equal(t, int64(len(body)), resp.ContentLength)
		})
	}
}

func TestTransportErrorsHaveTheTypesOfNetHTTP(t *testing.T) {
	req := request(t, "GET", "https://api.pay.test/v1", "")
	_, err := double.Reply{Class: trace.Reset}.Respond(req, time.Time{})
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Equal(t, "read tcp api.pay.test: read: connection reset by peer", err.Error())

	_, err = double.Reply{Class: trace.NotConnected}.Respond(req, time.Time{})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	op, ok := errors.AsType[*net.OpError](err)
	require.True(t, ok)
	require.Equal(t, "dial", op.Op)

	_, err = double.Reply{Class: trace.Timeout}.Respond(req, time.Time{})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	timeout, ok := errors.AsType[net.Error](err)
	require.True(t, ok)
	require.True(t, timeout.Timeout())
}

func TestHintIsWrittenInItsForm(t *testing.T) {
	now := time.Date(2026, 7, 14, 9, 0, 0, 400e6, time.UTC)
	for name, tc := range map[string]struct {
		hint   double.Hint
		header map[string]string
		seen   time.Duration
		read   time.Duration
	}{
		"seconds":           {double.Hint{Form: double.HintSeconds, Wait: 2 * time.Second}, map[string]string{"Retry-After": "2"}, 2 * time.Second, 2 * time.Second},
		"seconds, up":       {double.Hint{Form: double.HintSeconds, Wait: 1500 * time.Millisecond}, map[string]string{"Retry-After": "2"}, 2 * time.Second, 2 * time.Second},
		"milliseconds":      {double.Hint{Form: double.HintMillis, Wait: 500 * time.Millisecond}, map[string]string{"Retry-After-Ms": "500"}, 500 * time.Millisecond, 500 * time.Millisecond},
		"date":              {double.Hint{Form: double.HintDate, Wait: 10 * time.Second}, map[string]string{"Retry-After": "Tue, 14 Jul 2026 09:00:11 GMT", "Date": "Tue, 14 Jul 2026 09:00:00 GMT"}, 10 * time.Second, 11 * time.Second},
		"date, server late": {double.Hint{Form: double.HintDate, Wait: 10 * time.Second, Offset: -5 * time.Minute}, map[string]string{"Retry-After": "Tue, 14 Jul 2026 08:55:11 GMT", "Date": "Tue, 14 Jul 2026 08:55:00 GMT"}, 10 * time.Second, 11 * time.Second},
		"none":              {double.Hint{}, map[string]string{"Retry-After": ""}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			reply := double.Reply{Class: trace.Throttled, Hint: tc.hint}
			resp, err := reply.Respond(request(t, "GET", "https://api.test/", ""), now)
			require.NoError(t, err)
			for field, want := range tc.header {
				require.Equal(t, want, resp.Header.Get(field))
			}
			require.Equal(t, tc.seen, reply.Outcome().Hint)
			wait, slack := double.ReadHint(resp.Header, now)
			require.Equal(t, tc.read, wait+slack)
			if tc.hint.Form == double.HintDate && tc.hint.Offset == 0 {
				require.Equal(t, 10600*time.Millisecond, wait, "by the caller's own clock")
			} else {
				require.Zero(t, slack)
			}
		})
	}
}

func TestUnreadableHintAsksForNothing(t *testing.T) {
	now := time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC)
	for _, junk := range []string{"", "soon", "-3", "+3", "1.5", "0", "Tue, 14 Jul 2020 09:00:00 GMT"} {
		wait, slack := double.ReadHint(http.Header{"Retry-After": {junk}}, now)
		require.Zero(t, wait+slack, junk)
	}
}

func TestBodyEndsTheAnswer(t *testing.T) {
	send := func(t *testing.T, ctx context.Context, r double.Reply) (*http.Response, *[]trace.Class) {
		resp, err := r.Respond(request(t, "GET", "https://api.test/", ""), time.Now())
		require.NoError(t, err)
		ends := &[]trace.Class{}
		double.Deliver(ctx, resp, func(c trace.Class) { *ends = append(*ends, c) })
		return resp, ends
	}
	ok := double.Reply{Class: trace.OK, Body: []byte(`{"celsius":19}`)}

	t.Run("read to its end", func(t *testing.T) {
		resp, ends := send(t, t.Context(), ok)
		require.Empty(t, *ends)
		_, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, []trace.Class{0}, *ends)
	})
	t.Run("closed unread", func(t *testing.T) {
		resp, ends := send(t, t.Context(), ok)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, []trace.Class{0}, *ends)
		_, err := resp.Body.Read(make([]byte, 1))
		require.ErrorIs(t, err, http.ErrBodyReadAfterClose)
	})
	t.Run("cut short", func(t *testing.T) {
		cut := ok
		cut.Cut, cut.CutAt = true, 4
		resp, ends := send(t, t.Context(), cut)
		body, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, `{"ce`, string(body))
		require.Equal(t, int64(14), resp.ContentLength)
		require.Equal(t, []trace.Class{0}, *ends)
	})
	t.Run("context over while it is read", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		resp, ends := send(t, ctx, ok)
		cancel()
		_, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []trace.Class{trace.Cancelled}, *ends)
	})
	t.Run("no body", func(t *testing.T) {
		_, ends := send(t, t.Context(), double.Reply{Class: trace.OK, Status: 204})
		require.Equal(t, []trace.Class{0}, *ends)
	})
}

func TestCaptureComparesWhatTheRequestMeans(t *testing.T) {
	read := func(method, url, kind, body string, f double.Fields) *double.Request {
		req := request(t, method, url, body)
		req.Header.Set("Content-Type", kind)
		r, err := double.Capture(req, f)
		require.NoError(t, err)
		return r
	}
	json, form := "application/json", "application/x-www-form-urlencoded"
	fields := double.Fields{Key: "body.key", Volatile: []string{"body.meta.at", "query.sig", "body.items.at"}}

	one := read("POST", "https://API.pay.test/v1?sig=1&a=2", json, `{"key":"k1","amount":7,"meta":{"at":1},"items":[{"id":1,"at":2}]}`, fields)
	two := read("POST", "https://api.pay.test/v1?a=2&sig=9", json, `{"items":[{"at":5,"id":1}],"meta":{"at":3},"amount":7.0,"key":"k2"}`, fields)
	require.Equal(t, "k1", one.Key)
	require.Equal(t, "k2", two.Key)
	require.JSONEq(t, `{"body":{"amount":7,"items":[{"id":1}],"meta":{}},"host":"api.pay.test","method":"POST","path":"/v1","query":{"a":"2"}}`, string(one.Args))
	require.True(t, trace.SameArgs(one.Args, two.Args))

	require.JSONEq(t, `{"body":{"a":["1","2"],"b":"3"},"host":"h.test","method":"PUT","path":"/"}`,
		string(read("PUT", "https://h.test", form, "b=3&a=1&a=2", double.Fields{}).Args))
	require.JSONEq(t, `{"body":"plain \"text\"","host":"h.test","method":"PUT","path":"/a\"b"}`,
		string(read("PUT", "https://h.test/a%22b", "text/plain", `plain "text"`, double.Fields{}).Args))
	require.JSONEq(t, `{"body":"base64:/wA=","host":"h.test","method":"PUT","path":"/"}`,
		string(read("PUT", "https://h.test", "application/octet-stream", "\xff\x00", double.Fields{}).Args))
	require.True(t, trace.SameArgs(
		read("PUT", "https://h.test", "multipart/form-data; boundary=x1", "--x1\r\nhi\r\n--x1--", double.Fields{}).Args,
		read("PUT", "https://h.test", "multipart/form-data; boundary=y2", "--y2\r\nhi\r\n--y2--", double.Fields{}).Args))
}

func TestSpentBodyIsRefusedAsNetHTTPDoes(t *testing.T) {
	req := request(t, "POST", "https://api.test/", `{"a":1}`)
	first, err := double.Capture(req, double.Fields{})
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(first.Body))
	second, err := double.Capture(req, double.Fields{})
	require.EqualError(t, err, "http: ContentLength=7 with Body length 0")
	require.NotNil(t, second.Body)
	require.Empty(t, second.Body)
}

func TestStreamThatNeverEndsIsLeftWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		body, _ := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, "POST", "https://api.test/", body)
		require.NoError(t, err)
		_, err = double.Capture(req, double.Fields{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

type node struct {
	Name string
	Next *node
	Tags []string
	Any  any
	At   time.Time
	By   map[string][]int
	f    *int
}

type cell struct {
	Next *cell
	List []*cell
}

func TestCloneSharesNothing(t *testing.T) {
	secret := 1
	in := node{Name: "a", Tags: []string{"x"}, Any: []any{map[string]any{"k": []int{1}}}, At: time.Now(), By: map[string][]int{"k": {1}}, f: &secret}
	out := double.Clone(in)
	require.Equal(t, in, out)
	out.Tags[0], out.By["k"][0] = "y", 2
	out.Any.([]any)[0].(map[string]any)["k"].([]int)[0] = 2
	require.Equal(t, "x", in.Tags[0])
	require.Equal(t, 1, in.By["k"][0])
	require.Equal(t, 1, in.Any.([]any)[0].(map[string]any)["k"].([]int)[0])
	require.Equal(t, "text", double.Clone("text"))
	require.Nil(t, double.Clone[any](nil))
	require.Same(t, &secret, double.Clone(&in).f, "an opaque struct behind a pointer is shared")
}

func TestCloneFollowsACycleOnce(t *testing.T) {
	c := &cell{}
	c.Next, c.List = c, []*cell{c}
	d := double.Clone(c)
	require.NotSame(t, c, d)
	require.Same(t, d, d.Next)
	require.Same(t, d, d.List[0])
	loop := []any{nil}
	loop[0] = loop
	require.NotPanics(t, func() { double.Clone(loop) })
}

type memory struct {
	reports  []string
	cleanups []func()
}

func (m *memory) Helper()                   {}
func (m *memory) Errorf(f string, a ...any) { m.reports = append(m.reports, f) }
func (m *memory) Cleanup(f func())          { m.cleanups = append(m.cleanups, f) }
func (m *memory) end()                      { m.cleanups[0]() }

func TestDoorLetsEachReportThroughOnceAndNoneAfterTheEnd(t *testing.T) {
	m := &memory{}
	d := double.NewDoor(m, nil)
	require.True(t, d.Report("a", "first"))
	require.False(t, d.Report("a", "again"))
	require.True(t, d.Report("b", "other"))
	m.end()
	require.False(t, d.Report("c", "late"))
	require.Len(t, m.reports, 2)
	require.True(t, d.Reported("b"))
	require.False(t, d.Reported("c"))
}
