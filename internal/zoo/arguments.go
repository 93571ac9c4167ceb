package zoo

import (
	"context"
	"time"
)

func arguments() []Specimen {
	return []Specimen{
		{"looser-on-retry", "After a failure the query is simplified, and the caller's units are gone.",
			testingRetries, "same-arguments", weather(loosens)},
		{"request-id-built-up", "The query is decorated inside the loop, a little more with each attempt.",
			testingRetries, "same-arguments", weather(decorates)},
		{"timestamp-in-the-arguments", "The arguments hold the time of the attempt, and no two attempts are the same request.",
			retrySafe, "same-arguments", weather(stampsTime)},
	}
}

func loosens(ctx context.Context, call tool) (forecast, error) {
	q, wait := pune, base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := once(ctx, call, q)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		q = query{City: q.City}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func decorates(ctx context.Context, call tool) (forecast, error) {
	q, wait := pune, base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		q.City += ", IN"
		f, err := once(ctx, call, q)
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

func stampsTime(ctx context.Context, call tool) (forecast, error) {
	stamped := func(ctx context.Context, q query) (forecast, error) {
		q.Units += " as of " + time.Now().Format(time.StampMilli)
		return call(ctx, q)
	}
	return patient(ctx, stamped)
}
