package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
)

func deadlines() []Specimen {
	return []Specimen{
		{"goes-on-after-the-deadline", "Only a cancel ends the loop; past the deadline it goes on with what is left of its attempts.",
			"F046", "within-deadline", weather(ignoresDeadline)},
		{"tool-given-its-own-time", "The attempt's context is made afresh, and the tool never learns how little time is left.",
			testingRetries, "within-deadline", weather(patientWith(ownTime))},
		{"tool-given-no-deadline", "Only the cancel is handed down to the tool, not the deadline.",
			toolErrors, "within-deadline", agents(unlimited(), failures(), patientWith(cancelOnly))},
		{"no-attempt-timeout", "The attempt has no timeout of its own, and a hanging tool holds the agent.",
			handling, "attempt-timeout", weather(patientWith(func(ctx context.Context, call tool) (forecast, error) { return call(ctx, pune) }))},
		{"timeout-grows", "The timeout of the attempt is doubled together with the wait.",
			toolErrors, "attempt-timeout", weather(growsTimeout)},
		{"one-timeout-for-all", "The attempt's timeout is made outside the loop, and all attempts share it.",
			"F048", "conforms", weather(sharesTimeout)},
		{"timeout-without-its-unit", "The timeout's number is read as milliseconds, and two seconds are two milliseconds.",
			handling, "whole-attempt", weather(patientWith(wrongUnit))},
		{"budget-only-leaves-the-wait", "The end of the budget only leaves the wait, and the attempts that are left run back to back.",
			"F045", "within-budget", agents(budgeted(), failures(), leavesTheWait)},
		{"zero-budget-taken-for-an-ended-one", "No budget is set, and the zero becomes a context that has ended already.",
			"F045", "conforms", agents(unbudgeted(), failures(), overall(0, true))},
		{"waits-past-the-deadline", "The next attempt no longer fits, and the agent waits for the deadline although it promises to stop at once.",
			testingRetries, "no-last-delay", agents(with(func(p *invariants.Policy) { p.Late = invariants.LateStop }), failures(), patient)},
	}
}

// unlimited is the contract without a time limit for one attempt.
func unlimited() invariants.Policy {
	return with(func(p *invariants.Policy) { p.Attempt = 0 })
}

// budgeted is the contract of an agent with three seconds for all attempts.
func budgeted() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.MaxAttempts, p.Backoff.Base, p.Budget = 5, time.Second, 3*time.Second
	})
}

// unbudgeted is the contract of an agent whose number of attempts alone bounds it.
func unbudgeted() invariants.Policy {
	return with(func(p *invariants.Policy) { p.MaxAttempts = 5 })
}

// overall is a loop with a time for all attempts; where zero is none it is taken
// at its word, else it is no limit.
func overall(budget time.Duration, zeroIsNone bool) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		begin, wait := time.Now(), base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			spent := time.Since(begin) >= budget && (budget > 0 || zeroIsNone)
			if n == 5 || spent || final(ctx, err) {
				return forecast{}, err
			}
			if err := sleep(ctx, wait); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
	}
}

func ignoresDeadline(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if errors.Is(ctx.Err(), context.Canceled) {
			return forecast{}, ctx.Err()
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || !retryable(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); errors.Is(err, context.Canceled) {
			return forecast{}, err
		}
		wait *= 2
	}
}

// patientWith is the right loop around an attempt of one's own.
func patientWith(attempt func(context.Context, tool) (forecast, error)) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		wait := base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := attempt(ctx, call)
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
}

func ownTime(ctx context.Context, call tool) (forecast, error) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return call(own, pune)
}

func cancelOnly(ctx context.Context, call tool) (forecast, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return call(own, pune)
}

func wrongUnit(ctx context.Context, call tool) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit/1000)
	defer cancel()
	return call(ctx, pune)
}

func growsTimeout(ctx context.Context, call tool) (forecast, error) {
	patience := limit
	return patientWith(func(ctx context.Context, call tool) (forecast, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		patience *= 2
		return call(ctx, pune)
	})(ctx, call)
}

func sharesTimeout(ctx context.Context, call tool) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := call(ctx, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if sleep(ctx, wait) != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func leavesTheWait(ctx context.Context, call tool) (forecast, error) {
	overall, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	wait := time.Second
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == 5 || final(ctx, err) {
			return forecast{}, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-overall.Done():
			timer.Stop()
		}
		wait *= 2
	}
}
