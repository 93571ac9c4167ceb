package faultsim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Code that keeps its retries on a disk is built anew after each crash. Here it
// is asked again by the id of its request, so that Subject and Resume are one.
func ExampleStage_Disk() {
	build := func(s *faultsim.Stage) faultsim.Action {
		disk := s.Disk()
		weather := faultsim.Tool[string, int](s, "weather", nil, faultsim.Errors{trace.Transient: errUnavailable})
		return func(ctx context.Context) (any, error) {
			id := trace.ActionName(ctx) // as a caller would give it
			if err := disk.Put(ctx, id, []byte("1 attempt")); err != nil {
				return nil, err
			}
			return weather(ctx, "Pune") // examples/job has a whole worker
		}
	}
	TestCrashes := func(t *testing.T) {
		faultsim.Check(t, faultsim.Adapter{
			Name:    "forecast",
			Policy:  invariants.Policy{ID: "kept/v1", MaxAttempts: 1, Repeatable: true, Restart: invariants.RestartResumes},
			Subject: build,
			Resume:  build,
		})
	}
	_ = TestCrashes // go test runs it
}

// What a restart leads to follows from the policy: an attempt that a crash cut
// off is made again, reported as unknown, or ended as interrupted.
func ExampleExpect_restart() {
	cutOff := faultsim.One(faultsim.Fault{Latency: time.Second, Crash: time.Millisecond}).Actions[0]
	read := invariants.Policy{ID: "read/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Timeout}, Repeatable: true, Restart: invariants.RestartResumes}
	write := invariants.Policy{ID: "write/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}, Restart: invariants.RestartResumes}
	memory := read
	memory.ID, memory.Restart = "memory/v1", invariants.RestartInterrupts
	for _, p := range []invariants.Policy{read, write, memory} {
		e, _ := faultsim.Expect(p, cutOff)
		fmt.Println(p.ID, e.Most, e.Reasons)
	}
	// Output:
	// read/v1 2 [success]
	// write/v1 1 [outcome-unknown]
	// memory/v1 1 [interrupted]
}
