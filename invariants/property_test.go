package invariants_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
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

// Actions that run at once do not disturb each other's judgement: neither is a
// right one blamed, nor is a mistake charged to its neighbour.
func TestActionsAtOnceAreJudgedApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		right, wrong := simulate(p, drawPlan(t, p)), simulate(p, drawPlan(t, p))
		for i := range wrong.tries {
			wrong.tries[i].args = `{"city":"Paris"}`
			if p.Key != "" {
				wrong.tries[i].key = "k2"
			}
		}
		m := rapid.SampledFrom(mistakes).Draw(t, "mistake")
		if m.caught == "one-terminal" { // whether ends are published is a matter of the whole trace
			return
		}
		m.make(&wrong)
		tr := merged(right.trace(), wrong.trace())
		for _, f := range Find(tr, p.Invariants()...) {
			if f.Action == "right" {
				t.Fatalf("after %q beside it: %s%s\npolicy %s", m.name, f.String(), tr.Timeline(f.Events...), p.Content())
			}
		}
	})
}

// merged is one trace of two, with actions named "right" and "wrong".
func merged(right, wrong *trace.Trace) *trace.Trace {
	tr := &trace.Trace{Schema: trace.Schema}
	for i, part := range []*trace.Trace{right, wrong} {
		for _, e := range part.Events {
			e.Action = []string{"right", "wrong"}[i]
			if e.Call != 0 {
				e.Call += 1000 * i
			}
			if e.Cause > 0 {
				e.Cause += 1000 * i
			}
			tr.Events = append(tr.Events, e)
		}
	}
	slices.SortStableFunc(tr.Events, func(a, b trace.Event) int { return int(a.At - b.At) })
	return tr
}

// Paging: after a success the same tool is asked for the next page, which has
// attempts, waits and a key of its own.
func TestRightPagingConformsToItsPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		if p.Budget != 0 {
			return
		}
		s := calmStory(t, p)
		for page := 2; page < 4 && s.reason == trace.ReasonSuccess && !s.reached(); page++ {
			next := calmStory(t, p)
			next.shift(0, s.end)
			for i := range next.tries {
				a := &next.tries[i]
				a.args = fmt.Sprintf(`{"page":%d}`, page)
				if p.Key != "" {
					a.key = fmt.Sprint("k", page)
				}
			}
			if next.cause > 0 {
				next.cause += len(s.tries)
			}
			next.tries = append(s.tries, next.tries...)
			s = next
		}
		tr := s.trace()
		for _, f := range Find(tr, p.Invariants()...) {
			t.Fatalf("%s%s\npolicy %s", f.String(), tr.Timeline(f.Events...), p.Content())
		}
	})
}

// calmStory is a story without deadline, cancel or deaf tools.
func calmStory(t *rapid.T, p Policy) story {
	pl := drawPlan(t, p)
	pl.deadline, pl.cancel = 0, 0
	for i := range pl.turns {
		pl.turns[i].deaf = false
	}
	return simulate(p, pl)
}

// A batch asks for its items at once, and retries the one that failed. Nothing
// is drift, and no item has more attempts than it may have.
func TestABatchIsNoDrift(t *testing.T) {
	p := reading(2, Backoff{Base: sec})
	story := func(again string) *trace.Trace {
		s := begin().Call("look", `1`).Call("look", `2`).Call("look", `3`)
		s.After(ms).AnswerTo(1, fine).AnswerTo(2, down).AnswerTo(3, fine)
		return s.After(sec).Call("look", again).Answer(ok).End().Trace()
	}
	require.Empty(t, Find(story(`2`), p.Invariants()...))
	require.NotEmpty(t, Find(story(`1`), p.Invariants()...), "an item that had been answered is asked for again")
}
