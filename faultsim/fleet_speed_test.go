package faultsim

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// BenchmarkFleet is 10,000 agents who make 50,000 attempts in an outage, judged.
func BenchmarkFleet(b *testing.B) {
	inTest(b, func(t *testing.T) {
		for b.Loop() {
			load, err := Simulate(t, Fleet{
				Adapter: forecasterAdapter(forecaster{}), Agents: 10_000,
				Service: Service{Workers: 100, Serve: 10 * time.Millisecond, Queue: 100, Outages: []Outage{{To: time.Minute, Class: trace.Transient}}},
			})
			if err != nil || load.Attempts != 50_000 || len(load.Broken) > 0 {
				t.Fatal(err, load)
			}
		}
	})
}
