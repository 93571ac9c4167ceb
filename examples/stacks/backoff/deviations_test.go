package backoff_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rehearse-go/rehearse/examples/stacks/internal/pin"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Permanent has two ends. The change log of 5.0.0 promises "The original error
// is returned from Retry if there's a PermanentError"; the last try returns
// the wrapper instead, because MaxTries is looked at before Permanent.
func TestPermanentErrorOfTheLastTryStaysWrapped(t *testing.T) {
	var got error
	keeping := func(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
		f, err := exact(ctx, op)
		got = err
		return f, err
	}
	busy, city := faultsim.Fail(trace.Transient), faultsim.Fail(trace.Invalid)

	faultsim.Run(t, adapter(exactPolicy, keeping), faultsim.One(busy, city))
	assert.Equal(t, errCity, got, "the second of three: as promised")

	faultsim.Run(t, adapter(exactPolicy, keeping), faultsim.One(busy, busy, city))
	_, wrapped := errors.AsType[*backoff.PermanentError](got)
	assert.True(t, wrapped, "the third of three: still wrapped")
	assert.ErrorIs(t, got, errCity)
}

// RetryAfter(0) is retried at once, where no hint would have meant the own
// backoff. A server that answers "Retry-After: 0" can so be hammered.
func TestRetryAfterZeroIsRetriedAtOnce(t *testing.T) {
	a := adapter(exactPolicy, exact)
	a.Subject = faultsim.Retrier("forecast", a.Policy, faultsim.Errors{
		trace.Throttled: faultsim.Hinted(func(hint time.Duration) error { return backoff.RetryAfter(int(hint.Seconds())) }),
	}, exact).Subject
	tr := pin.Broken(t, a, faultsim.One(faultsim.Fail(trace.Throttled), faultsim.Fail(trace.Throttled)),
		"waits-in-window", "came 0s after the answer, the earliest is 500ms")
	assert.Equal(t, []time.Duration{0, 0}, pin.Waits(&tr.Actions()[0]))
}

// A hint replaces the own backoff, and the backoff begins anew after it.
func TestRetryAfterResetsTheBackoff(t *testing.T) {
	p := exactPolicy
	p.MaxAttempts = 6
	six := func(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
		return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) }, backoff.WithBackOff(plain()), backoff.WithMaxTries(6))
	}
	busy := faultsim.Fail(trace.Transient)
	s := faultsim.One(busy, busy, faultsim.Throttle(7*time.Second), busy, busy)

	tr := faultsim.Run(t, adapter(p, six), s)
	ms := time.Millisecond
	assert.Equal(t, []time.Duration{500 * ms, 750 * ms, 7000 * ms, 500 * ms, 750 * ms}, pin.Waits(&tr.Actions()[0]))

	p.Hint.Resets = false
	pin.Broken(t, adapter(p, six), s, "waits-in-window", "attempt 5 of op came 500ms after the answer")
}

// Whoever asks for three tries gets fifteen minutes with them, unless he says
// WithMaxElapsedTime(0): a wait of twenty is not begun.
func TestFifteenMinutesAreThereUnasked(t *testing.T) {
	s := faultsim.One(faultsim.Throttle(20 * time.Minute))
	tr := faultsim.Run(t, adapter(policy, usual), s)
	assert.Len(t, tr.Actions()[0].Attempts, 1)
	assert.Equal(t, "retry after 20m0s", tr.Actions()[0].Error)

	p := policy
	p.Budget = 0
	pin.Broken(t, adapter(p, usual), s, "conforms", "given up after attempt 1 (throttled), the policy allows 3")
}

// WithMaxElapsedTime "limits the total duration for retry attempts", but it is
// looked at between them only: an operation that hangs is not ended by it.
func TestMaxElapsedTimeDoesNotEndAnOperation(t *testing.T) {
	p := elapsedPolicy
	p.BudgetCuts = true
	pin.Broken(t, adapter(p, elapsed), faultsim.One(faultsim.Fault{Hang: true}), "returns", "has not returned")
}

// The deadline of the context is not looked at before a wait: the caller is
// told only when it has come.
func TestWaitsIntoTheDeadline(t *testing.T) {
	s := faultsim.One(faultsim.Fail(trace.Transient))
	s.Actions[0].Deadline = 300 * time.Millisecond // the wait is 500 ms
	tr := faultsim.Run(t, adapter(exactPolicy, exact), s)
	assert.Equal(t, 300*time.Millisecond, tr.Actions()[0].End)

	p := exactPolicy
	p.Late = invariants.LateStop
	pin.Broken(t, adapter(p, exact), s, "no-last-delay", "the action ended 300ms after its last attempt")
}

// "MaxInterval caps the RetryInterval", but not the first one.
func TestMaxIntervalDoesNotCapTheFirstInterval(t *testing.T) {
	retry := func(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
		b := plain()
		b.InitialInterval, b.MaxInterval = 2*time.Second, time.Second
		return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) }, backoff.WithBackOff(b), backoff.WithMaxTries(3))
	}
	s := faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient))
	p := exactPolicy

	p.Backoff = invariants.Backoff{Delays: []time.Duration{time.Second}} // as documented
	pin.Broken(t, adapter(p, retry), s, "waits-in-window", "attempt 2 of op came 2s after the answer, the latest is 1s")

	p.Backoff = invariants.Backoff{Delays: []time.Duration{2 * time.Second, time.Second}} // as it is
	faultsim.Run(t, adapter(p, retry), s)
}

// "Implementation is not thread-safe" is more than a matter of locks: one
// backoff behind a mutex is free of races, and two calls that share it still
// take each other's waits.
func TestSharedBackOffMixesTheWaitsOfItsCalls(t *testing.T) {
	a := adapter(exactPolicy, nil)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		shared := &locked{b: plain()}
		return adapter(exactPolicy, func(ctx context.Context, op func(context.Context) (Forecast, error)) (Forecast, error) {
			return backoff.Retry(ctx, func() (Forecast, error) { return op(ctx) }, backoff.WithBackOff(shared), backoff.WithMaxTries(3))
		}).Subject(s)
	}
	busy := map[string][]faultsim.Fault{faultsim.Main: {faultsim.Fail(trace.Transient), faultsim.Fail(trace.Transient)}}
	s := faultsim.Schedule{Actions: []faultsim.Plan{{Faults: busy}, {Faults: busy}}, AtOnce: true}

	tr := pin.Broken(t, a, s, "waits-in-window", "")
	require.Len(t, tr.Actions(), 2)
	assert.NotEqual(t, pin.Waits(&tr.Actions()[0]), pin.Waits(&tr.Actions()[1]))

	faultsim.Run(t, adapter(exactPolicy, exact), s) // a backoff for each call
}

// A wait that ends at the very instant of the deadline goes on: Retry does not
// look at the context between wait and operation. Which of the two its select
// takes is chance; in eleven runs of this test it was the wait in all of 100.
func TestOperationAtTheInstantOfTheDeadline(t *testing.T) {
	s := faultsim.One(faultsim.Fail(trace.Transient))
	s.Actions[0].Deadline = 500 * time.Millisecond // which is the wait
	again := 0
	for range 100 {
		if len(faultsim.Run(t, adapter(exactPolicy, exact), s).Actions()[0].Attempts) > 1 {
			again++
		}
	}
	t.Logf("%d of 100 runs called the operation at the instant of the deadline", again)
	assert.Positive(t, again)
}

type locked struct {
	mu sync.Mutex
	b  backoff.BackOff
}

func (l *locked) NextBackOff() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.NextBackOff()
}

func (l *locked) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
