package faultsim

import "math"

// orMore is the chance that k or more of n trials meet what each of them meets with the
// chance p.
func orMore(k, n int, p float64) float64 { return tail(k, n, p, 1-p) }

// orFewer is the chance that k or fewer do.
func orFewer(k, n int, p float64) float64 { return tail(n-k, n, 1-p, p) }

// tail sums the binomial distribution from k to n, where q is 1 - p. It begins at the
// end that is next to the mean, from where each term is smaller than the one before:
// of ten million trials it takes some ten thousand terms.
func tail(k, n int, p, q float64) (sum float64) {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	case float64(k) <= float64(n)*p:
		return 1 - tail(n-k+1, n, q, p) // which has less than this one
	}
	term := math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log(q))
	for i := k; i <= n && term > sum*negligible; i++ {
		sum += term
		term *= float64(n-i) / float64(i+1) * p / q
	}
	return sum
}

// negligible is the part of a sum below which a term adds nothing to it.
const negligible = 1e-17

// logChoose is the logarithm of the number of ways to take k of n.
func logChoose(n, k int) float64 {
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

func logFactorial(n int) float64 {
	log, _ := math.Lgamma(float64(n) + 1)
	return log
}
