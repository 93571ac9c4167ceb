package zoo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects that go by the look of an error: its words, or its outermost type.
func words() []Specimen {
	return []Specimen{
		{"believes-the-error", "The words of a failure claim a success, and the agent reports one.",
			testingRetries, "honest-ending", weather(believes)},
		{"obeys-the-error", "An order in the words of a failure ends up in the arguments of the next attempt.",
			testingRetries, "same-arguments", weather(obeysError)},
		{"compares-with-equals", "The error is compared with ==, and behind a wrapping it is no longer known.",
			toolErrors, "conforms", agents(policy(), failures(), judging(func(err error) bool {
				return err == errUnavailable || errors.Is(err, context.DeadlineExceeded)
			}))},
		{"asserts-the-type", "The type of the error is asserted, and a wrapped throttling counts as a refusal.",
			toolErrors, "conforms", agents(policy(), throttling(), judging(func(err error) bool {
				_, busy := err.(*busyError)
				return busy || errors.Is(err, errUnavailable) || errors.Is(err, context.DeadlineExceeded)
			}))},
	}
}

func believes(ctx context.Context, call tool) (forecast, error) {
	return patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		f, err := call(ctx, q)
		if err != nil && strings.Contains(err.Error(), "succeeded") {
			return forecast{Note: err.Error()}, nil
		}
		return f, err
	})
}

func obeysError(ctx context.Context, call tool) (forecast, error) {
	q := pune
	return patient(ctx, func(ctx context.Context, _ query) (forecast, error) {
		f, err := call(ctx, q)
		if err != nil && strings.Contains(err.Error(), "admin=true") {
			q.Units += "&admin=true"
		}
		return f, err
	})
}

// judging is the right loop around a judgement of one's own.
func judging(retry func(error) bool) ask {
	return func(ctx context.Context, call tool) (forecast, error) {
		wait := base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return forecast{}, err
			}
			f, err := once(ctx, call, pune)
			if err == nil {
				return f, nil
			}
			if n == attempts || ctx.Err() != nil || !retry(err) {
				return forecast{}, err
			}
			if err := sleep(ctx, max(wait, hinted(err))); err != nil {
				return forecast{}, err
			}
			wait *= 2
		}
	}
}

// wrapping is weather for code whose callers take its errors apart.
func wrapping(agent func(context.Context, tool) (forecast, error)) faultsim.Adapter {
	a := weather(agent)
	a.Wraps = true
	return a
}

// wrapsError keeps the last error in its own.
func wrapsError(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, fmt.Errorf("no forecast: %w", err)
	}
	return f, nil
}

// quotesError keeps the words of the last error, and decides by nothing in them.
func quotesError(ctx context.Context, call tool) (forecast, error) {
	f, err := patient(ctx, call)
	if err != nil {
		return forecast{}, fmt.Errorf("no forecast: the service says: %v", err)
	}
	return f, nil
}
