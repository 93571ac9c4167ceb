package faultsim

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A flagged error says itself whether it may be tried again.
type flagged struct {
	word trace.Advice
	wait time.Duration
}

func (f *flagged) Error() string { return "busy" }

func TestAFunctionToolShowsItsWord(t *testing.T) {
	var seen *flagged
	a := Adapter{
		Name: "get", Policy: invariants.Policy{ID: "get/v1", MaxAttempts: 1},
		Subject: func(s *Stage) Action {
			get := Tool[string, int](s, "weather", nil, Errors{
				trace.Transient: Advised(func(word trace.Advice, hint time.Duration) error { return &flagged{word, hint} }),
				trace.Invalid:   errors.New("no such city"),
			})
			return func(ctx context.Context) (any, error) {
				out, err := get(ctx, "Pune")
				seen, _ = errors.AsType[*flagged](err)
				return out, err
			}
		},
	}
	r := Trial(t, a, One(Fault{Class: trace.Transient, Advice: trace.AdviceStop, Hint: time.Second}))
	require.NoError(t, r.Err)
	require.Equal(t, &flagged{trace.AdviceStop, time.Second}, seen)
	require.Equal(t, trace.AdviceStop, r.Trace.Actions()[0].Attempts[0].Outcome.Advice)
	_, unfit := errors.AsType[*UnfitError](Trial(t, a, One(Fault{Class: trace.Invalid, Advice: trace.AdviceStop})).Err)
	require.True(t, unfit, "an error without a flag has no word")
	a.Subject = func(s *Stage) Action {
		Tool[string, int](s, "weather", nil, Errors{trace.Transient: Advised(nil)})
		return nil
	}
	require.ErrorContains(t, Trial(t, a, One()).Err, "Advised(nil)")
}

func TestAnHTTPToolShowsItsWordInAHeader(t *testing.T) {
	var header http.Header
	a := Adapter{
		Name: "get", Policy: invariants.Policy{ID: "get/v1", MaxAttempts: 1},
		Subject: func(s *Stage) Action {
			client := s.Client(Route{Tool: "weather", Advice: "X-Should-Retry"})
			return func(ctx context.Context) (any, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.example/", nil)
				if err != nil {
					return nil, err
				}
				resp, err := client.Do(req)
				if err != nil {
					return nil, err
				}
				header = resp.Header
				return nil, errors.Join(errors.New(resp.Status), resp.Body.Close())
			}
		},
	}
	for word, want := range map[trace.Advice]string{trace.AdviceRetry: "true", trace.AdviceStop: "false", trace.AdviceNone: ""} {
		r := Trial(t, a, One(Fault{Class: trace.Forbidden, Advice: word}))
		require.NoError(t, r.Err)
		require.Equal(t, want, header.Get("X-Should-Retry"))
		require.Equal(t, word, r.Trace.Actions()[0].Attempts[0].Outcome.Advice)
	}
	_, unfit := errors.AsType[*UnfitError](Trial(t, a, One(Fault{Class: trace.Reset, Advice: trace.AdviceStop})).Err)
	require.True(t, unfit, "a broken connection says nothing")
}
