package faultsim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// jittering plugs in a loop with full jitter from the stage.
func jittering() Adapter {
	a := homeAdapter()
	a.Policy.Backoff.Jitter = invariants.FullJitter
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errBusy})
		j := s.Jitter()
		return func(ctx context.Context) (any, error) {
			wait := 100 * time.Millisecond
			for n := 1; ; n++ {
				if ctx.Err() != nil {
					return 0, ctx.Err()
				}
				actx, cancel := context.WithTimeout(ctx, 5*time.Second)
				out, err := tool(actx, "Pune")
				cancel()
				if err == nil || n == 3 || ctx.Err() != nil {
					return out, err
				}
				select {
				case <-time.After(time.Duration(j.Int64N(int64(wait) + 1))):
				case <-ctx.Done():
					return 0, ctx.Err()
				}
				wait *= 2
			}
		}
	}
	return a
}

func gap(t *testing.T, pin JitterPin, faults ...Fault) time.Duration {
	t.Helper()
	s := One(faults...)
	s.Jitter = pin
	r := Trial(t, jittering(), s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	return r.Trace.Actions()[0].Attempts[1].Gap
}

func TestPinnedJitterIsAtTheEndsOfTheWindow(t *testing.T) {
	require.Zero(t, gap(t, JitterLeast, Fail(trace.Transient)))
	require.Equal(t, 100*time.Millisecond, gap(t, JitterGreatest, Fail(trace.Transient)))
	loose := gap(t, JitterLoose, Fail(trace.Transient))
	require.Equal(t, loose, gap(t, JitterLoose, Fail(trace.Transient)), "the same schedule, the same trace")
	require.NotEqual(t, loose, gap(t, JitterLoose, Fault{Class: trace.Transient, Latency: 1}))
}

func TestJitterIsRightAndIsDrawn(t *testing.T) {
	a := jittering()
	Check(t, a)
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	pins := map[JitterPin]int{}
	for i := range 400 {
		pins[gen.Example(i).Jitter]++
	}
	for _, pin := range jitterPins {
		require.Greater(t, pins[pin], 60, pin)
	}
}

func TestJitterReadsBackAndShrinks(t *testing.T) {
	s := Schedule{Actions: make([]Plan, 1), Jitter: JitterGreatest}
	back, err := Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
	for _, line := range []string{"jitter", "jitter most", "jitter least\njitter least"} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.Error(t, err, line)
	}
	loose := false
	for c := range smallerThan(s, &drawer{}) {
		loose = loose || c.Jitter == JitterLoose
	}
	require.True(t, loose)

	_, unfit := errors.AsType[*UnfitError](Trial(t, homeAdapter(), s).Err)
	require.True(t, unfit, "code with jitter of its own")
	s.Jitter = "most"
	require.ErrorContains(t, Trial(t, jittering(), s).Err, `Jitter is "most"`)
}
