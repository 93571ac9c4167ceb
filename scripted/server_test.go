package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const (
	payURL = "https://api.pay.test/v1/charges"
	order  = `{"amount":7}`
)

func payRoute(s *scripted.Server) *scripted.Route {
	return s.Route("POST", "api.pay.test", "/v1/charges").Named("pay")
}

func post(t *testing.T, ctx context.Context, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", payURL, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	return req
}

// send returns the status and the body of a request, both zero on an error.
func send(t *testing.T, c *http.Client, req *http.Request) (int, string, error) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestRouteAnswersInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		payRoute(srv).Status(503).Times(2).JSON(201, map[string]string{"id": "ch-1"})
		c := srv.Client()
		for _, want := range []int{503, 503, 201} {
			status, body, err := send(t, c, post(t, t.Context(), strings.NewReader(order)))
			require.NoError(t, err)
			require.Equal(t, want, status)
			require.True(t, json.Valid([]byte(body)), body)
			time.Sleep(time.Second)
		}
		all := attempts(t, srv.Trace())
		require.Equal(t, []trace.Class{trace.Transient, trace.Transient, trace.OK}, classes(all))
		require.Equal(t, "503", all[0].Outcome.Code)
		require.Equal(t, time.Second, all[2].Gap)
		require.Equal(t, "pay", all[2].Tool)
		require.JSONEq(t, `{"id":"ch-1"}`, string(all[2].Result))
		require.JSONEq(t, `{"body":{"amount":7},"host":"api.pay.test","method":"POST","path":"/v1/charges"}`, string(all[2].Args))
	})
}

func TestAnswerEndsWithItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		payRoute(srv).JSON(200, order)
		resp, err := srv.Client().Do(post(t, t.Context(), nil))
		require.NoError(t, err)
		require.False(t, attempts(t, srv.Trace())[0].Seen, "the body is still to come")
		time.Sleep(time.Second)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, time.Second, attempts(t, srv.Trace())[0].End)
	})
}

func TestServerAsksForAWait(t *testing.T) {
	for name, tc := range map[string]struct {
		offset time.Duration
		option scripted.Option
		hint   time.Duration
		client func(http.Header) time.Duration // what a right client waits
		want   time.Duration
	}{
		"in seconds":         {0, scripted.RetryAfter(5 * time.Second), 5 * time.Second, seconds, 5 * time.Second},
		"in milliseconds":    {0, scripted.RetryAfterMs(500 * time.Millisecond), 500 * time.Millisecond, milliseconds, 500 * time.Millisecond},
		"by a date":          {0, scripted.RetryAfterDate(10 * time.Second), 10 * time.Second, untilDate, 10 * time.Second},
		"its clock is ahead": {300 * time.Second, scripted.RetryAfterDate(30 * time.Second), 30 * time.Second, untilDate, 30 * time.Second},
		"its clock is late":  {-300 * time.Second, scripted.RetryAfterDate(30 * time.Second), 30 * time.Second, untilDate, 30 * time.Second},
		"written by hand":    {0, scripted.Header("Retry-After", "7"), 7 * time.Second, seconds, 7 * time.Second},
		"unreadably":         {0, scripted.Header("Retry-After", "soon"), 0, seconds, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC)))
				srv := scripted.NewServer(t).ClockOffset(tc.offset)
				payRoute(srv).Status(429, tc.option).After(3 * time.Second)
				resp, err := srv.Client().Do(post(t, t.Context(), nil))
				require.NoError(t, err)
				resp.Body.Close()
				require.Equal(t, tc.want, tc.client(resp.Header))
				require.Equal(t, tc.hint, attempts(t, srv.Trace())[0].Outcome.Hint)
				if date := resp.Header.Get("Date"); date != "" {
					sent, err := http.ParseTime(date)
					require.NoError(t, err)
					require.Equal(t, tc.offset, sent.Sub(time.Now()), "the date is that of the sending")
				}
			})
		})
	}
}

func seconds(h http.Header) time.Duration {
	d, _ := time.ParseDuration(h.Get("Retry-After") + "s")
	return d
}

