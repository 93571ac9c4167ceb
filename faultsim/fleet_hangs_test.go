package faultsim

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An agent that never returns is found, and the others are not held against it.
func TestAnAgentThatHangs(t *testing.T) {
	n := 0
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Subject = func(s *Stage) Action {
		n++
		hangs := n == 3
		tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return tool(ctx, "Pune")
		}
	}
	load, err := Simulate(t, Fleet{Adapter: a, Agents: 5})
	require.NoError(t, err)
	require.Len(t, load.Broken, 1)
	require.Equal(t, 3, load.Broken[0].Agent)
	require.Contains(t, names(load.Broken[0].Findings), "returns")
	require.Equal(t, 4, load.Ends[trace.ReasonSuccess])
}

// A call that the service takes long for is no hang, however seldom it does: nobody
// knows beforehand how long.
func TestASlowServiceIsNoHang(t *testing.T) {
	begun := 0
	once := func(r *rand.Rand, _ int) time.Duration {
		if begun++; begun == 700 {
			return 1000 * time.Hour
		}
		return 10 * ms
	}
	for _, s := range []Service{{Times: once}, {Times: once, Workers: 2, Queue: invariants.Unlimited}} {
		begun = 0
		load := Play(t, Fleet{Adapter: callsOnce(), Agents: 1000, Service: s})
		require.Equal(t, 1000, load.Ends[trace.ReasonSuccess])
		require.Equal(t, 1000, begun, "nobody asks how long a call takes that nobody made")
		require.Greater(t, load.Took, 1000*time.Hour)
	}
}

// callsOnce is code that calls once and waits.
func callsOnce() Adapter {
	a := homeAdapter()
	a.Policy.Attempt = 0
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })})
		return func(ctx context.Context) (any, error) { return tool(ctx, "Pune") }
	}
	return a
}

// Who hangs is found beside others that the service is slow for, and so is who hangs
// behind a call.
func TestHangsAreFoundAtASlowService(t *testing.T) {
	built := 0
	a := callsOnce()
	a.Subject = func(s *Stage) Action {
		built++
		agent, tool := built, Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			v, err := tool(ctx, "Pune")
			if agent == 2 {
				var mu sync.Cond
				mu.L = new(sync.Mutex)
				mu.L.Lock()
				mu.Wait() // for a signal that never comes
			}
			return v, err
		}
	}
	load, err := Simulate(t, Fleet{Adapter: a, Agents: 3, Service: Service{Workers: 1, Queue: 3, Serve: time.Hour}})
	require.NoError(t, err)
	require.Len(t, load.Broken, 1)
	require.Equal(t, 2, load.Broken[0].Agent)
	require.Contains(t, names(load.Broken[0].Findings), "returns")
}

// Whoever calls without an end is found.
func TestEndlessCallsOfAFleetAreFound(t *testing.T) {
	a := callsOnce()
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			for {
				_, _ = tool(ctx, "Pune")
			}
		}
	}
	load, err := Simulate(t, Fleet{Adapter: a, Agents: 2, Service: Service{Workers: 1, Queue: 1, Serve: time.Hour}})
	require.NoError(t, err)
	require.Len(t, load.Broken, 2)
	require.Contains(t, names(load.Broken[0].Findings), "no-spin")
}

// A wait that the service asks for is no hang, nor is one for the others of a process.
func TestWaitsOfAFleetAreNoHangs(t *testing.T) {
	asked := callsOnce()
	asked.Policy.Retry = append(asked.Policy.Retry, trace.Throttled)
	asked.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })})
		return func(ctx context.Context) (any, error) {
			v, err := tool(ctx, "Pune")
			for n := 1; n < 3 && err != nil; n++ {
				_ = pause(ctx, 10*time.Hour)
				v, err = tool(ctx, "Pune")
			}
			return v, err
		}
	}
	load := Play(t, Fleet{Adapter: asked, Agents: 6, Service: Service{Workers: 1, Queue: 1, Serve: ms, Full: trace.Throttled, Hint: 10 * time.Hour}})
	require.Equal(t, 6, load.Ends[trace.ReasonSuccess])

	inTurn := callsOnce()
	inTurn.Subject = func(s *Stage) Action {
		one, tool := make(chan struct{}, 1), Tool(s, "weather", nineteen, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			one <- struct{}{}
			defer func() { <-one }()
			v, err := tool(ctx, "Pune")
			time.Sleep(time.Minute) // on what it has got
			return v, err
		}
	}
	load, err := Simulate(t, Fleet{Adapter: inTurn, Shared: true, Agents: 30, Service: Service{Workers: 1, Queue: 1, Serve: ms}})
	require.NoError(t, err)
	require.Equal(t, 30, load.Ends[trace.ReasonSuccess])
}
