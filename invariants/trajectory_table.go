package invariants

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	cellWidth = 44 // characters of a step; a call may have twice as many
	around    = 2  // rows that are shown on either side of a difference
)

// table shows steps and calls beside each other, with a mark between them: = for a
// call that does, ≠ for one that differs, - for a step without a call, + for a call
// without a step. What is allowed has no mark; long runs without one that matters
// are left out.
func (c *comparison) table() string {
	left, marks := make([]string, len(c.rows)), make([]string, len(c.rows))
	wide := utf8.RuneCountInString("wanted")
	for i, r := range c.rows {
		if r.step >= 0 {
			left[i] = fmt.Sprintf("%d %s", r.step+1, cut(oneLine(c.steps[r.step].String()), cellWidth))
		}
		marks[i], wide = c.mark(i), max(wide, utf8.RuneCountInString(left[i]))
	}
	var b strings.Builder
	line := func(left, mark, right string) {
		pad := strings.Repeat(" ", wide-utf8.RuneCountInString(left))
		b.WriteString(strings.TrimRight(left+pad+"  "+mark+"  "+right, " ") + "\n")
	}
	line("wanted", " ", "called")
	for i := 0; i < len(c.rows); {
		if n := alike(marks, i); n > 2 {
			fmt.Fprintf(&b, "… %d more\n", n)
			i += n
			continue
		}
		line(left[i], marks[i], c.right(c.rows[i].call))
		i++
	}
	return b.String()
}

func (c *comparison) right(call int) string {
	if call < 0 {
		return ""
	}
	k := &c.calls[call]
	text := k.at.Tool
	if len(k.at.Args) > 0 {
		text += " " + string(k.args())
	}
	return fmt.Sprintf("%d %s at %v", call+1, cut(oneLine(text), 2*cellWidth), k.at.Begin)
}

func (c *comparison) mark(row int) string {
	r := c.rows[row]
	switch {
	case r.step >= 0 && r.call >= 0 && c.does(r.step, r.call):
		return "="
	case r.step >= 0 && r.call >= 0:
		return "≠"
	case r.call < 0 && c.differs(row):
		return "-"
	case r.step < 0 && (c.differs(row) || c.moved[row] >= 0):
		return "+"
	}
	return " "
}

// alike counts the rows from this one on that are no difference and near to none.
func alike(marks []string, row int) int {
	for n := row; n < len(marks); n++ {
		for _, m := range marks[max(0, n-around):min(n+around+1, len(marks))] {
			if m != "=" && m != " " {
				return n - row
			}
		}
	}
	return len(marks) - row
}
