package faultsim_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A tool that can ask for a wait in one of its failures need not do so in all.
func TestHintsAreDrawnOnlyWhereTheToolHasThem(t *testing.T) {
	a := home(3)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, faultsim.Errors{
			trace.Transient: errBusy, trace.Throttled: faultsim.Hinted(func(time.Duration) error { return errForbidden }),
		})
		return func(ctx context.Context) (any, error) { return tool(ctx, "Pune") }
	}
	_, err := faultsim.Explore(t, a)
	require.NoError(t, err)
}

// post plugs in one POST without retries, on a client of the stage.
func post(body func() io.Reader, use func(*http.Response)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "post", Policy: invariants.Policy{ID: "post", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := s.Client(faultsim.Route{Tool: "weather"})
			return func(ctx context.Context) (any, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://weather.example/", body())
				if err != nil {
					return nil, err
				}
				for {
					resp, err := client.Do(req)
					if err != nil {
						return nil, err
					}
					use(resp)
					if resp.StatusCode < 500 {
						return nil, nil
					}
				}
			}
		},
	}
}

func TestBodyThatNobodyClosesIsLeft(t *testing.T) {
	a := post(func() io.Reader { return nil }, func(*http.Response) {})
	r := faultsim.Trial(t, a, faultsim.One(faultsim.Fail(trace.Transient)))
	require.NoError(t, r.Err)
	require.Equal(t, "nothing-left", r.Findings[0].Invariant)
	require.Contains(t, r.Findings[0].Text, "the body of call 1")
}

func TestSpentBodyIsAnAttemptWithOtherArguments(t *testing.T) {
	a := post(func() io.Reader { return bytes.NewReader([]byte(`{}`)) }, func(r *http.Response) { r.Body.Close() })
	r := faultsim.Trial(t, a, faultsim.One(faultsim.Fail(trace.Transient)))
	require.NoError(t, r.Err)
	require.Equal(t, "same-arguments", r.Findings[0].Invariant)
}

func TestSkewedHintReadsBack(t *testing.T) {
	s := faultsim.One(faultsim.Fault{Class: trace.Throttled, Hint: 2 * time.Second, Form: faultsim.HintSkewed})
	back, err := faultsim.Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
}

// The smaller schedule must break its rule every time, and what is returned
// must show it.
func TestFailureThatIsReturnedBreaksItsRule(t *testing.T) {
	a := home(3)
	a.Policy.Late = invariants.LateStop // the loop waits for the deadline
	for range 3 {
		o, err := faultsim.Explore(t, a)
		require.NoError(t, err)
		require.Equal(t, 1.0, o.Rate)
		require.NotEmpty(t, o.Findings)
	}
}
