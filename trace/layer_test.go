package trace_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// paths lists the layers of the calls.
func paths(tr *trace.Trace) []string {
	var list []string
	for at := range tr.Attempts() {
		list = append(list, at.Layer)
	}
	return list
}

func TestCallsCarryTheLayersAboveThem(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	call := func(ctx context.Context) { r.Call(ctx, trace.Call{Tool: "weather"}).Answer(trace.Outcome{}, nil, nil) }
	client := func(ctx context.Context, n int) {
		ctx = trace.Layer(ctx, "client")
		for range n {
			call(ctx)
		}
	}
	agent := func(ctx context.Context) {
		ctx = trace.Layer(ctx, "agent")
		client(ctx, 2)
		client(ctx, 0) // cancelled before it called anything
		client(ctx, 1)
	}
	ctx, _ := r.Begin(t.Context(), "forecast")
	agent(ctx)
	agent(ctx)
	call(ctx)
	other, _ := r.Begin(t.Context(), "forecast")
	client(other, 1)
	tr := r.Trace()
	require.Equal(t, []string{
		"agent/client", "agent/client", "agent/client#2",
		"agent#2/client", "agent#2/client", "agent#2/client#2",
		"", "client",
	}, paths(tr))
	require.Contains(t, tr.Timeline(), "in agent/client#2")
}

func TestLayersSurviveTheFileAndOddNames(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	r.Call(trace.Layer(t.Context(), "a/b#1"), trace.Call{Tool: "weather"})
	var b strings.Builder
	_, err := r.Trace().WriteTo(&b)
	require.NoError(t, err)
	require.Contains(t, b.String(), `"layer":"a-b-1"`)
	tr, err := trace.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, []string{"a-b-1"}, paths(tr))
}

// Calls of one layer may come from several goroutines.
func TestLayersAreCountedAcrossGoroutines(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, _ := r.Begin(t.Context(), "forecast")
	ctx = trace.Layer(ctx, "agent")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ctx := trace.Layer(ctx, "client")
			for range 3 {
				r.Call(ctx, trace.Call{Tool: "weather"})
			}
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, p := range paths(r.Trace()) {
		counts[p]++
	}
	require.Len(t, counts, 8)
	for p, n := range counts {
		require.Equal(t, 3, n, p)
	}
}
