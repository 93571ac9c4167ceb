package invariants_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A payment is made, its audit fails, and the caller is told that all attempts
// failed: whoever believes it pays again.
func ExampleSink() {
	audit := invariants.Sink{Name: "audit", Mandatory: true, Wait: time.Second}
	policy := invariants.Policy{ID: "pay/v1", MaxAttempts: 3, Key: "key", Retry: []trace.Class{trace.Transient}}

	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(context.Background(), "pay")
	r.Call(ctx, trace.Call{Tool: "bank", Key: "k1"}).Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	r.Call(ctx, trace.Call{Tool: "audit", Role: audit.Role()}).Answer(trace.Outcome{Class: trace.Timeout}, nil, errors.New("no answer"))
	op.End(trace.Ending{Reason: trace.ReasonExhausted, Err: errors.New("payment failed, try again")})

	for _, f := range invariants.Find(r.Trace(), audit.Invariants(policy)...) {
		fmt.Println(f.Invariant + ": " + f.Text)
	}
	// Output:
	// audited: bank has done its work, the record in audit was not written, and the action ended as exhausted, as if nothing had been done
}

// A failure that a cache has kept is the answer to a later question.
func ExampleCache() {
	r := &trace.Recorder{Clear: true, Clock: clock.NewMock()} // time stands still
	ctx, op := r.Begin(context.Background(), "forecast")
	busy := errors.New("busy")
	r.Call(ctx, trace.Call{Tool: "weather", Args: []byte(`"Pune"`)}).Answer(trace.Outcome{Class: trace.Transient}, nil, busy)
	op.End(trace.Ending{Err: busy})

	ctx, op = r.Begin(context.Background(), "forecast")
	for range 2 {
		r.Hit(ctx, "weather", "Pune", nil, busy)
	}
	op.End(trace.Ending{Err: busy})

	tr := r.Trace()
	cache := invariants.Cache{FailureTTL: 30 * time.Second}
	for _, f := range invariants.Find(tr, cache.Invariants()...) {
		fmt.Println(f.Invariant + ": " + f.Text)
	}
	fmt.Println(tr.Metrics().Attempts, "attempt,", tr.Metrics().Hits, "hits")
	// Output:
	// cached-failure: a failure of weather that was kept was served twice at one instant
	// 1 attempt, 2 hits
}
