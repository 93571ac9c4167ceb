package zoo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
)

func counting() []Specimen {
	return []Specimen{
		{"retries-counted-from-zero", "The limit is compared with the number of retries, so one attempt too many is made.",
			testingRetries, "attempts-bounded", weather(countsRetries)},
		{"layers-multiply", "A retrying caller stands over a retrying client, and three attempts become nine.",
			"F050", "attempts-bounded", weather(retriesTheRetrier)},
		{"counter-for-each-error", "Attempts are counted for each kind of error, so that two kinds in turn have twice the attempts.",
			"F067", "attempts-bounded", weather(countsByError)},
		{"timeouts-not-counted", "A timeout is tried again without being counted, because the service did nothing wrong.",
			handling, "attempts-bounded", weather(forgivesTimeouts)},
		{"retries-taken-for-attempts", "The number of retries is used as the number of attempts, and the last one is never made.",
			"F002", "conforms", weather(stopsShort)},
		{"zero-taken-for-the-default", "No retries are asked for, and the zero is replaced by the default of two.",
			"F002", "attempts-bounded", agents(tries(1), failures(), retriesOf(0, true))},
		{"counter-shared-by-actions", "The counter lives in the agent, and one action spends the attempts of the next.",
			"F082", "conforms", built(policy(), failures(), func(*faultsim.Stage) ask { return new(sharedCounter).forecast })},
	}
}

func countsRetries(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for retries := 0; ; retries++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if retries >= attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func retriesTheRetrier(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		f, err := patient(ctx, call)
		if err == nil || n == attempts || final(ctx, err) {
			return f, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func countsByError(ctx context.Context, call tool) (forecast, error) {
	wait, seen := base, map[string]int{}
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if seen[err.Error()]++; seen[err.Error()] == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func forgivesTimeouts(ctx context.Context, call tool) (forecast, error) {
	wait, failed := base, 0
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			failed++
		}
		if failed == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func stopsShort(ctx context.Context, call tool) (forecast, error) {
	const retries = attempts - 1
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n >= retries || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// retriesOf is a loop that makes so many retries; with a default, zero is not set.
func retriesOf(retries int, defaults bool) ask {
	if retries == 0 && defaults {
		retries = 2
	}
	return tryTimes(1+retries, func(n int) time.Duration { return base << (n - 1) })
}

// sharedCounter is an agent that was written for one action.
type sharedCounter struct{ failed atomic.Int32 }

func (a *sharedCounter) forecast(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if a.failed.Add(1) >= attempts || final(ctx, err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
