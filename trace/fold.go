package trace

import (
	"fmt"
	"time"
)

const (
	longestRound = 12 // rows that may repeat together: an attempt, or attempts of several actions in turn
	foldEqual    = 3  // repeats at an equal pace that are worth a fold
	foldAlike    = 8  // repeats at a changing pace
)

// fold replaces the repeats of rows that are alike by one row that tells how
// many there were. The first of them stays to be read. A marked row is never
// folded.
func fold(rows []row) []row {
	out := make([]row, 0, len(rows))
	for i := 0; i < len(rows); {
		size, repeats := round(rows[i:])
		if repeats == 0 {
			out = append(out, rows[i])
			i++
			continue
		}
		all := rows[i : i+size*(repeats+1)]
		out = append(out, all[:size]...)
		out = append(out, foldedRow(all, size, repeats))
		i += len(all)
	}
	return out
}

// round returns the size of the smallest group at the front of rows that is
// repeated often enough, and how often it is.
func round(rows []row) (size, repeats int) {
	switch rows[0].kind {
	case KindAnswer, KindInterrupt, KindEffect:
		return 0, 0 // a round that is readable begins with a call, or the wait before it
	}
	for size := 1; size <= longestRound && 2*size <= len(rows); size++ {
		if rows[0].like != rows[size].like {
			continue
		}
		if n := repeated(rows, size, true); n >= foldEqual {
			return size, n
		}
		if n := repeated(rows, size, false); n >= foldAlike {
			return size, n
		}
	}
	return 0, 0
}

// repeated counts how often the first rows are repeated at once after them.
func repeated(rows []row, size int, equalPace bool) int {
	apart := rows[size].at - rows[0].at
	for n := size; n < len(rows); n++ {
		r, first := &rows[n], &rows[n%size]
		same := !r.marked && r.like == first.like
		if equalPace {
			same = same && r.pace == first.pace && r.at-rows[n-size].at == apart
		}
		if !same {
			return n/size - 1
		}
	}
	return len(rows)/size - 1
}

// foldedRow tells what was left out of all, a group and its repeats.
func foldedRow(all []row, size, repeats int) row {
	least, most := all[size].at-all[0].at, time.Duration(0)
	for n := size; n < len(all); n += size {
		apart := all[n].at - all[n-size].at
		least, most = min(least, apart), max(most, apart)
	}
	like := "like it"
	if size > 1 && calls(all[:size]) != 1 {
		like = fmt.Sprintf("rounds like these %d lines", size)
	}
	pace := spread(least, most) + " apart"
	if most == 0 {
		pace = "at the same instant"
	}
	text := fmt.Sprintf("… %d more %s, %s, until %s", repeats, like, pace, span(all[len(all)-1].at))
	return row{folded: true, detail: text}
}

func calls(rows []row) int {
	n := 0
	for i := range rows {
		if rows[i].kind == KindCall {
			n++
		}
	}
	return n
}
