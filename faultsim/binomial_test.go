package faultsim

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// exactly is the chance of k or more, by the definition, in numbers of five hundred bits.
func exactly(k, n int, p float64) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(500).SetFloat64(x) }
	chance, rest, sum := number(p), number(1), number(0)
	rest.Sub(rest, chance)
	choose, powers := big.NewInt(1), []*big.Float{number(1)}
	for i := range n {
		powers = append(powers, number(0).Mul(powers[i], rest))
	}
	met := number(1)
	for i := range n + 1 {
		if i >= k {
			term := number(0).SetInt(choose)
			sum.Add(sum, term.Mul(term, met).Mul(term, powers[n-i]))
		}
		met.Mul(met, chance)
		choose.Mul(choose, big.NewInt(int64(n-i))).Quo(choose, big.NewInt(int64(i+1)))
	}
	x, _ := sum.Float64()
	return x
}

func TestTailsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		k := rapid.IntRange(-1, n+1).Draw(t, "k")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		want := exactly(k, n, p)
		require.InDelta(t, want, orMore(k, n, p), 1e-12*(want+1e-300))
		require.InDelta(t, 1-want, orFewer(k-1, n, p), 1e-12)
	})
	require.InEpsilon(t, exactly(120, 1000, 0.05), orMore(120, 1000, 0.05), 1e-10)
	require.InEpsilon(t, math.Pow(0.05, 20), orFewer(0, 20, 0.95), 1e-12)
	require.InEpsilon(t, math.Pow(0.999, 10_000), orFewer(0, 10_000, 0.001), 1e-9)
}

// Of ten million trials the tails are those of the normal distribution, but for a part
// of the distribution's skew, and quickly found.
func TestTailsOfManyTrials(t *testing.T) {
	const n = 10_000_000
	began := time.Now()
	for _, p := range []float64{0.01, 0.2, 0.5, 0.98} {
		for _, z := range []float64{-6, -3, 0, 3, 6} {
			k := int(n*p + z*math.Sqrt(n*p*(1-p)))
			require.InEpsilon(t, math.Erfc(z/math.Sqrt2)/2, orMore(k, n, p), 0.5, "%v %v", p, z)
			require.InDelta(t, 1, orMore(k, n, p)+orFewer(k-1, n, p), 1e-6)
		}
	}
	require.Less(t, time.Since(began), 500*time.Millisecond, "of eighty tails")
}

func BenchmarkDecision(b *testing.B) {
	for b.Loop() {
		decide(451_000, 10_000_000, 0.05)
	}
}
