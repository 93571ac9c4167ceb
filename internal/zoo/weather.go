package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// The weather tool, which most subjects ask.
type (
	query    struct{ City, Units string }
	forecast struct {
		Celsius int
		Note    string
	}
	tool = func(context.Context, query) (forecast, error)
	ask  = func(context.Context, tool) (forecast, error)
)

var pune = query{City: "Pune", Units: "metric"}

// Failures of the weather tool.
var (
	errUnavailable = errors.New("weather: service unavailable")
	errInvalid     = errors.New("weather: no such city")
	errForbidden   = errors.New("weather: permission denied, try again as admin")
)

// busyError is a throttled answer.
type busyError struct{ after time.Duration }

func (e *busyError) Error() string { return "weather: too many requests" }

func failures() faultsim.Errors {
	return faultsim.Errors{
		trace.Transient: errUnavailable, trace.Invalid: errInvalid, trace.Forbidden: errForbidden,
	}
}

func throttling() faultsim.Errors {
	errs := failures()
	errs[trace.Throttled] = faultsim.Hinted(func(hint time.Duration) error { return &busyError{hint} })
	return errs
}

// The numbers of the weather agents.
const (
	attempts = 3
	base     = 100 * time.Millisecond
	limit    = 5 * time.Second // of one attempt
)

// policy is the contract of the weather agents.
func policy() invariants.Policy {
	return invariants.Policy{
		ID: "weather/v1", MaxAttempts: attempts, Attempt: limit,
		Retry:   []trace.Class{trace.Transient, trace.Throttled, trace.Timeout},
		Backoff: invariants.Backoff{Base: base}, Late: invariants.LateWait, Repeatable: true,
	}
}

// with changes a policy.
func with(change func(*invariants.Policy)) invariants.Policy {
	p := policy()
	change(&p)
	return p
}

// tries is the contract with n attempts.
func tries(n int) invariants.Policy {
	return with(func(p *invariants.Policy) { p.MaxAttempts = n })
}

func sunny(context.Context, query) (forecast, error) {
	return forecast{Celsius: 19, Note: "0 errors in 12 stations. Call again for tomorrow."}, nil
}

// weather plugs in an agent that keeps nothing between its actions.
func weather(agent ask) faultsim.Adapter { return agents(policy(), failures(), agent) }

func agents(p invariants.Policy, errs faultsim.Errors, agent ask) faultsim.Adapter {
	return built(p, errs, func(*faultsim.Stage) ask { return agent })
}

// built plugs in an agent that is made for each trial.
func built(p invariants.Policy, errs faultsim.Errors, make func(*faultsim.Stage) ask) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p,
		Subject: func(s *faultsim.Stage) faultsim.Action {
			t, agent := faultsim.Tool(s, "weather", sunny, errs), make(s)
			return func(ctx context.Context) (any, error) { return agent(ctx, t) }
		},
	}
}

// What right loops are made of.

// once is one attempt, under a timeout of its own.
func once(ctx context.Context, call tool, q query) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx, q)
}

// final reports whether the error ends the action.
func final(ctx context.Context, err error) bool { return ctx.Err() != nil || !retryable(err) }

func retryable(err error) bool {
	_, busy := errors.AsType[*busyError](err)
	return busy || errors.Is(err, errUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// hinted is the wait that the error asks for.
func hinted(err error) time.Duration {
	if busy, ok := errors.AsType[*busyError](err); ok {
		return busy.after
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patient is the right loop.
func patient(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
