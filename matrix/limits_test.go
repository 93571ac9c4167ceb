package matrix_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// A config is what a user of the client can set. For the number of attempts
// zero is the default of three; a time of zero is no limit.
type config struct {
	attempts         int
	timeout, overall time.Duration
}

func (c config) get(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
	if c.attempts == 0 {
		c.attempts = 3
	}
	begin, wait := time.Now(), 100*time.Millisecond
	for n := 1; ; n++ {
		out, err := c.once(ctx, op)
		if err == nil || n == c.attempts || ctx.Err() != nil || !retried(read, err) {
			return out, err
		}
		if c.overall > 0 && time.Since(begin)+wait >= c.overall {
			return out, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		wait *= 2
	}
}

func (c config) once(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	return op(ctx)
}

// configured plugs the client in with the limits of a policy.
func configured(change func(*config)) func(invariants.Policy) faultsim.Adapter {
	return func(set invariants.Policy) faultsim.Adapter {
		a := loop(set)
		a.Subject = func(s *faultsim.Stage) faultsim.Action {
			c := config{set.MaxAttempts, set.Attempt, set.Budget}
			change(&c)
			tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, errs)
			return func(ctx context.Context) (any, error) {
				return c.get(ctx, func(ctx context.Context) (int, error) { return tool(ctx, args{City: "Pune"}) })
			}
		}
		return a
	}
}

var budgetedRead = with(read, func(p *invariants.Policy) { p.ID, p.Budget = "budgeted/v1", 2*time.Second })

// A client whose zeros mean what is said passes at each edge.
func TestLimitsAtTheirEdges(t *testing.T) {
	matrix.Limits(t, budgetedRead, matrix.Zeros{MaxAttempts: 3}, configured(func(*config) {}))
}

// Ways to get a limit wrong, and the edges at which that shows.
var wrongLimits = map[string]struct {
	zero   matrix.Zeros
	change func(*config)
	edges  []string
}{
	"zero-said-to-be-one":       {matrix.Zeros{MaxAttempts: 1}, func(*config) {}, []string{"zero-attempts"}},
	"attempts-taken-as-retries": {matrix.Zeros{MaxAttempts: 3}, asRetries, []string{"one-attempt", "two-attempts", "zero-attempt-time", "zero-budget"}},
	"zero-budget-is-over":       {matrix.Zeros{}, func(c *config) { c.overall = max(c.overall, 1) }, []string{"zero-budget"}},
	"zero-time-is-a-default":    {matrix.Zeros{}, func(c *config) { c.timeout = max(c.timeout, 50*time.Millisecond) }, []string{"zero-attempt-time"}},
	"zero-time-said-so":         {matrix.Zeros{Attempt: 50 * time.Millisecond}, func(c *config) { c.timeout = max(c.timeout, 50*time.Millisecond) }, nil},
	"refused-zeros":             {matrix.Zeros{Attempt: -1, Budget: -1}, func(c *config) { c.overall = max(c.overall, 1) }, nil},
	"zero-said-to-be-unlimited": {matrix.Zeros{MaxAttempts: invariants.Unlimited, Budget: -1, Attempt: -1}, func(*config) {}, []string{"zero-attempts"}},
	"unlimited-without-a-budget": {
		matrix.Zeros{MaxAttempts: invariants.Unlimited, Budget: -1, Attempt: -1}, func(*config) {}, []string{"zero-attempts"}},
}

// asRetries makes one attempt more than it is set to.
func asRetries(c *config) {
	if c.attempts > 0 {
		c.attempts++
	}
}

func TestChildLimits(t *testing.T) {
	if !selftest.Active() {
		t.Skip("run by TestWrongLimitsAreFoundAtTheirEdge")
	}
	for name, w := range wrongLimits {
		t.Run(name, func(t *testing.T) {
			p := budgetedRead
			if name == "unlimited-without-a-budget" {
				p.Budget = 0
			}
			matrix.Limits(t, p, w.zero, configured(w.change))
		})
	}
}

func TestWrongLimitsAreFoundAtTheirEdge(t *testing.T) {
	for name, w := range wrongLimits {
		out, passed := selftest.Run(t, t.TempDir(), "TestChildLimits/"+name, "-test.v")
		require.Equal(t, len(w.edges) == 0, passed, "%s\n%s", name, out)
		var failed []string
		for line := range strings.Lines(out) {
			if edge, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: TestChildLimits/"+name+"/"); ok {
				if edge, _, _ = strings.Cut(edge, " "); !strings.Contains(edge, "/") {
					failed = append(failed, edge)
				}
			}
		}
		require.Equal(t, w.edges, failed, "%s\n%s", name, out)
	}
	out, _ := selftest.Run(t, t.TempDir(), "TestChildLimits/unlimited-without-a-budget", "-test.v")
	require.Contains(t, out, "is Unlimited without a Budget")
	require.Contains(t, out, "say in Zeros what zero gives")
}
