package invariants_test

import (
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A right loop that counts its cost keeps its policy, and one attempt that is
// not paid for is found as that.
func TestSpendBoundsTheAttemptsOfALoop(t *testing.T) {
	short, over := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.Price = rapid.IntRange(1, 5).Draw(t, "price")
		p.Spend = p.Price*rapid.IntRange(1, 4).Draw(t, "paid") + rapid.IntRange(0, p.Price-1).Draw(t, "rest")
		s := simulate(p, drawPlan(t, p))
		tr := s.trace()
		for _, f := range Find(tr, p.Invariants()...) {
			t.Fatalf("%s%s\npolicy %s", f.String(), tr.Timeline(f.Events...), p.Content())
		}
		if s.reason != trace.ReasonBudget || !s.calm() {
			return
		}
		short++
		s.more(0)
		found := Find(s.trace(), p.Invariants()...)
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Invariant == "within-spend" }) {
			t.Fatalf("within-spend said nothing: %v\npolicy %s", found, p.Content())
		}
		over++
	})
	require.Positive(t, short)
	require.Equal(t, short, over)
}

func TestMostIsTheNearerBound(t *testing.T) {
	for _, c := range []struct{ attempts, price, spend, most int }{
		{3, 0, 0, 3}, {3, 2, 5, 2}, {3, 1, 9, 3}, {Unlimited, 2, 9, 4}, {Unlimited, 0, 0, Unlimited},
	} {
		p := Policy{MaxAttempts: c.attempts, Price: c.price, Spend: c.spend}
		require.Equal(t, c.most, p.Most(), "%+v", c)
	}
}

// Attempts of one action at another tool, or for another page, spend of the
// same. What is left may go while this series waits.
func TestSpendIsSharedByTheSeriesOfAnAction(t *testing.T) {
	p := with(reading(3, Backoff{Base: sec}), func(p *Policy) { p.Price, p.Spend = 1, 3 })
	for _, c := range []struct {
		name string
		tr   *tracetest.Script
		want string
	}{
		{"the other one is retried", begin().Call("a", `1`).Call("b", `2`).AnswerTo(1, down).AnswerTo(2, down).After(sec).Call("a", `1`).Answer(ok).Fail("b: 503"), ""},
		{"nothing is left", begin().Call("a", `1`).Call("b", `2`).Call("c", `3`).AnswerTo(1, down).AnswerTo(2, fine).AnswerTo(3, fine).Fail("a: 503"), ""},
		{"a unit too much", begin().Call("a", `1`).Call("b", `2`).Call("c", `3`).AnswerTo(1, down).AnswerTo(2, fine).AnswerTo(3, fine).After(sec).Call("a", `1`).Answer(ok).End(), "within-spend"},
	} {
		found := Find(c.tr.Trace(), WithinSpend(p), Conforms(p))
		if c.want == "" {
			require.Empty(t, found, c.name)
		} else {
			require.NotEmpty(t, found, c.name)
			require.Equal(t, c.want, found[0].Invariant, c.name)
		}
	}
}
