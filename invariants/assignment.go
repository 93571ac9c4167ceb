package invariants

import (
	"math"
	"slices"
)

// assignment gives each of n rows a column of its own, of m ≥ n, so that the sum
// of the costs is least (the Hungarian algorithm with potentials), in time of n²m.
func assignment(n, m int, cost func(row, column int) int64) []int {
	rows, columns := make([]int64, n+1), make([]int64, m+1) // potentials; index 0 stands for none
	owner := make([]int, m+1)                               // column → row
	for row := 1; row <= n; row++ {
		augment(row, rows, columns, owner, cost)
	}
	of := make([]int, n)
	for column := 1; column <= m; column++ {
		if owner[column] > 0 {
			of[owner[column]-1] = column - 1
		}
	}
	return of
}

// augment finds a column for one more row, on the cheapest path over rows that
// give theirs up for another.
func augment(row int, rows, columns []int64, owner []int, cost func(row, column int) int64) {
	m := len(columns) - 1
	from, done := make([]int, m+1), make([]bool, m+1) // the column before on the path
	slack := slices.Repeat([]int64{math.MaxInt64}, m+1)
	owner[0] = row
	column := 0
	for owner[column] != 0 {
		done[column] = true
		next, least := 0, int64(math.MaxInt64)
		for k := 1; k <= m; k++ {
			if done[k] {
				continue
			}
			if rest := cost(owner[column]-1, k-1) - rows[owner[column]] - columns[k]; rest < slack[k] {
				slack[k], from[k] = rest, column
			}
			if slack[k] < least {
				least, next = slack[k], k
			}
		}
		for k := range columns {
			if done[k] {
				rows[owner[k]] += least
				columns[k] -= least
			} else if slack[k] != math.MaxInt64 {
				slack[k] -= least
			}
		}
		column = next
	}
	for column != 0 {
		owner[column] = owner[from[column]]
		column = from[column]
	}
}
