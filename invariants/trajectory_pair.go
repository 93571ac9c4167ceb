package invariants

import (
	"math"
	"slices"
)

// A comparison is one action's calls beside the steps.
type comparison struct {
	matching
	steps []StepMatcher
	calls []tcall
	open  bool    // steps may follow behind the end of the trace
	costs []int64 // of each step and call
	rows  []trow  // the pairs, once pair has found them
	moved []int   // of a row without a pair: the row that it would be a pair with in another order; -1: none
}

// A trow is a step and the call that is taken for it; -1: there is none.
type trow struct{ step, call int }

// applied counts how often the comparison can find a difference.
func (c *comparison) applied() int {
	switch {
	case c.all && !c.open:
		return 1
	case c.only:
		return len(c.calls)
	}
	return 0
}

// fits reports whether the call does for the step.
func (c *comparison) fits(step, call int) bool { return c.steps[step].fits(&c.calls[call]) }

func (s *StepMatcher) fits(c *tcall) bool {
	if s.tool != c.at.Tool {
		return false
	}
	var d deviation
	d.from(s, c)
	return d.none()
}

// holds takes the first call that does for a step. Where it succeeds nothing is
// wrong; where it fails and order is free, another choice may still succeed.
func (c *comparison) holds() bool {
	if c.ordered {
		return c.holdsInOrder()
	}
	taken, found := make([]bool, len(c.calls)), 0
	for i := range c.steps {
		for j := range c.calls {
			if !taken[j] && c.fits(i, j) {
				taken[j] = true
				found++
				break
			}
		}
	}
	return (found == len(c.steps) || !c.all || c.open) && (found == len(c.calls) || !c.only)
}

func (c *comparison) holdsInOrder() bool {
	i := 0
	for j := range c.calls {
		switch {
		case i < len(c.steps) && c.fits(i, j):
			i++
		case c.only:
			return false
		}
	}
	return i == len(c.steps) || c.open
}

// What a pair costs, and a step or a call that stays alone. A pair that fits is
// worth more than all others together, so that most steps fit; then as much as
// possible is told as a call that differs, and by as little as possible.
const (
	alone   = int64(1) << 20 // a step or call without a pair, where that is a difference
	nearest = alone / 2      // a pair of one tool that differs, and up to alone-1
	instead = alone * 3 / 2  // a pair of two tools, where each call has its place
	noPair  = math.MaxInt64  // no pair
)

// pair finds the rows: of all ways to take calls for steps one that costs least.
func (c *comparison) pair() {
	c.price()
	if c.ordered {
		c.align()
	} else {
		c.assign()
	}
	c.move()
}

// move finds the calls that would do for a step that has none, in another order.
func (c *comparison) move() {
	c.moved = slices.Repeat([]int{-1}, len(c.rows))
	for n, r := range c.rows {
		if r.step >= 0 || !c.ordered {
			continue
		}
		for k, o := range c.rows {
			if o.call < 0 && c.lacks(k) && c.moved[k] < 0 && c.does(o.step, r.call) {
				c.moved[n], c.moved[k] = k, n
				break
			}
		}
	}
}

// does reports whether the call does for the step, once the pairs are priced.
func (c *comparison) does(step, call int) bool { return c.cost(step, call) < 0 }

func (c *comparison) price() {
	fits := -2 * alone * int64(len(c.steps)+len(c.calls)+1)
	c.costs = make([]int64, len(c.steps)*len(c.calls))
	for i := range c.steps {
		for j := range c.calls {
			c.costs[i*len(c.calls)+j] = c.priced(i, j, fits)
		}
	}
}

func (c *comparison) priced(step, call int, fits int64) int64 {
	s, k := &c.steps[step], &c.calls[call]
	if s.tool != k.at.Tool {
		if c.ordered && c.only {
			return instead
		}
		return noPair
	}
	var d deviation
	if d.from(s, k); d.none() {
		return fits
	}
	return nearest + d.part(nearest-1)
}

func (c *comparison) cost(step, call int) int64 { return c.costs[step*len(c.calls)+call] }

// lacking and extra are what a step without a call and a call without a step cost.
func (c *comparison) lacking() int64 { return costIf(c.all) }
func (c *comparison) extra() int64   { return costIf(c.only) }

func costIf(difference bool) int64 {
	if difference {
		return alone
	}
	return 0
}

// align pairs in order: the alignment of two sequences (Needleman and Wunsch), in
// time and space of steps times calls.
func (c *comparison) align() {
	wide := len(c.calls) + 1
	best := make([]int64, (len(c.steps)+1)*wide) // of the steps from i and the calls from j
	for i := len(c.steps); i >= 0; i-- {
		for j := len(c.calls); j >= 0; j-- {
			best[i*wide+j] = c.cheapest(best, i, j)
		}
	}
	for i, j := 0, 0; i < len(c.steps) || j < len(c.calls); {
		now := best[i*wide+j]
		switch {
		case i < len(c.steps) && j < len(c.calls) && c.cost(i, j) != noPair && now == c.cost(i, j)+best[(i+1)*wide+j+1]:
			c.rows = append(c.rows, trow{i, j})
			i, j = i+1, j+1
		case i < len(c.steps) && now == c.missing(j)+best[(i+1)*wide+j]:
			c.rows = append(c.rows, trow{i, -1})
			i++
		default:
			c.rows = append(c.rows, trow{-1, j})
			j++
		}
	}
}

// missing is what a step costs that has no call, where the calls from j on follow.
func (c *comparison) missing(j int) int64 {
	if c.open && j == len(c.calls) {
		return 0
	}
	return c.lacking()
}

func (c *comparison) cheapest(best []int64, i, j int) int64 {
	wide := len(c.calls) + 1
	if i == len(c.steps) && j == len(c.calls) {
		return 0
	}
	least := int64(noPair)
	if i < len(c.steps) {
		least = min(least, c.missing(j)+best[(i+1)*wide+j])
	}
	if j < len(c.calls) {
		least = min(least, c.extra()+best[i*wide+j+1])
	}
	if i < len(c.steps) && j < len(c.calls) && c.cost(i, j) != noPair {
		least = min(least, c.cost(i, j)+best[(i+1)*wide+j+1])
	}
	return least
}

// assign pairs in any order: a matching of least cost.
func (c *comparison) assign() {
	of := make([]int, len(c.steps)) // step → call
	gain := func(i, j int) int64 { return c.saving(i, j) }
	if len(c.steps) <= len(c.calls) {
		copy(of, assignment(len(c.steps), len(c.calls), gain))
	} else {
		for i := range of {
			of[i] = -1
		}
		for j, i := range assignment(len(c.calls), len(c.steps), func(j, i int) int64 { return gain(i, j) }) {
			of[i] = j
		}
	}
	for i, j := range of {
		if j >= 0 && c.saving(i, j) == 0 {
			of[i], j = -1, -1
		}
		c.rows = append(c.rows, trow{i, j})
	}
	for j := range c.calls {
		if !slices.Contains(of, j) {
			c.rows = append(c.rows, trow{-1, j})
		}
	}
}

// saving is what a pair costs more than its two sides alone; noPair more than 0.
func (c *comparison) saving(step, call int) int64 {
	cost := c.cost(step, call)
	if cost == noPair {
		return 0
	}
	return min(0, cost-c.left()-c.extra())
}

// left is what a step without a call costs where order is free.
func (c *comparison) left() int64 {
	if c.open {
		return 0
	}
	return c.lacking()
}
