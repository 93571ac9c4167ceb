package zoo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func web() []Specimen {
	return []Specimen{
		{"http-seconds-read-as-milliseconds", "The number of Retry-After is taken for milliseconds.",
			"F009", "hint-honoured", online(webPolicy(), func(a *webAgent) { a.hint = readMillis })},
		{"http-date-not-read", "Only the number form of Retry-After is read; the date counts as none.",
			"F010", "hint-honoured", online(webPolicy(), func(a *webAgent) { a.hint = readSeconds })},
		{"http-date-against-the-own-clock", "The date is compared with the client's clock instead of the server's.",
			"F015", "hint-honoured", online(webPolicy(), func(a *webAgent) { a.hint = readOwnClock })},
		{"http-flag-forces-a-retry", "A flag of the caller overrides the status, and refusals are tried again.",
			"F016", "no-retry-after-refusal", online(webPolicy(), func(a *webAgent) { a.retry = func(int) bool { return true } })},
		{"http-500-not-retried", "The list of retried statuses holds 502 to 504 and forgets that this service sends 503 and 429 only.",
			toolErrors, "conforms", online(webPolicy(), func(a *webAgent) {
				a.retry = func(status int) bool { return status == 502 || status == 504 || status == 429 }
			})},
		{"http-drained-body", "The body is a stream that is made once; the second attempt sends it empty.",
			"F037", "same-arguments", posting(drainsStream)},
		{"http-drained-request", "The request is made once, and the transport refuses to send its spent body again.",
			"F037", "same-arguments", posting(drainsRequest)},
		{"http-nil-response", "The status is logged before the error is looked at.",
			handling, "no-panic", online(webPolicy(), func(a *webAgent) { a.log = func(r *http.Response) { _ = r.Status } })},
		{"http-decode-error-ignored", "The error of the decoder is dropped, and a broken answer becomes an empty success.",
			testingRetries, "honest-ending", online(webPolicy(), func(a *webAgent) {
				a.decode = func(r io.Reader, f *forecast) error { _ = json.NewDecoder(r).Decode(f); return nil }
			})},
		{"http-body-not-closed", "The body of a failed answer is neither read nor closed, and its connection is lost.",
			"F041", "nothing-left", online(patientPolicy(), func(a *webAgent) { a.leaky, a.patient = true, true })},
	}
}

const place = "https://weather.example/v1/forecast"

// webPolicy is the contract of the weather agents over HTTP.
func webPolicy() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.ID = "weather-http/v1"
		p.Retry = append(p.Retry, trace.Reset, trace.NotConnected)
	})
}

// online plugs in an agent that gets the weather over HTTP.
func online(p invariants.Policy, change func(*webAgent)) faultsim.Adapter {
	return onRoute(p, route(http.MethodGet), change)
}

