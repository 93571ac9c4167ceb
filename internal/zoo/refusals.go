package zoo

import (
	"context"
	"strings"
)

func refusals() []Specimen {
	return []Specimen{
		{"retries-everything", "Every error is tried again, refusals as well.",
			handling, "no-retry-after-refusal", weather(retriesEverything)},
		{"remembers-the-transient", "Once an error was transient the action counts as retryable, whatever comes later.",
			testingRetries, "no-retry-after-refusal", weather(remembersTransient)},
		{"reads-the-error-text", "The error's words decide, and a refusal that says try again is tried again.",
			testingRetries, "no-retry-after-refusal", weather(readsText)},
		{"timeout-not-retried", "The list of retryable errors holds the service's own and forgets the timeout.",
			toolErrors, "conforms", weather(forgetsTimeout)},
		{"attempt-timeout-taken-for-the-callers", "The end of the attempt's own context is taken for the end of the caller's.",
			"F020", "conforms", weather(confusesContexts)},
	}
}

func retriesEverything(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func remembersTransient(ctx context.Context, call tool) (forecast, error) {
	wait, transient := base, false
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if retryable(err) {
			transient = true
		}
		if n == attempts || ctx.Err() != nil || !transient {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func readsText(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		again := retryable(err) || strings.Contains(err.Error(), "try again")
		if n == attempts || ctx.Err() != nil || !again {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func forgetsTimeout(ctx context.Context, call tool) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, pune)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil || err != errUnavailable {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func confusesContexts(ctx context.Context, call tool) (forecast, error) {
	attempt := func() (forecast, error, bool) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		f, err := call(ctx, pune)
		return f, err, ctx.Err() != nil // the caller is gone
	}
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err, gone := attempt()
		if err == nil {
			return f, nil
		}
		if n == attempts || gone || !retryable(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
