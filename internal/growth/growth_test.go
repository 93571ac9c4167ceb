package growth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/growth"
)

// of is work that takes so long, one try after another, and then the last time again.
func of(took ...time.Duration) func() time.Duration {
	return func() time.Duration {
		now := took[0]
		took = took[min(1, len(took)-1):]
		return now
	}
}

func TestTheQuickestTryCounts(t *testing.T) {
	require.Equal(t, 10.0, growth.Times(25, of(1), of(10)))
	require.Equal(t, 10.0, growth.Times(25, of(1), of(89, 40, 10, 70)), "the machine had other work")
	require.Equal(t, 100.0, growth.Times(25, of(1), of(100)), "it grows with the square")
	require.Equal(t, 100.0, growth.Times(25, of(0), of(100)), "a clock that stands still")
	require.Equal(t, 0.5, growth.Times(25, of(2), of(1)), "the small work is done at least once")
}

// Another program that takes every second instant doubles the time of what is long. What
// is short is as slow on the average, though now and then it gets through at once.
func TestShortWorkIsAveraged(t *testing.T) {
	turn := 0
	between := func() time.Duration {
		turn++
		return time.Duration(1 + 2*(turn%2)) // 1 or 3: 2 on the average
	}
	require.Equal(t, 10.0, growth.Times(15, between, of(20)))
}
