// Package stacks_test measures what a trial costs beside its bare subject.
package stacks_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A subject is a reference subject of the design: three attempts, of which the
// third succeeds.
type subject struct {
	policy invariants.Policy
	answer string
	build  func(*http.Client) faultsim.Action
}

var retried = []trace.Class{trace.Transient, trace.Throttled, trace.Reset, trace.NotConnected, trace.Timeout}

// viaHTTP is go-retryablehttp.
var viaHTTP = subject{
	policy: invariants.Policy{ID: "http/v1", MaxAttempts: 3, Retry: retried, Late: invariants.LateWait, Repeatable: true,
		Backoff: invariants.Backoff{Base: time.Second, Cap: 30 * time.Second}},
	answer: `{"celsius":19}`,
	build: func(hc *http.Client) faultsim.Action {
		client := retryablehttp.NewClient()
		client.HTTPClient, client.RetryMax, client.Logger = hc, 2, nil
		return func(ctx context.Context) (any, error) {
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, "http://weather.test/pune", nil)
			if err != nil {
				return nil, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return nil, errors.New(resp.Status)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			return n, err
		}
	},
}

// viaSDK is a chat completion of openai-go.
var viaSDK = subject{
	policy: invariants.Policy{ID: "sdk/v1", MaxAttempts: 3, Retry: append(retried, trace.Conflict), Late: invariants.LateWait, Repeatable: true,
		Backoff: invariants.Backoff{Base: 500 * time.Millisecond, Cap: 8 * time.Second, Jitter: invariants.Between(0.75, 1)},
		Hint:    invariants.Hint{Use: invariants.HintReplace, Limit: 2 * time.Minute}},
	answer: `{"id":"chatcmpl-1","object":"chat.completion","created":1773480413,"model":"gpt-4.1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"19 degrees in Pune.","refusal":null},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":19,"completion_tokens":6,"total_tokens":25}}`,
	build: func(hc *http.Client) faultsim.Action {
		client := openai.NewClient(option.WithAPIKey("sk-test"), option.WithHTTPClient(hc))
		return func(ctx context.Context) (any, error) {
			done, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
				Model:    openai.ChatModelGPT4_1,
				Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How warm is it in Pune?")},
			})
			if err != nil {
				return nil, err
			}
			return done.Choices[0].Message.Content, nil
		}
	},
}

func BenchmarkHTTPBare(b *testing.B)  { bare(b, &viaHTTP) }
func BenchmarkHTTPTrial(b *testing.B) { trial(b, &viaHTTP) }
func BenchmarkSDKBare(b *testing.B)   { bare(b, &viaSDK) }
func BenchmarkSDKTrial(b *testing.B)  { trial(b, &viaSDK) }

// BenchmarkHTTPRatio and BenchmarkSDKRatio measure both in short turns, one
// after the other, and report the median of trial ÷ bare: a busy machine burdens
// both alike, and what interrupts one turn does not count.
func BenchmarkHTTPRatio(b *testing.B) { ratio(b, &viaHTTP) }
func BenchmarkSDKRatio(b *testing.B)  { ratio(b, &viaSDK) }

func bare(b *testing.B, s *subject) {
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			s.runBare(b, t)
		}
	})
	perSecond(b)
}

func trial(b *testing.B, s *subject) {
	a := s.adapter()
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			s.runTrial(b, t, a)
		}
	})
	perSecond(b)
}

func ratio(b *testing.B, s *subject) {
	const turn = 50
	a := s.adapter()
	var ratios, seconds []float64
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			begin := time.Now()
			for range turn {
				s.runBare(b, t)
			}
			middle := time.Now()
			for range turn {
				s.runTrial(b, t, a)
			}
			spent := time.Since(middle).Seconds()
			ratios, seconds = append(ratios, spent/middle.Sub(begin).Seconds()), append(seconds, spent/turn)
		}
	})
	b.ReportMetric(median(ratios), "trial/bare")
	b.ReportMetric(1/median(seconds), "trials/s")
	b.ReportMetric(0, "ns/op")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s") }

// adapter is the subject on the stage.
func (s *subject) adapter() faultsim.Adapter {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, s.answer)
	})
	return faultsim.Adapter{
		Name: "ask", Policy: s.policy,
		Subject: func(stage *faultsim.Stage) faultsim.Action {
			return s.build(stage.Client(faultsim.Route{Tool: "api", Answer: answer}))
		},
	}
}

var twice = faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient))

// runTrial is one trial: played, recorded and judged.
func (s *subject) runTrial(b *testing.B, t *testing.T, a faultsim.Adapter) {
	if r := faultsim.Trial(t, a, twice); r.Err != nil || len(r.Findings) > 0 || len(r.Trace.Actions()[0].Attempts) != 3 {
		b.Fatal(r.Err, r.Findings)
	}
}

// runBare is the subject alone, in a bubble, on a transport that does nothing
// but answer.
func (s *subject) runBare(b *testing.B, t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		action := s.build(&http.Client{Transport: &answers{body: s.answer}})
		if _, err := action(context.Background()); err != nil {
			b.Error(err)
		}
	})
}

// answers answers 503, 503, 200.
type answers struct {
	body string
	n    int
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	a.n++
	status, body := http.StatusServiceUnavailable, `{"error":{"code":"service_unavailable","message":"service unavailable"}}`
	if a.n == 3 {
		status, body = http.StatusOK, a.body
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// inTest gives the benchmark the *testing.T that a bubble needs.
func inTest(b *testing.B, f func(t *testing.T)) {
	done := false
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: b.Name(), F: func(t *testing.T) {
		if !done { // RunTests runs its tests -count times
			f(t)
			done = true
		}
	}}})
}
