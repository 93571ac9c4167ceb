// Package contention has many writers of one row. Each reads the row's version and
// writes on top of it; where another has written in between, the write is refused,
// and the writer waits and begins anew. How it waits decides how often all of them
// together call: the tests play the comparison of five ways to wait that AWS
// published, and plot it.
//
// See Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
package contention

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ErrConflict is the error of a write on top of a version that is no longer the
// row's.
var ErrConflict = errors.New("the row has changed since it was read")

// Attempts is how often a writer tries.
const Attempts = 500

// The first interval and the longest of those that wait longer each time.
const (
	Base = 5 * time.Millisecond
	Cap  = 2 * time.Second
)

// A Wait says how long to wait after failure n, counted from 1; previous is the
// wait before it, at first Base.
type Wait func(n int, previous time.Duration, r *rand.Rand) time.Duration

// None does not wait.
func None(int, time.Duration, *rand.Rand) time.Duration { return 0 }

// Exponential doubles the wait each time, and all writers wait the same.
func Exponential(n int, _ time.Duration, _ *rand.Rand) time.Duration {
	return min(Base<<min(n, 16), Cap)
}

// Equal waits half of that, and up to another half by chance.
func Equal(n int, _ time.Duration, r *rand.Rand) time.Duration {
	half := Exponential(n, 0, nil) / 2
	return half + upTo(half, r)
}

// Full waits up to all of that by chance.
func Full(n int, _ time.Duration, r *rand.Rand) time.Duration {
	return upTo(Exponential(n, 0, nil), r)
}

// Decorrelated waits between Base and three times the wait before.
func Decorrelated(_ int, previous time.Duration, r *rand.Rand) time.Duration {
	return min(Base+upTo(3*previous-Base, r), Cap)
}

func upTo(d time.Duration, r *rand.Rand) time.Duration {
	return time.Duration(r.Float64() * float64(d))
}

// A Change is what a writer wants.
type Change struct {
	Add int `json:"add"`
}

// A Writer changes the row.
type Writer struct {
	Update func(context.Context, Change) (int, error) // reads and writes once
	Wait   Wait
	Random *rand.Rand
}

// Write changes the row, and tries again where another was faster.
func (w *Writer) Write(ctx context.Context, c Change) (int, error) {
	wait := Base
	for n := 1; ; n++ {
		version, err := w.Update(ctx, c)
		if !errors.Is(err, ErrConflict) || n == Attempts {
			return version, err
		}
		wait = w.Wait(n, wait, w.Random)
		if err := sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
