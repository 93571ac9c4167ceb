package invariants_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// errands is a run of n calls at four tools, with arguments of their own, and the
// steps that they are.
func errands(n int) (*trace.Trace, []StepMatcher) {
	s, steps := tracetest.New().Begin("trip"), []StepMatcher(nil)
	for i := range n {
		tool, args := fmt.Sprint("tool-", i%4), fmt.Sprintf(`{"city":"Pune","guest":{"name":"Ann"},"n":%d}`, i)
		s.Call(tool, args).Answer(ok)
		steps = append(steps, Step(tool).Partial(fmt.Sprintf(`{"n":%d}`, i)))
	}
	return s.End().Trace(), steps
}

func BenchmarkTrajectory(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		tr, right := errands(n)
		wrong := slices.Clone(right)
		wrong[n/2] = Step("tool-1").Partial(`{"n":-1}`)
		back := slices.Clone(wrong)
		slices.Reverse(back)
		for _, c := range []struct {
			name string
			inv  Invariant
			want int // findings
		}{
			{"exact", Exact(right...), 0}, {"exact with a difference", Exact(wrong...), 1},
			{"in order", InOrder(right...), 0}, {"in order with a difference", InOrder(wrong...), 1},
			{"unordered", Unordered(right...), 0}, {"unordered with a difference", Unordered(back...), 1},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if found := Find(tr, c.inv); len(found) != c.want {
						b.Fatal(found)
					}
				}
			})
		}
	}
}
