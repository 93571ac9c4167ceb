package faultsim

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// No look comes to a wrong verdict with more than its part of the chance.
func TestVerdictsAreAsCertainAsTheySay(t *testing.T) {
	shares := []float64{1e-4, 0.001, 0.005, 0.01, 0.02, 0.05, 0.2, 0.5, 0.9, 0.98, 0.999, 1}
	for _, of := range []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 1999} {
		for _, share := range shares {
			least := sort.Search(of+1, func(met int) bool { return decide(met, of, share) == enough })
			require.LessOrEqual(t, exactly(least, of, tolerance*share), doubt, "%d of %d are enough for %v", least, of, share)
			most := sort.Search(of+1, func(met int) bool { return decide(met, of, share) != tooRare }) - 1
			require.LessOrEqual(t, exactly(of-most, of, 1-share), doubt, "%d of %d are too rare for %v", most, of, share)
		}
	}
	require.Equal(t, extraTrials, 1<<(looks-1), "twice as many trials each look")
}

func TestSharesLieWhereTheyCouldStillBe(t *testing.T) {
	for _, c := range []struct {
		met, of   int
		low, high float64
	}{
		{0, 0, 0, 1}, {0, 20, 0, 0.679}, {20, 20, 0.321, 1}, {50, 1000, 0.017, 0.107}, {3000, 64000, 0.041, 0.053},
	} {
		low, high := shareBetween(c.met, c.of)
		require.Equal(t, []float64{c.low, c.high}, []float64{low, high}, "%d of %d", c.met, c.of)
	}
}

// A share that is required, or was met, is not said to be none because it is small.
func TestSharesAreWorded(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "0.0016": 1.0 / 64000, "0.04": 0.0004, "0.1": 0.0005, "6.7": 0.067, "100": 1} {
		require.Equal(t, want, percent(x))
	}
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
		{5, 5, 0.9, undecided},
		{0, 5, 0.9, undecided}, // which comes once in a hundred thousand times
		{2, 10, 0.01, undecided},
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
