package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// jitteredAdapter is a caller with five attempts and full jitter, which gives up
// nothing else.
func jitteredAdapter() Adapter {
	p := invariants.Policy{
		ID: "jittered/v1", MaxAttempts: 5, Retry: []trace.Class{trace.Transient}, Repeatable: true, Late: invariants.LateWait,
		Backoff: invariants.Backoff{Base: 100 * time.Millisecond, Jitter: invariants.FullJitter},
	}
	return Adapter{
		Name:   "forecast",
		Policy: p,
		Subject: func(s *Stage) Action {
			tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, Errors{trace.Transient: errB})
			jitter := s.Jitter()
			return func(ctx context.Context) (any, error) {
				wait := p.Backoff.Base
				for n := 1; ; n++ {
					out, err := tool(ctx, "Pune")
					if err == nil || n == p.MaxAttempts {
						return out, err
					}
					if err := pause(ctx, time.Duration(jitter.Float64()*float64(wait))); err != nil {
						return 0, err
					}
					wait *= 2
				}
			}
		},
	}
}

// BenchmarkFleet is 10,000 agents who make 50,000 attempts in an outage, judged.
func BenchmarkFleet(b *testing.B) {
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			load, err := Simulate(t, Fleet{
				Adapter: jitteredAdapter(), Agents: 10_000,
				Service: Service{Workers: 100, Serve: 10 * time.Millisecond, Queue: 100, Outages: []Outage{{To: time.Minute, Class: trace.Transient}}},
			})
			if err != nil || load.Attempts != 50_000 || len(load.Broken) > 0 {
				t.Fatal(err, load)
			}
		}
	})
}
