package invariants_test

import (
	"testing"

	. "github.com/rehearse-go/rehearse/invariants"
	"pgregory.net/rapid"
)

// A right program gets no finding, from no invariant.
func TestRightLoopConformsToItsPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		if err := p.Validate(); err != nil {
			t.Fatalf("the generator made a policy that contradicts itself: %v", err)
		}
		s := simulate(p, drawPlan(t, p))
		tr := s.trace()
		for _, f := range Find(tr, p.Invariants()...) {
			t.Fatalf("%s%s\npolicy %s", f.String(), tr.Timeline(f.Events...), p.Content())
		}
		if p.Terminal(&tr.Actions()[0]) == 0 {
			t.Fatalf("the attempts amount to no end\n%s", tr.Timeline())
		}
	})
}
