package scripted_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestSleeperWritesDownWaitsAndTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec := &trace.Recorder{}
		s := &scripted.Sleeper{Recorder: rec}
		require.NoError(t, s.Sleep(t.Context(), 100*time.Millisecond))
		require.NoError(t, s.Sleep(t.Context(), 200*time.Millisecond))
		require.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, s.Waits())
		require.Zero(t, time.Since(start))
		events := rec.Trace().Events
		require.Len(t, events, 2)
		require.Equal(t, 200*time.Millisecond, events[1].Wait)
	})
}

func TestSleeperHeedsAnEndedContext(t *testing.T) {
	for _, really := range []bool{false, true} {
		s := &scripted.Sleeper{Really: really}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Sleep(ctx, time.Hour), context.Canceled)
		require.Equal(t, []time.Duration{time.Hour}, s.Waits())
	}
}

func TestSleeperReallySleepsWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &scripted.Sleeper{Really: true}
		require.NoError(t, s.Sleep(t.Context(), time.Hour))
		require.NoError(t, s.Sleep(t.Context(), -time.Hour))
		require.Equal(t, time.Hour, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.Sleep(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Hour+time.Minute, time.Since(start))
	})
}

func TestSleeperSleepsOnItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		s := &scripted.Sleeper{Really: true, Clock: mock}
		done := make(chan error, 1)
		go func() { done <- s.Sleep(t.Context(), time.Second) }()
		synctest.Wait()
		mock.Add(time.Second)
		require.NoError(t, <-done)
	})
}
