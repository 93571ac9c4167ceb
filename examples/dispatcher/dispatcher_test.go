package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/dispatcher"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// circuit is the contract of the breakers: open for 30 s once half of the last
// 20 calls have failed, of at least 10. A wrong argument is not the tool's fault.
var circuit = invariants.Breaker{Rate: 0.5, Window: 20, Least: 10, Cooldown: 30 * time.Second}

// handedOn is what the model is told of a failure: these fields of a short
// JSON object, and never the words of the tool, which may hold keys and hosts.
var handedOn = invariants.Observation{
	Tool: "tool", Code: "error", Retryable: "retryable", Next: "next", Attempts: "attempts", Limit: 300,
}

func observe(_ any, err error) any {
	if e, ok := errors.AsType[*dispatcher.Error](err); ok {
		return e
	}
	return nil
}

// search is a read: three attempts under two time limits.
var search = faultsim.Adapter{
	Name: "search",
	Policy: invariants.Policy{
		ID:          "dispatcher/repeatable/v1",
		MaxAttempts: 3,
		Attempt:     5 * time.Second,
		Budget:      12 * time.Second,
		BudgetCuts:  true,
		Retry:       []trace.Class{trace.Transient, trace.Throttled, trace.Timeout},
		Backoff:     invariants.Backoff{Base: 500 * time.Millisecond, Jitter: invariants.FullJitter},
		Repeatable:  true,
	},
	Breaker: &circuit,
	Subject: func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"search": {Do: double(s, "search"), Repeatable: true}})
		return func(ctx context.Context) (any, error) { return d.Call(ctx, "search", query) }
	},
	Reason:      reason,
	Attempts:    told,
	Observation: &handedOn,
	Observe:     observe,
}

// sendMail has a side effect and no key: one attempt, and a failure after it
// has an unknown outcome unless it proves that nothing was sent.
var sendMail = faultsim.Adapter{
	Name: "send mail",
	Policy: invariants.Policy{
		ID:          "dispatcher/once/v1",
		MaxAttempts: 1,
		Retry:       []trace.Class{trace.Throttled}, // not here, and the model may later: nothing was done
		Attempt:     5 * time.Second,
		Budget:      12 * time.Second,
		BudgetCuts:  true,
	},
	Breaker: &circuit,
	Subject: func(s *faultsim.Stage) faultsim.Action {
		d := dispatcher.New(map[string]dispatcher.Tool{"send_mail": {Do: double(s, "send_mail")}})
		return func(ctx context.Context) (any, error) { return d.Call(ctx, "send_mail", mail) }
	},
	Reason:      reason,
	Attempts:    told,
	Observation: &handedOn,
	Observe:     observe,
}

var (
	query = json.RawMessage(`{"q":"open tickets"}`)
	mail  = json.RawMessage(`{"to":"ann@example.com","text":"The release is out."}`)
)

// double puts a tool on the stage that can fail in all the ways that the
// dispatcher knows, and in one that it does not.
func double(s *faultsim.Stage, name string) dispatcher.Func {
	answer := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"id":7}`), nil
	}
	return dispatcher.Func(faultsim.Tool(s, name, answer, faultsim.Errors{
		trace.Transient: dispatcher.ErrUnavailable,
		trace.Throttled: faultsim.Hinted(func(wait time.Duration) error { return &dispatcher.Busy{After: wait} }),
		trace.Invalid:   dispatcher.ErrInvalid,
		trace.NotFound:  dispatcher.ErrNotFound,
		trace.Forbidden: dispatcher.ErrForbidden,
		trace.Unknown:   errors.New("index out of range"),
	}))
}

// reason reads the code. What several ends share is left to the trace.
func reason(err error) trace.Reason {
	e, ok := errors.AsType[*dispatcher.Error](err)
	if !ok {
		return 0
	}
	switch e.Code {
	case dispatcher.BreakerOpen:
		return trace.ReasonBreakerOpen
	case dispatcher.InvalidArguments:
		return trace.ReasonNeedsInput
	case dispatcher.NotFound, dispatcher.Forbidden, dispatcher.Failed:
		return trace.ReasonRefused
	case dispatcher.OutcomeUnknown:
		return trace.ReasonOutcomeUnknown
	}
	return 0
}

// told is the number of attempts that the model is told of.
func told(err error) int {
	if e, ok := errors.AsType[*dispatcher.Error](err); ok {
		return e.Attempts
	}
	return 0
}

func TestMatrix(t *testing.T) {
	for _, a := range []faultsim.Adapter{search, sendMail} {
		t.Run(a.Name, func(t *testing.T) { matrix.Run(t, a) })
	}
}

func TestFaults(t *testing.T) {
	for _, a := range []faultsim.Adapter{search, sendMail} {
		t.Run(a.Name, func(t *testing.T) { faultsim.Check(t, a) })
	}
}