func milliseconds(h http.Header) time.Duration {
	d, _ := time.ParseDuration(h.Get("retry-after-ms") + "ms")
	return d
}

func untilDate(h http.Header) time.Duration {
	due, _ := http.ParseTime(h.Get("Retry-After"))
	sent, _ := http.ParseTime(h.Get("Date"))
	return due.Sub(sent)
}

func TestTransportErrorsReachTheCaller(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).Reset().NotConnected().Fail(trace.Timeout)
	c := srv.Client()

	_, _, err := send(t, c, post(t, t.Context(), nil))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, _, err = send(t, c, post(t, t.Context(), nil))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, _, err = send(t, c, post(t, t.Context(), nil))
	failure, ok := errors.AsType[net.Error](err)
	require.True(t, ok)
	require.True(t, failure.Timeout())
	require.Equal(t, []trace.Class{trace.Reset, trace.NotConnected, trace.Timeout}, classes(attempts(t, srv.Trace())))
}

func TestMalformedBodies(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).
		InvalidJSON().
		JSON(200, map[string]string{"id": "ch-1"}).CutShort(5).
		Text(200, "<html>", scripted.Header("Content-Type", "text/html")).
		Status(403).Means(trace.QuotaExhausted)
	c := srv.Client()

	_, body, err := send(t, c, post(t, t.Context(), nil))
	require.NoError(t, err)
	require.False(t, json.Valid([]byte(body)))

	resp, err := c.Do(post(t, t.Context(), nil))
	require.NoError(t, err)
	require.Equal(t, int64(13), resp.ContentLength)
	cut, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, `{"id"`, string(cut))
	resp.Body.Close()

	_, body, err = send(t, c, post(t, t.Context(), nil))
	require.NoError(t, err)
	require.Equal(t, "<html>", body)
	_, _, _ = send(t, c, post(t, t.Context(), nil))
	require.Equal(t, []trace.Class{trace.Malformed, trace.Reset, trace.OK, trace.QuotaExhausted}, classes(attempts(t, srv.Trace())))
}

func TestRequestEndsWithItsTime(t *testing.T) {
	type scene struct {
		client  func(*http.Client)
		context func(context.Context) (context.Context, context.CancelFunc)
		step    func(*scripted.Route) *scripted.Route
		class   trace.Class
		timeout bool
	}
	hang := func(r *scripted.Route) *scripted.Route { return r.Hang() }
	slow := func(r *scripted.Route) *scripted.Route { return r.JSON(200, 1).After(time.Minute) }
	oneSecond := func(c *http.Client) { c.Timeout = time.Second }
	deadline := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Second)
	}
	cancel := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return ctx, cancel
	}
	for name, tc := range map[string]scene{
		"the client's timeout, hang":   {oneSecond, nil, hang, trace.Timeout, true},
		"the client's timeout, slow":   {oneSecond, nil, slow, trace.Timeout, true},
		"the context's deadline, hang": {nil, deadline, hang, trace.Timeout, true},
		"the context's deadline, slow": {nil, deadline, slow, trace.Timeout, true},
		"a cancel in flight, hang":     {nil, cancel, hang, trace.Cancelled, false},
		"a cancel in flight, slow":     {nil, cancel, slow, trace.Cancelled, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := scripted.NewServer(t)
				tc.step(payRoute(srv))
				c, ctx := srv.Client(), t.Context()
				if tc.client != nil {
					tc.client(c)
				}
				if tc.context != nil {
					var stop context.CancelFunc
					ctx, stop = tc.context(ctx)
					defer stop()
				}
				start := time.Now()
				_, _, err := send(t, c, post(t, ctx, strings.NewReader(order)))
				require.Equal(t, time.Second, time.Since(start))
				failure, ok := errors.AsType[*url.Error](err)
				require.True(t, ok)
				require.Equal(t, tc.timeout, failure.Timeout())
				only := attempts(t, srv.Trace())[0]
				require.Equal(t, tc.class, only.Outcome.Class)
				require.Equal(t, time.Second, only.End)
			})
		})
	}
}

func TestContextThatEndsWhileTheBodyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		payRoute(srv).JSON(200, order)
		c := srv.Client()
		c.Timeout = time.Second
		resp, err := c.Do(post(t, t.Context(), nil))
		require.NoError(t, err)
		defer resp.Body.Close()
		time.Sleep(2 * time.Second)
		_, err = io.ReadAll(resp.Body)
		require.True(t, os.IsTimeout(err), "%v", err)
		require.Equal(t, []trace.Class{trace.Timeout}, classes(attempts(t, srv.Trace())))
	})
}

func TestCauseOfACancelIsTheErrorAsInNetHTTP(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).Status(200)
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := srv.RoundTrip(post(t, ctx, nil))
	require.ErrorIs(t, err, why)
	require.Equal(t, []trace.Class{trace.Cancelled}, classes(attempts(t, srv.Trace())))
}

func TestDeafServerAnswersLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		payRoute(srv).JSON(200, 1).After(time.Minute).Deaf()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := srv.RoundTrip(post(t, ctx, nil))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "1", string(body))
		only := attempts(t, srv.Trace())[0]
		require.Equal(t, time.Second, only.Interrupted)
		require.Equal(t, time.Minute, only.Answered)
	})
}

func TestEveryAttemptsBodyIsRecorded(t *testing.T) {
	raw := []byte{0xff, 0, '{', 0x80}
	srv := scripted.NewServer(t)
	pay := payRoute(srv).Status(503).Status(200)
	req := post(t, t.Context(), bytes.NewReader(raw))
	for range 2 {
		_, _, err := send(t, srv.Client(), req)
		require.NoError(t, err)
		req.Body, err = req.GetBody()
		require.NoError(t, err)
	}
	sent := pay.Requests()
	require.Len(t, sent, 2)
	require.Equal(t, raw, sent[0].Body)
	require.Equal(t, raw, sent[1].Body)
	require.Equal(t, sent, srv.Requests())
	require.Equal(t, "application/json", sent[0].Header.Get("Content-Type"))
}

// stream hides the type of a reader, so that net/http knows neither its length
// nor how to read it again.
type stream struct{ io.Reader }

func TestSecondAttemptOfAOneShotBodyIsEmpty(t *testing.T) {
	for name, body := range map[string]io.Reader{"length known": strings.NewReader(order), "stream": stream{strings.NewReader(order)}} {
		t.Run(name, func(t *testing.T) {
			srv := scripted.NewServer(t)
			pay := payRoute(srv).Status(503).Status(200)
			req := post(t, t.Context(), body)
			_, _, err := send(t, srv.Client(), req)
			require.NoError(t, err)
			_, _, err = send(t, srv.Client(), req) // the fault: Body was not renewed
			if name == "stream" {
				require.NoError(t, err, "a server takes an empty stream for an empty form")
			} else {
				require.ErrorContains(t, err, "http: ContentLength=12 with Body length 0")
			}
			sent := pay.Requests()
			require.Equal(t, order, string(sent[0].Body))
			require.NotNil(t, sent[1].Body)
			require.Empty(t, sent[1].Body)
			all := attempts(t, srv.Trace())
			require.False(t, trace.SameArgs(all[0].Args, all[1].Args))
		})
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestRoundTripKeepsItsContract(t *testing.T) {
	for name, script := range map[string]func(*scripted.Route){
		"answer":        func(r *scripted.Route) { r.JSON(200, 1) },
		"error":         func(r *scripted.Route) { r.Reset() },
		"handler":       func(r *scripted.Route) { r.Handle(scripted.JSON(200, 1)) },
		"beyond script": func(r *scripted.Route) {},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(m *memory) {
				srv := scripted.NewServer(m)
				script(payRoute(srv))
				body := &closing{Reader: strings.NewReader(order)}
				req := post(t, t.Context(), body)
				before, header := *req, req.Header.Clone()
				resp, err := srv.RoundTrip(req)
				require.NotEqual(t, resp == nil, err == nil, "either a response or an error")
				require.True(t, body.closed)
				require.Equal(t, before, *req)
				require.Equal(t, header, req.Header)
				if resp != nil {
					require.Same(t, req, resp.Request)
					require.NotNil(t, resp.Body)
				}
			})
		})
	}
}

