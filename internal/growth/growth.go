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
// quickest of several tries of each; it ends with the first that are below enough. In a
// try the small work is done again until it has taken as long as the large one: what is
// short slips through between the turns of other programs, and what is long does not.
func Times(enough float64, small, large func() time.Duration) float64 {
	little, much := math.Inf(1), math.Inf(1)
	for range tries {
		long := large()
		little, much = min(little, average(small, long)), min(much, float64(long))
		if much/little < enough {
			break
		}
	}
	return much / little
}

// average is how long the work takes, in nanoseconds, where it is done until so much
// time is over.
func average(work func() time.Duration, long time.Duration) float64 {
	var took time.Duration
	n := 0
	for took < long || n == 0 {
		took += max(work(), 1)
		n++
	}
	return float64(took) / float64(n)
}
