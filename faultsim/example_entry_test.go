package faultsim_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

// Check looks for faults under which the code breaks its policy. One line in a
// test is all.
func ExampleCheck() {
	TestFaults := func(t *testing.T) { faultsim.Check(t, forecasts()) }
	_ = TestFaults // go test runs it
}

// Run plays faults that are written down. The trace that it returns is for
// further checks.
func ExampleRun() {
	TestBusy := func(t *testing.T) {
		busy := faultsim.Fail(trace.Transient)
		tr := faultsim.Run(t, forecasts(), faultsim.One(busy, busy))
		invariants.Verify(t, tr, invariants.MaxAttempts(3))
	}
	_ = TestBusy // go test runs it
}

// Trial is Run without a report: it returns what was found.
func ExampleTrial() {
	TestBusy := func(t *testing.T) {
		r := faultsim.Trial(t, forecasts(), faultsim.One(faultsim.Fail(trace.Invalid)))
		fmt.Println(r.Err, len(r.Findings), r.Trace.Timeline())
	}
	_ = TestBusy // go test runs it
}

// A retry helper is plugged in as what it is: a function that runs an operation.
func ExampleRetrier() {
	policy := invariants.Policy{
		ID: "helper/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient},
		Backoff: invariants.Backoff{Base: time.Second}, Late: invariants.LateWait, Repeatable: true,
	}
	twice := func(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
		n, err := op(ctx)
		if !errors.Is(err, errUnavailable) {
			return n, err
		}
		select {
		case <-time.After(time.Second):
			return op(ctx)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	a := faultsim.Retrier("twice", policy, faultsim.Errors{trace.Transient: errUnavailable}, twice)
	TestTwice := func(t *testing.T) { faultsim.Check(t, a) }
	_ = TestTwice // go test runs it
}

// Over HTTP a route is a tool. Its failures are statuses, Retry-After, resets.
func ExampleStage_Client() {
	subject := func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "weather", Path: "/weather", Answer: scripted.JSON(200, 19)})
		return func(ctx context.Context) (any, error) { return nil, ask(ctx, client) }
	}
	_ = subject // the Subject of an Adapter
}

func ask(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.example/weather", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