func TestRequestWithoutHostIsRefused(t *testing.T) {
	body := &closing{Reader: strings.NewReader(order)}
	_, err := scripted.NewServer(t).RoundTrip(&http.Request{Method: "GET", Body: body})
	require.ErrorContains(t, err, "no Host")
	require.True(t, body.closed)
}

func TestRoutesMatchByPattern(t *testing.T) {
	srv := scripted.NewServer(t)
	srv.Route("GET", "*.pay.test", "/v1/charges/*").Named("one charge").Status(200).Any()
	srv.Route("*", "pay.test:8443", "/").Named("root").Status(204).Any()
	srv.Route("GET", "[::1]:8443", "/").Named("local").Status(204).Any()
	for _, url := range []string{"https://EU.pay.test/v1/charges/7?x=1", "https://pay.test:8443", "http://[::1]:8443/"} {
		resp, err := srv.Client().Get(url)
		require.NoError(t, err)
		resp.Body.Close()
	}
	var names []string
	for _, r := range srv.Requests() {
		names = append(names, r.Route)
	}
	require.Equal(t, []string{"one charge", "root", "local"}, names)
}

func TestAuthenticationAndReconciliationAreNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		srv.Route("POST", "auth.test", "/token").As(trace.RoleAuth).JSON(200, "t1").Any()
		srv.Route("GET", "api.pay.test", "/v1/charges").As(trace.RoleReconcile).JSON(200, nil).Any()
		payRoute(srv).Status(503).Status(200)
		c := srv.Client()
		for range 2 {
			for _, where := range []string{"POST https://auth.test/token", "GET " + payURL, "POST " + payURL} {
				method, url, _ := strings.Cut(where, " ")
				req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
				require.NoError(t, err)
				_, _, err = send(t, c, req)
				require.NoError(t, err)
			}
		}
		require.Len(t, attempts(t, srv.Trace()), 2)
		require.Len(t, srv.Requests(), 6)
	})
}

func TestKeyComesFromTheHeaderOrAField(t *testing.T) {
	srv := scripted.NewServer(t).Key("body.request_id").Volatile("query.signature")
	payRoute(srv).Status(200).Any()
	do := func(query, header, body string) {
		req := post(t, t.Context(), strings.NewReader(body))
		req.URL.RawQuery = query
		if header != "" {
			req.Header.Set("Idempotency-Key", header)
		}
		_, _, err := send(t, srv.Client(), req)
		require.NoError(t, err)
	}
	do("signature=1", "k1", order)
	do("signature=2", "", `{"amount":7,"request_id":"k2"}`)
	all := attempts(t, srv.Trace())
	require.Equal(t, "k1", all[0].Key)
	require.Equal(t, "k2", all[1].Key)
	require.JSONEq(t, `{"body":{"amount":7},"host":"api.pay.test","method":"POST","path":"/v1/charges","query":{}}`, string(all[1].Args))
	require.Equal(t, string(all[0].Args), string(all[1].Args))
	require.Equal(t, "k2", srv.Requests()[1].Key)
}

func TestHandlerIsAStep(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).
		Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(429)
			w.WriteHeader(200) // too late, as in net/http
			_, _ = w.Write(append([]byte(r.RequestURI+" "+r.Host+" "), body...))
		})).
		Handle(scripted.JSON(200, map[string]int{"n": 1})).
		Handle(scripted.JSON(200, make(chan int))).
		Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).
		Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c := srv.Client()
	do := func() (int, string, error) { return send(t, c, post(t, t.Context(), strings.NewReader(order))) }

	status, body, err := do()
	require.NoError(t, err)
	require.Equal(t, 429, status)
	require.Equal(t, "/v1/charges api.pay.test "+order, body)
	_, body, _ = do()
	require.Equal(t, `{"n":1}`, body)
	status, _, _ = do()
	require.Equal(t, 500, status)
	_, _, err = do()
	require.ErrorIs(t, err, syscall.ECONNRESET)
	status, body, err = do()
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Empty(t, body)
	all := attempts(t, srv.Trace())
	require.Equal(t, []trace.Class{trace.Throttled, trace.OK, trace.Transient, trace.Reset, trace.OK}, classes(all))
	require.Equal(t, 3*time.Second, all[0].Outcome.Hint)
}

