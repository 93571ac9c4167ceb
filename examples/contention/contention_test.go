package contention_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/examples/contention"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A strategy is a way to wait, what it promises, and how often 100 writers called
// in the published comparison.
type strategy struct {
	name      string
	wait      contention.Wait
	backoff   invariants.Backoff
	published float64
}

var strategies = []strategy{
	{"none", contention.None, invariants.Backoff{}, 2431},
	{"exponential", contention.Exponential, doubling(invariants.Jitter{}), 1863},
	{"decorrelated", contention.Decorrelated, invariants.Backoff{Base: contention.Base, Cap: contention.Cap, Jitter: invariants.DecorrelatedJitter}, 998},
	{"equal", contention.Equal, doubling(invariants.EqualJitter), 813},
	{"full", contention.Full, doubling(invariants.FullJitter), 795},
}

func doubling(j invariants.Jitter) invariants.Backoff {
	return invariants.Backoff{Base: 2 * contention.Base, Cap: contention.Cap, Jitter: j}
}

// A row counts its versions. A message takes as long as the published simulator
// has it: 10 ms with a standard deviation of 2 ms, each way.
type row struct {
	mu      sync.Mutex
	version int
}

func (w *row) update(r *rand.Rand) func(context.Context, contention.Change) (int, error) {
	message := func() {
		time.Sleep(time.Duration(math.Abs(10+2*r.NormFloat64()) * float64(time.Millisecond)))
	}
	return func(context.Context, contention.Change) (int, error) {
		message()
		seen := w.read()
		message() // the version arrives
		message() // and goes back with the write
		version, err := w.write(seen)
		message()
		return version, err
	}
}

func (w *row) read() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

func (w *row) write(seen int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen != w.version {
		return 0, conflict{}
	}
	w.version++
	return w.version, nil
}

// A conflict says what it means.
type conflict struct{}

func (conflict) Error() string          { return contention.ErrConflict.Error() }
func (conflict) Is(err error) bool      { return err == contention.ErrConflict }
func (conflict) Outcome() trace.Outcome { return trace.Outcome{Class: trace.Conflict} }

// writers are so many of them at one fresh row.
func writers(s strategy, n int, seed uint64) faultsim.Fleet {
	shared := new(row)
	return faultsim.Fleet{
		Agents: n,
		Seed:   seed,
		Adapter: faultsim.Adapter{
			Name: "write",
			Policy: invariants.Policy{
				ID: "writer/" + s.name, MaxAttempts: contention.Attempts, Repeatable: true, Late: invariants.LateWait,
				Retry: []trace.Class{trace.Conflict}, Backoff: s.backoff,
			},
			Subject: func(stage *faultsim.Stage) faultsim.Action {
				r := rand.New(stage.Jitter())
				update := faultsim.Tool(stage, "row", shared.update(r), faultsim.Errors{trace.Conflict: contention.ErrConflict})
				w := contention.Writer{Update: update, Wait: s.wait, Random: r}
				return func(ctx context.Context) (any, error) { return w.Write(ctx, contention.Change{Add: 1}) }
			},
		},
	}
}

// played is how often n writers called, on average over so many rows, and the
// standard deviation from row to row.
func played(t *testing.T, s strategy, n, rows int) point {
	t.Helper()
	sum, squares := 0.0, 0.0
	for seed := range rows {
		load := faultsim.Play(t, writers(s, n, uint64(seed)))
		require.Equal(t, n, load.Ends[trace.ReasonSuccess])
		calls := float64(load.Attempts)
		sum, squares = sum+calls, squares+calls*calls
	}
	mean := sum / float64(rows)
	return point{s.name, n, mean, math.Sqrt(max(0, squares-sum*mean) / float64(rows-1))}
}

// publishedRows is over how many rows the published numbers are averages.
const publishedRows = 100

// near reports whether the average over so many rows is the published number, within
// three standard errors of the two; the deviation is that of single rows.
func (s *strategy) near(mean, deviation float64, rows int) bool {
	return math.Abs(mean-s.published) <= 3*deviation*math.Sqrt(1/float64(rows)+1./publishedRows)
}

// The published comparison comes out of real loops: how often 100 writers of one row
// call until all have written.
func TestPublishedComparison(t *testing.T) {
	const rows = 3
	noise := table(t)
	fewest := math.Inf(1)
	for _, s := range strategies {
		got := played(t, s, 100, rows)
		kept := noise.at(t, s.name, 100)
		require.True(t, s.near(got.mean, kept.deviation, rows), "%s: %.0f calls, published are %.0f", s.name, got.mean, s.published)
		require.True(t, s.near(kept.mean, kept.deviation, tableRows), "%s: the table has %.0f calls, published are %.0f", s.name, kept.mean, s.published)
		require.Less(t, got.mean, fewest, "%s calls less than what was published before it", s.name)
		fewest = got.mean
	}
}

// Another way to wait calls as often as no published one: here one
// whose wait is drawn by chance, and never grows.
func TestComparisonTellsAnotherWait(t *testing.T) {
	level := func(_ int, _ time.Duration, r *rand.Rand) time.Duration {
		return time.Duration(r.Float64() * float64(16*contention.Base))
	}
	other := strategy{"level", level, invariants.Backoff{Base: 16 * contention.Base, Factor: 1, Jitter: invariants.FullJitter}, 0}
	const rows = 2
	got := played(t, other, 100, rows)
	for _, s := range strategies {
		noise := table(t).at(t, s.name, 100).deviation
		require.False(t, s.near(got.mean, noise, rows), "%.0f calls are taken for those of %s", got.mean, s.name)
	}
}

// A loop that waits otherwise than it says is found by its policy, in a crowd too.
func TestWaitThatIsNotDeclared(t *testing.T) {
	f := writers(strategies[1], 20, 0) // the policy of exponential waits
	f.Adapter.Subject = writers(strategies[4], 20, 0).Adapter.Subject
	load, err := faultsim.Simulate(t, f)
	require.NoError(t, err)
	require.Greater(t, len(load.Broken), 15)
	require.Equal(t, "waits-in-window", load.Broken[0].Findings[0].Invariant)
}
