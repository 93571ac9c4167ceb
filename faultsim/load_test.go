package faultsim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestMeasuresOfALoad(t *testing.T) {
	l := Load{Attempts: 5, needed: 2, calls: []time.Duration{0, 9 * ms, 10 * ms, 18 * ms, 40 * ms}}
	require.Equal(t, 2.5, l.Amplification())
	require.Equal(t, 3, l.Peak(10*ms), "wherever the span begins")
	require.Equal(t, 2, l.Peak(9*ms), "a span ends before its last instant")
	require.Equal(t, 5, l.Peak(time.Second))
	require.Equal(t, []int{2, 2, 0, 0, 1}, l.Over(10*ms))
	require.Zero(t, l.Peak(0))
	require.Nil(t, l.Over(0))
	require.Nil(t, l.Over(time.Nanosecond), "40 million windows")

	var none Load
	require.Zero(t, none.Amplification())
	require.Zero(t, none.Peak(ms))
	require.Nil(t, none.Over(ms))
	require.Zero(t, none.Synchrony(ms))
}

// retriesBy are so many retries whose instants are drawn.
func retriesBy(n int, draw func(r *rand.Rand) time.Duration) *Load {
	r := rand.New(rand.NewPCG(1, 2))
	l := new(Load)
	for range n {
		l.retries = append(l.retries, draw(r))
	}
	slices.Sort(l.retries)
	return l
}

// Synchrony is 1 where retries are independent of each other, also where their rate
// swells and falls, and 10 where they come in waves; and it does not depend on their
// number.
func TestSynchrony(t *testing.T) {
	for _, n := range []int{1000, 10_000, 50_000} {
		even := retriesBy(n, func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(100 * time.Second))) })
		require.InDelta(t, 1, even.Synchrony(100*ms), 0.06)

		falling := retriesBy(n, func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(20*time.Second)) })
		require.InDelta(t, 1, falling.Synchrony(100*ms), 0.06)

		waves := retriesBy(n, func(r *rand.Rand) time.Duration {
			return time.Duration(r.IntN(20))*5*time.Second + time.Duration(r.IntN(1000))
		})
		require.InDelta(t, 10, waves.Synchrony(100*ms), 0.001)

		// Half of them in waves, half between them: of the pairs that are near, those in
		// one wave count, and those with the others hardly do.
		mixed := retriesBy(n, func(r *rand.Rand) time.Duration {
			if r.IntN(2) == 0 {
				return time.Duration(r.IntN(20)) * 5 * time.Second
			}
			return time.Duration(r.Int64N(int64(100 * time.Second)))
		})
		require.Greater(t, mixed.Synchrony(100*ms), 3.0)
		require.Less(t, mixed.Synchrony(100*ms), 9.0)
	}
}

// A window has to be a tenth of what lies between waves, as the documentation says.
func TestSynchronySeesWavesTenWindowsApart(t *testing.T) {
	waves := retriesBy(10_000, func(r *rand.Rand) time.Duration { return time.Duration(r.IntN(100)) * 100 * ms })
	for window, want := range map[time.Duration]float64{10 * ms: 10, 25 * ms: 2, 50 * ms: 1.1} {
		require.InDelta(t, want, waves.Synchrony(window), 0.1, "%v", window)
	}
}

// The pairs are those that counting one by one finds.
func TestPairsWithin(t *testing.T) {
	l := retriesBy(200, func(r *rand.Rand) time.Duration { return time.Duration(r.IntN(1000)) })
	for _, d := range []time.Duration{1, 7, 100, 2000} {
		pairs := 0.0
		for i := range l.retries {
			for j := range i {
				if l.retries[i]-l.retries[j] < d {
					pairs++
				}
			}
		}
		require.Equal(t, pairs, pairsWithin(l.retries, d))
	}
}
