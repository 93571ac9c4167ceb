package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/examples/fanout"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

const shards = 3

var failures = faultsim.Errors{trace.Transient: fanout.ErrBusy, trace.Forbidden: fanout.ErrForbidden}

// A find is what a worker looks things up with, and a search a worker.
type (
	find   = func(context.Context, fanout.Query) (string, error)
	search func(context.Context, find) ([]string, error)
)

func right(ctx context.Context, f find) ([]string, error) {
	return fanout.Search(ctx, shards, f, "cat")
}

func look(_ context.Context, q fanout.Query) (string, error) {
	return fmt.Sprint(q.Text, q.Shard), nil
}

// oneTool is the worker over one tool, which it calls once for each shard. The calls
// differ in their arguments, so each lookup is judged by itself.
func oneTool(run search) faultsim.Adapter {
	return adapter(func(s *faultsim.Stage) faultsim.Action {
		index := faultsim.Tool(s, "index", look, failures)
		return func(ctx context.Context) (any, error) { return run(ctx, index) }
	})
}

// toolForEach is the same worker with a tool for each shard: a schedule says which
// lookup fails, and the matrix, whose rows are about the first tool, counts its calls.
func toolForEach(run search) faultsim.Adapter {
	return adapter(func(s *faultsim.Stage) faultsim.Action {
		var index [shards]find
		for i := range index {
			index[i] = faultsim.Tool(s, fmt.Sprint("index", i), look, failures)
		}
		return func(ctx context.Context) (any, error) {
			return run(ctx, func(ctx context.Context, q fanout.Query) (string, error) { return index[q.Shard](ctx, q) })
		}
	})
}

func adapter(subject func(*faultsim.Stage) faultsim.Action) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "search",
		Policy: invariants.Policy{
			ID:          "search/v1",
			MaxAttempts: fanout.Attempts, // of each lookup
			Retry:       []trace.Class{trace.Transient},
			Backoff:     invariants.Backoff{Base: fanout.Wait},
			Repeatable:  true,
		},
		Subject: subject,
		Want:    []string{"cat0", "cat1", "cat2"}, // no tool answers what the search does
	}
}

func TestFaultsOfOneTool(t *testing.T) { faultsim.Check(t, oneTool(right)) }

func TestFaultsOfAToolForEach(t *testing.T) { faultsim.Check(t, toolForEach(right)) }

func TestMatrix(t *testing.T) { matrix.Run(t, toolForEach(right)) }

// forgetful leaves out the shards that failed, and says that it has searched them all.
func forgetful(ctx context.Context, f find) ([]string, error) {
	hits := make([]string, shards)
	var wg sync.WaitGroup
	for i := range hits {
		wg.Go(func() { hits[i], _ = f(ctx, fanout.Query{Shard: i, Text: "cat"}) })
	}
	wg.Wait()
	return hits, ctx.Err()
}

// stubborn asks a shard once more, whatever it answered.
func stubborn(ctx context.Context, f find) ([]string, error) {
	return fanout.Search(ctx, shards, func(ctx context.Context, q fanout.Query) (string, error) {
		hit, err := f(ctx, q)
		if errors.Is(err, fanout.ErrForbidden) {
			return f(ctx, q)
		}
		return hit, err
	}, "cat")
}

func TestFaultyWorkersAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   search
		finds []string // one of them, the first that is drawn
	}{
		{"forgetful", forgetful, []string{"honest-ending", "conforms"}},
		{"stubborn", stubborn, []string{"no-retry-after-refusal"}},
	} {
		for shape, of := range map[string]func(search) faultsim.Adapter{"one tool": oneTool, "a tool for each": toolForEach} {
			t.Run(c.name+", "+shape, func(t *testing.T) {
				o, err := faultsim.Explore(t, of(c.run))
				require.NoError(t, err)
				assert.Contains(t, c.finds, o.Invariant())
			})
		}
	}
}
