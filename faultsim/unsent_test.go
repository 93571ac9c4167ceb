package faultsim_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// net/http's transport looks at the context before it sends, so an http.Client
// that is called with one that is over reaches no tool.
func TestRequestWithDeadContextIsNotSent(t *testing.T) {
	r := faultsim.Trial(t, poster(func(ctx context.Context, post func(context.Context) error) error { return post(ctx) }),
		faultsim.Schedule{Actions: []faultsim.Plan{{Cancel: -1}}})
	require.NoError(t, r.Err)
	assert.Empty(t, r.Findings)
	assert.Empty(t, r.Trace.Actions()[0].Attempts)
	assert.Contains(t, r.Trace.Actions()[0].Error, context.Canceled.Error())
}

// A loop that never looks at its context still comes to light.
func TestLoopOnDeadContextIsStopped(t *testing.T) {
	r := faultsim.Trial(t, poster(func(ctx context.Context, post func(context.Context) error) error {
		for post(ctx) != nil {
		}
		return nil
	}), faultsim.Schedule{Actions: []faultsim.Plan{{Cancel: -1}}})
	require.NoError(t, r.Err)
	require.NotEmpty(t, r.Findings)
	assert.Equal(t, "no-spin", r.Findings[0].Invariant)
}

func poster(run func(context.Context, func(context.Context) error) error) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "post",
		Policy: invariants.Policy{ID: "post/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true,
			Backoff: invariants.Backoff{Base: time.Second}},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := s.Client(faultsim.Route{Tool: "api"})
			return func(ctx context.Context) (any, error) {
				return nil, run(ctx, func(ctx context.Context) error {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test/", strings.NewReader("{}"))
					if err != nil {
						return err
					}
					resp, err := client.Do(req)
					if err != nil {
						return err
					}
					return resp.Body.Close()
				})
			}
		},
	}
}

// net/http returns the cause of a context that ends, and a program that wraps it
// keeps its last error.
func TestCauseOfAnEndedAttemptIsItsError(t *testing.T) {
	slow := errors.New("the attempt took too long")
	a := poster(func(ctx context.Context, post func(context.Context) error) error {
		ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Second, slow)
		defer cancel()
		if err := post(ctx); err != nil {
			return fmt.Errorf("post: %w", err)
		}
		return nil
	})
	a.Policy.Attempt = 2 * time.Second
	r := faultsim.Trial(t, a, faultsim.One(faultsim.Fault{Hang: true}))
	require.NoError(t, r.Err)
	assert.Empty(t, r.Findings)
	action := r.Trace.Actions()[0]
	assert.Equal(t, trace.Timeout, action.Attempts[0].Outcome.Class)
	assert.Contains(t, action.Error, slow.Error())
}

// A program that says why its attempt ended, by the cause that it gave the context,
// keeps its last error too.
func TestCauseStandsForTheErrorOfTheContext(t *testing.T) {
	slow := errors.New("the attempt took too long")
	first := func(s *faultsim.Stage) func(context.Context) error {
		one := faultsim.Tool(s, "api", func(context.Context, string) (int, error) { return 1, nil }, faultsim.Errors{})
		return func(ctx context.Context) error { _, err := one(ctx, "a"); return err }
	}
	many := func(s *faultsim.Stage) func(context.Context) error {
		all := faultsim.Batch(s, "api", func(id string) string { return id }, func(context.Context, string) (int, error) { return 1, nil }, faultsim.Errors{})
		return func(ctx context.Context) error { _, err := all(ctx, []string{"a"}); return err }
	}
	for name, tool := range map[string]func(*faultsim.Stage) func(context.Context) error{"function": first, "batch": many} {
		for said, clean := range map[error]bool{slow: true, errors.New("it failed"): false} {
			a := poster(nil)
			a.Policy.Attempt = 2 * time.Second
			a.Subject = func(s *faultsim.Stage) faultsim.Action {
				call := tool(s)
				return func(ctx context.Context) (any, error) {
					one, cancel := context.WithTimeoutCause(ctx, 2*time.Second, slow)
					defer cancel()
					if call(one) != nil {
						return nil, said
					}
					return nil, nil
				}
			}
			r := faultsim.Trial(t, a, faultsim.One(faultsim.Fault{Hang: true}))
			require.NoError(t, r.Err, name)
			assert.Equal(t, clean, len(r.Findings) == 0, "%s, %v: %v", name, said, r.Findings)
		}
	}
}
