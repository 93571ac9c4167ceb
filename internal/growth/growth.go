// Package growth tells in tests how the time of some work grows with its size, on a
// machine that has other work to do.
package growth

import (
	"math"
	"time"
)

// tries is how often both are timed at most. Other programs only ever make them slower,
// so the quickest of several is the one to believe.
const tries = 20

// Times is how many times as long the large work takes as the small one, by the
// quickest of several tries of each; it ends with the first that are below enough.
func Times(enough float64, small, large func() time.Duration) float64 {
	little, much := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	ratio := math.Inf(1)
	for range tries {
		little, much = min(little, max(small(), 1)), min(much, large())
		if ratio = float64(much) / float64(little); ratio < enough {
			break
		}
	}
	return ratio
}