func route(method string) faultsim.Route {
	return faultsim.Route{Tool: "weather", Method: method, Path: "/v1/forecast", Hints: everyForm, Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"Celsius":19}`)
	})}
}

// everyForm lists the hints that these agents are to read, a skewed server's too.
var everyForm = []faultsim.HintForm{faultsim.HintSeconds, faultsim.HintDate, faultsim.HintSkewed, faultsim.HintMillis}

// A webAgent asks the weather over HTTP.
type webAgent struct {
	client *http.Client
	hint   func(http.Header) time.Duration
	retry  func(status int) bool
	decode func(io.Reader, *forecast) error
	log    func(*http.Response)
	leaky  bool
	// refused reads a refusal off the body of a failure; nil: the status says it
	refused func(body []byte) bool
	// word is the header in which the tool says whether it may be asked again
	word string
	// pause is the wait before the next attempt; nil: the longer of its own and
	// the tool's
	pause  func(own time.Duration, err error) time.Duration
	quotes bool // its error knows the body of the answer
	// patient: there is no limit but the caller's
	patient bool
	most    int // attempts; 0: the usual number
}

// patientPolicy is the contract without a time limit for one attempt.
func patientPolicy() invariants.Policy {
	p := webPolicy()
	p.Attempt = 0
	return p
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	after  time.Duration
	again  bool
	asks   bool   // it has a Retry-After
	body   string // where the agent quotes it
}

func (e *statusError) Error() string { return fmt.Sprintf("weather: status %d", e.status) }

func (a *webAgent) forecast(ctx context.Context) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := a.once(ctx)
		if err == nil {
			return f, nil
		}
		if n == cmp.Or(a.most, attempts) || ctx.Err() != nil || !again(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, a.wait(wait, err)); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func (a *webAgent) once(ctx context.Context) (f forecast, err error) {
	if !a.patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place+"?city=Pune", nil)
	if err != nil {
		return forecast{}, err
	}
	resp, err := a.client.Do(req)
	if a.log != nil {
		a.log(resp)
	}
	if err != nil {
		return forecast{}, err
	}
	if a.leaky && resp.StatusCode != http.StatusOK {
		return forecast{}, a.failure(resp)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return forecast{}, a.failure(resp)
	}
	return f, a.decode(resp.Body, &f)
}

func (a *webAgent) failure(resp *http.Response) error {
	e := &statusError{status: resp.StatusCode, after: a.hint(resp.Header), again: a.retry(resp.StatusCode), asks: resp.Header.Get("Retry-After") != ""}
	if a.word != "" {
		e.again = e.again && resp.Header.Get(a.word) != "false"
	}
	if a.refused == nil && !a.quotes {
		return e
	}
	body, err := io.ReadAll(resp.Body)
	if a.refused != nil {
		e.again = e.again && (err != nil || !a.refused(body))
	}
	if a.quotes {
		e.body = string(body)
	}
	return e
}

func (a *webAgent) wait(own time.Duration, err error) time.Duration {
	if a.pause != nil {
		return a.pause(own, err)
	}
	return max(own, after(err))
}

func decode(r io.Reader, f *forecast) error {
	if err := json.NewDecoder(r).Decode(f); err != nil {
		return &decodeError{err}
	}
	return nil
}

type decodeError struct{ err error }

func (e *decodeError) Error() string { return "weather: unreadable answer: " + e.err.Error() }
func (e *decodeError) Unwrap() error { return e.err }

func retryStatus(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500
}

// again reports whether the error is worth another attempt: a status that is,
// or no answer at all.
func again(err error) bool {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s.again
	}
	_, unreadable := errors.AsType[*decodeError](err)
	return !unreadable
}

func after(err error) time.Duration {
	if s, ok := errors.AsType[*statusError](err); ok {
		return s.after
	}
	return 0
}

// readHint reads all forms of Retry-After, the date against the server's clock.
func readHint(h http.Header) time.Duration {
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	if d := readSeconds(h); d > 0 {
		return d
	}
	due, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		sent = time.Now()
	}
	return due.Sub(sent)
}

func readSeconds(h http.Header) time.Duration {
	s, _ := strconv.Atoi(h.Get("Retry-After"))
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return time.Duration(s) * time.Second
}

func readMillis(h http.Header) time.Duration {
	if ms, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return readHint(h)
}

func readOwnClock(h http.Header) time.Duration {
	if due, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return time.Until(due)
	}
	return readHint(h)
}

// posting plugs in an agent that posts its query.
func posting(build func(*webAgent) func(context.Context) (*http.Request, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: webPolicy(), Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			a := &webAgent{client: s.Client(route(http.MethodPost)), hint: readHint, retry: retryStatus, decode: decode}
			return func(ctx context.Context) (any, error) { return a.post(ctx, build(a)) }
		},
	}
}

var postBody = []byte(`{"city":"Pune","units":"metric"}`)

func (a *webAgent) post(ctx context.Context, next func(context.Context) (*http.Request, error)) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := a.send(ctx, next)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil || !again(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, a.wait(wait, err)); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func (a *webAgent) send(ctx context.Context, next func(context.Context) (*http.Request, error)) (f forecast, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := next(ctx)
	if err != nil {
		return forecast{}, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return forecast{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return forecast{}, a.failure(resp)
	}
	return f, a.decode(resp.Body, &f)
}

// drainsStream makes one reader for all attempts.
func drainsStream(*webAgent) func(context.Context) (*http.Request, error) {
	body := io.NopCloser(bytes.NewReader(postBody))
	return func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, place, body)
	}
}

// drainsRequest makes one request for all attempts.
func drainsRequest(*webAgent) func(context.Context) (*http.Request, error) {
	req, err := http.NewRequest(http.MethodPost, place, bytes.NewReader(postBody))
	return func(ctx context.Context) (*http.Request, error) { return req.WithContext(ctx), err }
}

// buildsEach makes each attempt its own request.
func buildsEach(*webAgent) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, place, bytes.NewReader(postBody))
	}
}
