package double

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPinnedNumbersAreTheEnds(t *testing.T) {
	least, greatest := &Jitter{Pin: Least}, &Jitter{Pin: Greatest}
	for range 20 {
		require.Zero(t, least.Float64())
		require.Zero(t, least.Int64N(100))
		require.Less(t, greatest.Float64(), 1.0)
		require.Equal(t, 1.0, math.Nextafter(greatest.Float64(), 2))
		require.EqualValues(t, 99, greatest.Int64N(100))
		require.Zero(t, greatest.Int64N(0))
	}
}

// math/rand/v2 draws again what is not even; it must come to an end, and to the
// end that is meant.
func TestPinnedSourcesEndInMathRand(t *testing.T) {
	least, greatest := rand.New(&Jitter{Pin: Least}), rand.New(&Jitter{Pin: Greatest})
	for _, n := range []int64{1, 2, 3, 7, 1000, 1e8, 3e9, 1<<40 + 1, math.MaxInt64} {
		for range 100 {
			require.LessOrEqual(t, least.Int64N(n), max(1, n>>32), "less than a billionth of the range")
			require.Equal(t, n-1, greatest.Int64N(n))
		}
	}
	require.Less(t, least.Float64(), 1e-6)
	require.Equal(t, math.Nextafter(1, 0), greatest.Float64())
	require.Equal(t, time.Second-1, time.Duration(greatest.Int64N(int64(time.Second))))
}

func TestLooseNumbersAreThoseOfTheSeed(t *testing.T) {
	draw := func(seed uint64) (all [8]float64) {
		j := Jitter{Seed: seed}
		for i := range all {
			all[i] = j.Float64()
		}
		return all
	}
	require.Equal(t, draw(1), draw(1))
	require.NotEqual(t, draw(1), draw(2))
	j := Jitter{}
	require.Less(t, j.Int64N(10), int64(10))
}
