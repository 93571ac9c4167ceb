package faultsim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/growth"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// longSchedules are trials of about n events, which differ in what grows.
var longSchedules = []struct {
	name string
	make func(n int) Schedule
}{
	{"one action", func(n int) Schedule {
		faults := make([]Fault, n/2-2)
		for i := range faults {
			faults[i] = Fail(trace.Transient)
		}
		return One(faults...)
	}},
	{"actions in turn", func(n int) Schedule { return Schedule{Actions: failingTwice(n / 8)} }},
	{"actions at once", func(n int) Schedule { return Schedule{Actions: failingTwice(n / 8), AtOnce: true} }},
}

// failingTwice is n actions, each of which succeeds with its third attempt.
func failingTwice(n int) []Plan {
	list := make([]Plan, n)
	for i := range list {
		list[i] = speedSchedule().Actions[0]
	}
	return list
}

// patient is a loop that only its budget ends.
func patient() Adapter {
	a := speedAdapter()
	a.Policy.MaxAttempts, a.Policy.Budget = invariants.Unlimited, 100*time.Hour
	a.Policy.Backoff = invariants.Backoff{Base: 100 * time.Millisecond, Factor: 1}
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errB})
		return func(ctx context.Context) (any, error) {
			for {
				out, err := tool(ctx, "Pune")
				if err == nil {
					return out, nil
				}
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
	}
	return a
}

// played is how long it takes to play and judge the schedule.
func played(t *testing.T, a Adapter, s *Schedule) (took time.Duration, events int) {
	t.Helper()
	began := time.Now()
	r := Trial(t, a, *s)
	took = time.Since(began)
	if r.Err != nil || len(r.Findings) > 0 {
		t.Fatal(r.Err, r.Findings)
	}
	return took, len(r.Trace.Events)
}

// Ten times the events take about ten times as long, and not a hundred times.
func TestATrialGrowsWithItsEvents(t *testing.T) {
	const n = 800
	a := patient()
	for _, l := range longSchedules {
		t.Run(l.name, func(t *testing.T) {
			timing := func(n int) func() time.Duration {
				s := l.make(n)
				return func() time.Duration {
					took, _ := played(t, a, &s)
					return took
				}
			}
			require.Less(t, growth.Times(25, timing(n), timing(10*n)), 25.0)
		})
	}
}

func BenchmarkLongTrial(b *testing.B) {
	a := patient()
	for _, l := range longSchedules {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprint(l.name, "/", n), func(b *testing.B) {
				s := l.make(n)
				events := 0
				inTest(b, func(t *testing.T) {
					for b.Loop() {
						_, events = played(t, a, &s)
					}
				})
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
			})
		}
	}
}
