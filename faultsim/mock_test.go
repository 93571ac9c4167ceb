package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
)

// BenchmarkAgainstMockClock compares a trial with the same loop driven by a
// clock.Mock outside a bubble, which is how such code is tested elsewhere. The
// figure that counts is the ratio.
func BenchmarkAgainstMockClock(b *testing.B) {
	a, s := speedAdapter(), speedSchedule()
	inTest(b, func(t *testing.T) {
		var trials, mocks time.Duration
		for b.Loop() {
			start := time.Now()
			for range 100 {
				x := newTrial(&a, &s, []byte("{}"), nil)
				if _, err := x.run(t); err != nil {
					t.Fatal(err)
				}
			}
			trials += time.Since(start) / 100
			start = time.Now()
			onMock(t)
			mocks += time.Since(start)
		}
		b.ReportMetric(float64(mocks)/float64(trials), "times")
		b.ReportMetric(0, "ns/op")
	})
}

// onMock runs the loop on a mock and moves the mock until the loop has ended.
func onMock(t *testing.T) {
	mock := clock.NewMock()
	calls := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait := 100 * time.Millisecond
		for {
			if calls++; calls == 3 {
				return
			}
			timer := mock.Timer(wait)
			select {
			case <-timer.C:
			case <-context.Background().Done():
			}
			wait *= 2
		}
	}()
	for {
		select {
		case <-done:
			if calls != 3 {
				t.Errorf("%d calls", calls)
			}
			return
		default:
			mock.Add(100 * time.Millisecond)
		}
	}
}
