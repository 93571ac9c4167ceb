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
	require.Equal(t, 10.0, growth.Times(25, of(1, 9), of(89, 10)), "each by itself")
	require.Equal(t, 100.0, growth.Times(25, of(1), of(100)), "it grows with the square")
	require.Equal(t, 100.0, growth.Times(25, of(0), of(100)), "a clock that stands still")
}
