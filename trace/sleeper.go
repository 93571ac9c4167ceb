package trace

import (
	"context"
	"time"
)

// A SleepFunc waits for d, or until ctx ends, and then returns ctx's error.
type SleepFunc = func(ctx context.Context, d time.Duration) error

// Sleeper returns sleep as a sleeper whose requested waits r writes down. Nil
// is a sleeper on the recorder's clock.
func (r *Recorder) Sleeper(sleep SleepFunc) SleepFunc {
	if sleep == nil {
		sleep = r.sleep
	}
	return func(ctx context.Context, d time.Duration) error {
		r.Wait(ctx, d)
		return sleep(ctx, d)
	}
}

func (r *Recorder) sleep(ctx context.Context, d time.Duration) error {
	if r.Clock != nil {
		t := r.Clock.Timer(d)
		defer t.Stop()
		return await(ctx, t.C)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	return await(ctx, t.C)
}

func await(ctx context.Context, fired <-chan time.Time) error {
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
