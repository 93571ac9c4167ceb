package matrix_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var (
	errDown = errors.New("the tool is down")
	errOpen = errors.New("the circuit is open")
)

// A fuse opens at the first failure, and lets one call through when an hour is over.
type fuse struct {
	mu      sync.Mutex
	blown   bool
	since   time.Time
	probing bool
	turn    int // calls of an earlier one say nothing of now
}

// enter asks for a call; leave must be told how it went.
func (f *fuse) enter() (leave func(failed, counts bool), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blown {
		if time.Since(f.since) < time.Hour || f.probing {
			return nil, false
		}
		f.probing = true
	}
	turn := f.turn
	return func(failed, counts bool) { f.leave(turn, failed, counts) }, true
}

func (f *fuse) leave(turn int, failed, counts bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn != f.turn {
		return
	}
	f.probing = false
	if counts && (failed || f.blown) {
		f.blown, f.since = failed, time.Now()
		f.turn++
	}
}

// fused guards a tool by a fuse, and goes over to a fallback if it has one.
func fused(fallback string) faultsim.Adapter {
	down := faultsim.Errors{trace.Transient: errDown}
	fake := func(context.Context, args) (int, error) { return 19, nil }
	return faultsim.Adapter{
		Name: "fused",
		Policy: invariants.Policy{
			ID: "fused/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true,
			Backoff: invariants.Backoff{Base: time.Second},
		},
		Breaker: &invariants.Breaker{Tool: "tool", Consecutive: 1, Cooldown: time.Hour, Fallback: fallback},
		Reason: func(err error) trace.Reason {
			if errors.Is(err, errOpen) {
				return trace.ReasonBreakerOpen
			}
			return 0
		},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			call := faultsim.Tool(s, "tool", fake, down)
			instead := func(context.Context, args) (int, error) { return 0, errOpen }
			if fallback != "" {
				instead = faultsim.Tool(s, fallback, fake, down)
			}
			var guard fuse
			return func(ctx context.Context) (any, error) {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if leave, ok := guard.enter(); ok {
					out, err := call(ctx, args{City: "Pune"})
					leave(err != nil, ctx.Err() == nil)
					if err == nil || ctx.Err() != nil {
						return out, err
					}
				}
				return instead(ctx, args{City: "Pune"})
			}
		},
	}
}

// What a declared breaker refuses is not missed, whether the action ends as
// refused or its fallback answers.
func TestADeclaredBreakerMayRefuse(t *testing.T) {
	for _, fallback := range []string{"", "cache"} {
		a := fused(fallback)
		for _, p := range played(t, a) {
			require.Empty(t, p.Complaint, "%s, fallback %q\n%s", p.Row.Name, fallback, p.Schedule)
		}
		a.Breaker.Consecutive = 2
		complaints := 0
		for _, p := range played(t, a) {
			if p.Complaint != "" {
				complaints++
			}
		}
		require.NotZero(t, complaints, "a breaker that opens too early, fallback %q", fallback)
	}
}

// A cache in front of the breaker serves answers that the rows of the breaker would
// count as calls; the rules still hold them.
func TestABreakerMayLieBehindACache(t *testing.T) {
	a := fused("")
	guarded := a.Subject
	a.Cache = &invariants.Cache{}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		fetch := guarded(s)
		var kept atomic.Pointer[any]
		return func(ctx context.Context) (any, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if out := kept.Load(); out != nil {
				s.Hit(ctx, "tool", args{City: "Pune"}, *out, nil)
				return *out, nil
			}
			out, err := fetch(ctx)
			if err == nil {
				kept.Store(&out)
			}
			return out, err
		}
	}
	for _, p := range played(t, a) {
		require.Empty(t, p.Complaint, "%s\n%s", p.Row.Name, p.Schedule)
	}
}

func played(t *testing.T, a faultsim.Adapter) []matrix.Played {
	t.Helper()
	list, err := matrix.Play(t, a)
	require.NoError(t, err)
	return list
}
