// Package retrier is a retry helper as many repositories have one: it runs an
// operation until it succeeds, the attempts are used up, or the failure is
// final.
package retrier

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Final error is not retried.
type Final struct{ Err error }

func (f *Final) Error() string { return f.Err.Error() }
func (f *Final) Unwrap() error { return f.Err }

// Do runs op up to three times. It waits between 0 and 200 ms before the
// second attempt and between 0 and 400 ms before the third (full jitter), and
// returns op's last error as it is.
func Do[T any](ctx context.Context, op func(context.Context) (T, error)) (T, error) {
	const attempts = 3
	most := 200 * time.Millisecond
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			var none T
			return none, err
		}
		out, err := op(ctx)
		if err == nil || n == attempts || final(err) || ctx.Err() != nil {
			return out, err
		}
		if err := pause(ctx, rand.N(most+1)); err != nil {
			return out, err
		}
		most *= 2
	}
}

func final(err error) bool {
	_, ok := errors.AsType[*Final](err)
	return ok
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
