package zoo

import (
	"context"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

func cancels() []Specimen {
	return []Specimen{
		{"sleeps-through-the-cancel", "The wait is a plain sleep, and a cancel is seen only when it is over.",
			"F040", "ends-at-cancel", agents(stopsLate(), failures(), sleepsThrough)},
		{"retries-after-the-cancel", "The wait is a plain sleep, and nobody looks at the context after it.",
			"F040", "no-attempt-after-cancel", agents(stopsLate(), failures(), retriesCancelled)},
		{"calls-on-a-dead-context", "The context is looked at after the first attempt, not before it.",
			testingRetries, "no-call-on-dead-context", weather(looksTooLate)},
		{"tool-left-at-work", "The action returns at the cancel, and the tool goes on for a caller who is gone.",
			"F030", "cancel-reaches-tool", weather(patientWith(leavesTool))},
		{"cancel-kept-from-the-tool", "The tool gets a timeout computed from the deadline, and never learns of the cancel.",
			"F030", "cancel-reaches-tool", weather(patientWith(timeoutOnly))},
	}
}

// stopsLate is the contract of an agent that ends when the wait cannot fit.
func stopsLate() invariants.Policy {
	return with(func(p *invariants.Policy) { p.Late = invariants.LateStop })
}

// tooLate reports whether a wait does not fit before the deadline.
func tooLate(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= wait
}

func sleepsThrough(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) || tooLate(ctx, wait) {
			return forecast{}, err
		}
		time.Sleep(wait)
		wait *= 2
	}
}

func retriesCancelled(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	wait := base
	for n := 1; ; n++ {
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || !retryable(err) || tooLate(ctx, wait) {
			return forecast{}, err
		}
		time.Sleep(wait)
		wait *= 2
	}
}

func looksTooLate(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func leavesTool(ctx context.Context, call tool) (forecast, error) {
	type answer struct {
		f   forecast
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		f, err := timeoutOnly(ctx, call)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.f, a.err
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
}

func timeoutOnly(ctx context.Context, call tool) (forecast, error) {
	timeout := limit
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return call(own, pune)
}
