// Package near guesses which name was meant by one that is not known.
package near

import "strings"

// Meant is a question behind a name that is not known: which of the others it may
// have been; empty: none is near.
func Meant(name string, others []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, other := range others {
		if strings.TrimPrefix(other, "rule ") == name {
			return "; did you mean \"" + other + "\"?" // a rule by its bare name
		}
		if d := distance(strings.ToLower(name), strings.ToLower(other)); d < least {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean \"" + best + "\"?"
}

// distance is how many letters have to be put in, taken out or changed to make one
// word of the other (V. Levenshtein, Soviet Physics Doklady 10, 1966, page 707).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0]++
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
