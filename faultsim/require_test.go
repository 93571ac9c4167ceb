package faultsim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ends of the interval solve the equation of the score test, of which they are
// the roots: (p - share)² = z² · share(1 - share)/n.
func TestWilsonEndsAreRootsOfTheScoreTest(t *testing.T) {
	for _, c := range []struct{ met, of int }{{0, 20}, {1, 20}, {20, 20}, {50, 1000}, {999, 1000}, {3, 64000}} {
		low, high := wilson(c.met, c.of)
		n, p := float64(c.of), float64(c.met)/float64(c.of)
		for _, end := range []float64{low, high} {
			require.InDelta(t, (p-end)*(p-end), deviations*deviations*end*(1-end)/n, 1e-9, "%v", c)
		}
		require.LessOrEqual(t, low, p)
		require.GreaterOrEqual(t, high, p)
	}
	low, high := wilson(0, 0)
	require.Equal(t, []float64{0, 1}, []float64{low, high})
	require.InDelta(t, 6.109, deviations, 0.001) // of the normal distribution's 1 - 1e-9
}

func TestSharesAreDecided(t *testing.T) {
	for _, c := range []struct {
		met, of  int
		required float64
		want     reached
	}{
		{0, 0, 0.05, undecided},
		{0, 20, 0.05, undecided}, // for want of trials
		{0, 20, 0.9, tooRare},    // none of 20 is enough to say that
		{0, 1000, 0.05, tooRare},
		{50, 1000, 0.05, undecided},
		{200, 1000, 0.05, enough},
		{3300, 64000, 0.05, enough}, // little more than what is required, within the tolerance
		{2800, 64000, 0.05, tooRare},
		{20, 20, 1, undecided},
		{1000, 1000, 1, enough},
		{990, 1000, 1, enough}, // within the tolerance
		{800, 1000, 1, tooRare},
	} {
		require.Equal(t, c.want, decide(c.met, c.of, c.required), "%+v", c)
	}
}

// With trials twice as many each time, a share that is what is required is never said
// to be too low, and one that is far below it never to be enough.
func TestDecisionsAreCertain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	end := func(share, required float64) reached {
		met, of := 0, 0
		for next := 100; next <= 100*extraTrials; next *= 2 {
			for ; of < next; of++ {
				if r.Float64() < share {
					met++
				}
			}
			if v := decide(met, of, required); v != undecided {
				return v
			}
		}
		return undecided
	}
	seen := map[reached]int{}
	for range 200 {
		require.NotEqual(t, tooRare, end(0.2, 0.2))
		require.NotEqual(t, enough, end(0.1, 0.2))
		seen[end(0.4, 0.2)]++
		seen[end(0.05, 0.2)]++
	}
	require.Equal(t, map[reached]int{enough: 200, tooRare: 200}, seen)
}
