package invariants

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

var matchings = []matching{
	{"exact", "Exact", true, true, true}, {"in order", "InOrder", true, true, false},
	{"unordered", "Unordered", false, true, true}, {"at least", "AtLeast", false, true, false}, {"at most", "AtMost", false, false, true},
}

// few draws steps and calls of which many are alike and few the same.
func few(t *rapid.T) *comparison {
	tools := rapid.SampledFrom([]string{"search", "search", "book"})
	fields := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.IntRange(0, 1), 0, 3)
	object := func() json.RawMessage { return trace.Marshal(fields.Draw(t, "args")) }
	c := &comparison{matching: rapid.SampledFrom(matchings).Draw(t, "matching")}
	c.open = c.only && rapid.Bool().Draw(t, "open") // without a rule on further calls nothing is compared
	for range rapid.IntRange(0, 5).Draw(t, "steps") {
		s := Step(tools.Draw(t, "tool"))
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 1:
			s = s.Args(object())
		case 2:
			s = s.Partial(object())
		}
		c.steps = append(c.steps, s)
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "calls") {
		c.calls = append(c.calls, tcall{at: &trace.Attempt{Event: i, Tool: tools.Draw(t, "tool"), Args: object()}})
	}
	return c
}

// worth is what a pairing costs: of is the call of each step, -1 for none.
func worth(c *comparison, of []int) (sum int64) {
	for i, j := range of {
		rest := of[i+1:]
		switch free := c.open && (!c.ordered || !slices.ContainsFunc(rest, func(j int) bool { return j >= 0 })); {
		case j >= 0:
			sum += c.cost(i, j)
		case !free:
			sum += c.lacking()
		}
	}
	for j := range c.calls {
		if !slices.Contains(of, j) {
			sum += c.extra()
		}
	}
	return sum
}

// pairings yields every pairing that the way to compare allows.
func pairings(c *comparison, of []int, yield func([]int)) {
	if len(of) == len(c.steps) {
		yield(of)
		return
	}
	pairings(c, append(slices.Clone(of), -1), yield)
	for j := range c.calls {
		possible := c.cost(len(of), j) != noPair && !slices.Contains(of, j)
		if possible && !(c.ordered && j < slices.Max(append([]int{-1}, of...))) {
			pairings(c, append(slices.Clone(of), j), yield)
		}
	}
}

func TestNoPairingIsBetterThanTheOneThatIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := few(t)
		holds := c.holds()
		c.pair()
		of := make([]int, len(c.steps))
		steps, calls := 0, 0
		for n, r := range c.rows {
			if r.step >= 0 {
				of[r.step] = r.call
				steps++
			}
			if r.call >= 0 {
				calls++
			}
			if c.ordered && n > 0 && r.step >= 0 && slices.ContainsFunc(c.rows[:n], func(o trow) bool { return o.step > r.step }) {
				t.Fatalf("the rows are out of order: %v", c.rows)
			}
		}
		if steps != len(c.steps) || calls != len(c.calls) {
			t.Fatalf("the rows are not each step and call once: %v", c.rows)
		}
		shown, differs := worth(c, of), false
		for n := range c.rows {
			differs = differs || c.differs(n)
		}
		wholly := false // a pairing without a difference exists
		pairings(c, nil, func(other []int) {
			if cost := worth(c, other); cost < shown {
				t.Fatalf("%v costs %d, and %v only %d", of, shown, other, cost)
			}
			wholly = wholly || whollyRight(c, other)
		})
		if holds && !wholly || differs == wholly {
			t.Fatalf("the first choice holds: %v; shown is a difference: %v; a pairing without one exists: %v", holds, differs, wholly)
		}
		if c.ordered && holds != wholly {
			t.Fatalf("in order the first choice decides: %v, %v", holds, wholly)
		}
	})
}

func whollyRight(c *comparison, of []int) bool {
	for i, j := range of {
		later := slices.ContainsFunc(of[i+1:], func(j int) bool { return j >= 0 })
		if j >= 0 && !c.fits(i, j) || j < 0 && c.all && !(c.open && !(c.ordered && later)) {
			return false
		}
	}
	return !c.only || len(slices.DeleteFunc(slices.Clone(of), func(j int) bool { return j < 0 })) == len(c.calls)
}
