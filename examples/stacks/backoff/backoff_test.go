// Package backoff_test holds cenkalti/backoff/v5 (v5.0.3) to the policy that it
// really has, and pins where that is not what its documentation says.
package backoff_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// Forecast is what the operation returns.
type Forecast struct {
	Celsius int `json:"celsius"`
}

var (
	errBusy      = errors.New("weather: service unavailable")
	errReset     = errors.New("weather: connection reset")
	errCity      = errors.New("weather: no such city")
	errForbidden = errors.New("weather: permission denied")
)

// failures says how the operation fails. What is not wrapped in Permanent is
// retried, whatever it is; a RetryAfterError asks for a wait.
var failures = faultsim.Errors{
	trace.Transient: errBusy,
	trace.Reset:     errReset,
	trace.Throttled: faultsim.Hinted(func(hint time.Duration) error {
		if hint == 0 {
			return errBusy // RetryAfter(0) would be retried at once: see TestRetryAfterZero
		}
		return &backoff.RetryAfterError{Duration: hint}
	}),
	trace.Invalid:   backoff.Permanent(errCity),
	trace.Forbidden: backoff.Permanent(errForbidden),
}

// policy is what Retry does with NewExponentialBackOff and three tries.
var policy = invariants.Policy{
	ID:          "backoff/v5.0.3",
	MaxAttempts: 3,                                                            // WithMaxTries counts the first try too
	Budget:      backoff.DefaultMaxElapsedTime,                                // 15 minutes are there without being asked for
	BudgetLate:  invariants.LateStop,                                          // retry.go: elapsed+next > MaxElapsedTime ends it before the wait
	Retry:       []trace.Class{trace.Transient, trace.Throttled, trace.Reset}, // all but Permanent
	Backoff: invariants.Backoff{
		Base:   backoff.DefaultInitialInterval, // 500 ms
		Factor: backoff.DefaultMultiplier,      // 1.5
		Cap:    backoff.DefaultMaxInterval,     // a minute
		CapIs:  invariants.CapBefore,           // "MaxInterval caps the RetryInterval and not the randomized interval"
		Jitter: invariants.Proportional(backoff.DefaultRandomizationFactor),
	},
	Hint: invariants.Hint{
		Use:    invariants.HintReplace, // retry.go: next = retryAfter.Duration, however short or long
		Resets: true,                   // … and args.BackOff.Reset()
	},
	Late:       invariants.LateWait, // the deadline is not looked at before the wait
	Repeatable: true,                // the library does not ask what a failure leaves behind
}

// A retrier runs an operation: the shape of every retry library.
type retrier = func(context.Context, func(context.Context) (Forecast, error)) (Forecast, error)

func adapter(p invariants.Policy, retry retrier) faultsim.Adapter {
	a := faultsim.Retrier("forecast", p, failures, retry) // the line that plugs it in
	a.Reason = reason
	a.Accept = map[string]string{"no-call-on-dead-context": `documented: "It ensures the operation is executed at least once", so Retry calls it with a context that is over`}
	a.Trials = 10_000
	return a
}

// reason reads Retry's error as its callers do. The last operation's error
// comes back as it is: whether tries or time have run out it does not say.
func reason(err error) trace.Reason {
	switch {
	case errors.Is(err, context.Canceled):
		return trace.ReasonCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return trace.ReasonDeadline
	case errors.Is(err, errCity):
		return trace.ReasonNeedsInput
	case errors.Is(err, errForbidden):
		return trace.ReasonRefused
	}
	return 0
}

// usual is the construction that the library's own example shows.
func usual(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
	return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) },
		backoff.WithBackOff(backoff.NewExponentialBackOff()), backoff.WithMaxTries(3))
}

func TestUsualMatrix(t *testing.T) { matrix.Run(t, adapter(policy, usual)) }

func TestUsualFaults(t *testing.T) { faultsim.Check(t, adapter(policy, usual)) }

// plain is a backoff without randomness, whose waits are exact: 500 ms, 750 ms.
func plain() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.RandomizationFactor = 0
	return b
}

func exact(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
	return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) },
		backoff.WithBackOff(plain()), backoff.WithMaxTries(3))
}

var exactPolicy = func() invariants.Policy {
	p := policy
	p.ID += " exact"
	p.Backoff.Jitter = invariants.Jitter{}
	return p
}()

func TestExactMatrix(t *testing.T) { matrix.Run(t, adapter(exactPolicy, exact)) }

func TestExactFaults(t *testing.T) { faultsim.Check(t, adapter(exactPolicy, exact)) }

// elapsed counts no tries: ten seconds bound it.
func elapsed(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
	return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) },
		backoff.WithBackOff(plain()), backoff.WithMaxElapsedTime(10*time.Second))
}

var elapsedPolicy = func() invariants.Policy {
	p := exactPolicy
	p.ID = "backoff/v5.0.3 ten seconds"
	p.MaxAttempts = invariants.Unlimited // WithMaxTries is 0 if nobody sets it
	p.Budget = 10 * time.Second
	return p
}()

func TestElapsedMatrix(t *testing.T) { matrix.Run(t, adapter(elapsedPolicy, elapsed)) }

func TestElapsedFaults(t *testing.T) { faultsim.Check(t, adapter(elapsedPolicy, elapsed)) }

// timed gives each try five seconds of its own. The library has no option for
// that; the operation does it, and Retry tells its own context from that of
// the try.
func timed(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
	return backoff.Retry(ctx, func() (Forecast, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return op(ctx)
	}, backoff.WithBackOff(plain()), backoff.WithMaxTries(3))
}

func timedAdapter() faultsim.Adapter {
	p := exactPolicy
	p.ID = "backoff/v5.0.3 five seconds each"
	p.Attempt = 5 * time.Second
	p.Retry = append([]trace.Class{trace.Timeout}, p.Retry...)
	a := adapter(p, timed)
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, context.DeadlineExceeded) {
			return 0 // of the last try or of the caller: the error is the same
		}
		return reason(err)
	}
	return a
}

func TestTimedMatrix(t *testing.T) { matrix.Run(t, timedAdapter()) }

func TestTimedFaults(t *testing.T) { faultsim.Check(t, timedAdapter()) }
