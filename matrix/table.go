package matrix

import (
	"strings"
	"unicode/utf8"
)

// aligned is a table with its columns aligned, a line for each row of cells. The
// last column is as wide as it likes.
func aligned(cells [][]string) string {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row[:len(row)-1] {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range cells {
		last := len(row) - 1
		for i, c := range row[:last] {
			b.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
		}
		b.WriteString(row[last] + "\n")
	}
	return b.String()
}