func TestPanicOfARouteComesFromTheCallersGoroutine(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).Panic("oops")
	require.PanicsWithValue(t, "oops", func() { _, _ = srv.RoundTrip(post(t, t.Context(), nil)) })
	require.Equal(t, []trace.Class{trace.Unknown}, classes(attempts(t, srv.Trace())))
}

func TestServerDedupesByKey(t *testing.T) {
	charge := map[string]string{"id": "ch-1"}
	handler := scripted.JSON(201, map[string]string{"id": "ch-2"})
	for name, tc := range map[string]struct {
		script func(*scripted.Route)
		bodies []string
		status []int
		last   string
		counts int
	}{
		"lost, then answered":      {func(r *scripted.Route) { r.Lose(trace.Reset).JSON(201, charge) }, []string{order, order}, []int{0, 201}, `{"id":"ch-1"}`, 1},
		"answered twice":           {func(r *scripted.Route) { r.JSON(201, charge).JSON(201, 2) }, []string{order, order}, []int{201, 201}, `{"id":"ch-1"}`, 1},
		"cut, then whole":          {func(r *scripted.Route) { r.JSON(201, charge).CutShort(3).JSON(201, 2) }, []string{order, order}, []int{201, 201}, `{"id":"ch-1"}`, 1},
		"handled, then answered":   {func(r *scripted.Route) { r.Handle(handler).JSON(201, 2) }, []string{order, order}, []int{201, 201}, `{"id":"ch-2"}`, 1},
		"answered, then handled":   {func(r *scripted.Route) { r.JSON(201, charge).Handle(handler) }, []string{order, order}, []int{201, 201}, `{"id":"ch-1"}`, 1},
		"failed, then answered":    {func(r *scripted.Route) { r.Status(503).JSON(201, charge) }, []string{order, order}, []int{503, 201}, `{"id":"ch-1"}`, 1},
		"handled without success":  {func(r *scripted.Route) { r.Handle(http.NotFoundHandler()).JSON(201, charge) }, []string{order, order}, []int{404, 201}, `{"id":"ch-1"}`, 1},
		"done although it failed":  {func(r *scripted.Route) { r.Status(503).Done().JSON(201, charge) }, []string{order, order}, []int{503, 201}, `{"id":"ch-1"}`, 1},
		"done early":               {func(r *scripted.Route) { r.JSON(201, charge).Done().JSON(201, 2) }, []string{order, order}, []int{201, 201}, `{"id":"ch-1"}`, 1},
		"declined":                 {func(r *scripted.Route) { r.JSON(200, "no").Means(trace.Declined).JSON(201, charge) }, []string{order, order}, []int{200, 201}, `{"id":"ch-1"}`, 1},
		"other arguments":          {func(r *scripted.Route) { r.JSON(201, charge).JSON(201, 2) }, []string{order, `{"amount":8}`}, []int{201, 409}, `{"error":{"code":"idempotency_conflict","message":"pay: key \"k1\" was used with other arguments"}}`, 1},
		"other arguments, handled": {func(r *scripted.Route) { r.JSON(201, charge).Handle(handler) }, []string{order, `{"amount":8}`}, []int{201, 409}, `{"error":{"code":"idempotency_conflict","message":"pay: key \"k1\" was used with other arguments"}}`, 1},
		"other arguments, lost":    {func(r *scripted.Route) { r.JSON(201, charge).Lose(trace.Reset) }, []string{order, `{"amount":8}`}, []int{201, 409}, `{"error":{"code":"idempotency_conflict","message":"pay: key \"k1\" was used with other arguments"}}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			books := &scripted.Ledger{Dedupe: true}
			srv := scripted.NewServer(t).Ledger(books)
			tc.script(payRoute(srv))
			var last string
			for i, body := range tc.bodies {
				req := post(t, t.Context(), strings.NewReader(body))
				req.Header.Set("Idempotency-Key", "k1")
				resp, err := srv.RoundTrip(req)
				if tc.status[i] == 0 {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, tc.status[i], resp.StatusCode)
				text, _ := io.ReadAll(resp.Body)
				last = string(text)
			}
			require.Equal(t, tc.last, last)
			require.Equal(t, map[string]int{"k1": tc.counts}, books.ByKey())
			require.Len(t, effects(srv.Trace()), tc.counts)
		})
	}
}

func TestLossIsAnEffectWithoutALedgerToo(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).Lose(trace.Reset).JSON(201, 1)
	for range 2 {
		_, _, _ = send(t, srv.Client(), post(t, t.Context(), nil))
	}
	require.Len(t, effects(srv.Trace()), 1, "without a ledger, only what the script calls done")
}

func TestServerAndToolShareARecorder(t *testing.T) {
	rec := &trace.Recorder{Clear: true}
	srv := scripted.NewServer(t).Into(rec)
	payRoute(srv).Status(200)
	weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).Return(Forecast{})
	_, _ = weather.Call(t.Context(), pune)
	_, _, _ = send(t, srv.Client(), post(t, t.Context(), nil))
	require.Len(t, attempts(t, rec.Trace()), 2)
}

func TestServerAllowsUnusedStepsWhenAsked(t *testing.T) {
	requireQuiet(t, watch(t, func(m *memory) {
		payRoute(scripted.NewServer(m).AllowUnused()).Status(200)
		payRoute(scripted.NewServer(m)).AllowUnused().Status(200)
	}))
}

func TestManyClientsAtOnce(t *testing.T) {
	srv := scripted.NewServer(t)
	payRoute(srv).Status(503).Times(200).JSON(200, 1).Times(200)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 25 {
				resp, err := srv.Client().Do(post(t, t.Context(), strings.NewReader(order)))
				if err == nil {
					_, _ = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, srv.Requests(), 400)
	require.Len(t, attempts(t, srv.Trace()), 400)
}

func TestUnmatchedRequestFailsAtOnce(t *testing.T) {
	reports := watch(t, func(m *memory) {
		srv := scripted.NewServer(m)
		_, _, err := send(t, srv.Client(), post(t, t.Context(), strings.NewReader(order)))
		require.ErrorIs(t, err, scripted.ErrUnmatched)
		require.Equal(t, order, string(srv.Requests()[0].Body))
		require.Len(t, attempts(t, srv.Trace()), 1)
	})
	require.Len(t, reports, 1)
}

func TestDefaultTransportIsReplacedForOneTest(t *testing.T) {
	before := http.DefaultTransport
	t.Run("inside", func(t *testing.T) {
		srv := scripted.NewServer(t)
		srv.ReplaceDefaultTransport()
		srv.Route("GET", "api.test", "/a").Text(200, "a")
		payRoute(srv).Status(201)

		resp, err := http.Get("http://api.test/a")
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, "a", string(body))

		c := &http.Client{Timeout: time.Second}
		resp, err = c.Post(payURL, "application/json", strings.NewReader(order))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, order, string(srv.Requests()[1].Body))
	})
	require.Same(t, before, http.DefaultTransport)
}

func TestDefaultTransportInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		srv.ReplaceDefaultTransport()
		payRoute(srv).Hang()
		start := time.Now()
		_, err := (&http.Client{Timeout: time.Minute}).Post(payURL, "application/json", strings.NewReader(order))
		require.True(t, os.IsTimeout(err))
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	srv := scripted.NewServer(b)
	srv.Route("POST", "api.pay.test", "/v1/charges").JSON(200, map[string]string{"id": "ch-1"}).Any()
	body := []byte(order)
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequestWithContext(b.Context(), "POST", payURL, bytes.NewReader(body))
		resp, err := srv.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func TestSettingsOfOneRoute(t *testing.T) {
	books := &scripted.Ledger{}
	srv := scripted.NewServer(t).Volatile("body.at")
	pay := payRoute(srv).Ledger(books).Key("body.id").Volatile("body.sig").JSON(201, 1)
	other := srv.Route("POST", "api.pay.test", "/v1/refunds").JSON(201, 1)
	body := `{"id":7,"at":1,"sig":2}`
	for _, path := range []string{"/v1/charges", "/v1/refunds"} {
		req := post(t, t.Context(), strings.NewReader(body))
		req.URL.Path = path
		_, _, err := send(t, srv.Client(), req)
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int{"7": 1}, books.ByKey())
	all := attempts(t, srv.Trace())
	require.Contains(t, string(all[0].Args), `"body":{}`)
	require.Contains(t, string(all[1].Args), `"body":{"id":7,"sig":2}`)
	require.Equal(t, 1, pay.Calls())
	require.Equal(t, 1, other.Calls())
}

func TestLatencyOfAServerRunsOnItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		mock.Set(time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC))
		srv := scripted.NewServer(t).Clock(mock)
		payRoute(srv).Status(429, scripted.RetryAfterDate(time.Minute)).After(time.Second)
		done := make(chan *http.Response, 1)
		go func() {
			resp, _ := srv.RoundTrip(post(t, t.Context(), nil))
			done <- resp
		}()
		synctest.Wait()
		mock.Add(time.Second)
		require.Equal(t, "Tue, 14 Jul 2026 09:01:01 GMT", (<-done).Header.Get("Retry-After"))
	})
}

func TestClientTimeoutWhileARequestIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		payRoute(srv).Status(200)
		c := srv.Client()
		c.Timeout = time.Second
		body, _ := io.Pipe() // nobody writes
		_, _, err := send(t, c, post(t, t.Context(), body))
		require.True(t, os.IsTimeout(err), "%v", err)
		require.Equal(t, []trace.Class{trace.Timeout}, classes(attempts(t, srv.Trace())))
	})
}

func TestHangingRequestHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := scripted.NewServer(t)
		pay := payRoute(srv).Hang().JSON(200, 1).After(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		hung := make(chan error, 1)
		go func() {
			_, err := srv.RoundTrip(post(t, ctx, nil))
			hung <- err
		}()
		synctest.Wait()
		_, _, err := send(t, srv.Client(), post(t, t.Context(), nil))
		require.NoError(t, err)
		require.Len(t, pay.Requests(), 2)
		cancel()
		require.ErrorIs(t, <-hung, context.Canceled)
	})
}

// A handler writes its own date, and a caller that measures it by its own clock
// comes a part of a second before one that measures it from the Date.
func TestAHandlersDateLeavesBothReadersTheirWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(700 * time.Millisecond)
		srv := scripted.NewServer(t)
		srv.Route("GET", "api.test", "/").Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
			w.Header().Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}))
		resp, err := srv.Client().Get("http://api.test/")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		o := srv.Trace().Actions()[0].Attempts[0].Outcome
		require.Equal(t, 1300*time.Millisecond, o.Hint)
		require.Equal(t, 700*time.Millisecond, o.Slack)
	})
}

// A recorder that reads the key off a body does so behind a server as well.
func TestTheRecordersKeyIsTheServersToo(t *testing.T) {
	r := &trace.Recorder{Clear: true, Key: "idem"}
	srv := scripted.NewServer(t).Into(r)
	srv.Route("POST", "api.test", "/").JSON(200, 1)
	resp, err := srv.Client().Post("http://api.test/", "application/json", strings.NewReader(`{"n":1,"idem":"k1"}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	at := r.Trace().Actions()[0].Attempts[0]
	require.Equal(t, "k1", at.Key)
	require.NotContains(t, string(at.Args), "idem")
}
