package invariants_test

import (
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// A visit is one call of a run that is drawn, and the steps that it does for.
type visit struct{ tool, args string }

func (v visit) step(t *rapid.T) StepMatcher {
	s := Step(v.tool)
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 1:
		return s.Args(v.args)
	case 2:
		return s.Partial(v.args)
	case 3:
		return s.Args(v.args).Only("n")
	}
	return s
}

func visits(t *rapid.T) (list []visit) {
	for range rapid.IntRange(0, 6).Draw(t, "calls") {
		list = append(list, visit{rapid.SampledFrom([]string{"search", "book", "mail"}).Draw(t, "tool"), rapid.SampledFrom([]string{`{"n":1}`, `{"n":2}`, `{"n":2,"m":{"k":3}}`}).Draw(t, "args")})
	}
	return list
}

// ran is the trace in which the calls were made, each with its retries.
func ran(t *rapid.T, list []visit) *trace.Trace {
	s := tracetest.New().Begin("a")
	for _, v := range list {
		for range rapid.IntRange(0, 2).Draw(t, "retries") {
			s.Call(v.tool, v.args).Answer(transient).After(sec)
		}
		s.Call(v.tool, v.args).Answer(ok)
	}
	return s.End().Trace()
}

func holds(tr *trace.Trace, inv Invariant) bool { return len(Find(tr, inv)) == 0 }

// What follows from what, whatever was called and whatever the steps are: exact is
// in order, in order is at least, and what is neither more nor less is both.
func TestTheWaysToCompareFollowFromEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := visits(t)
		tr, wanted := ran(t, list), visits(t)
		if rapid.IntRange(0, 3).Draw(t, "near") > 0 { // what was called, with a change or two
			wanted = slices.Concat(list, wanted[:min(1, len(wanted))])
			wanted = rapid.OneOf(rapid.Just(wanted), rapid.Permutation(wanted)).Draw(t, "wanted")
			wanted = wanted[:len(wanted)-rapid.IntRange(0, min(1, len(wanted))).Draw(t, "fewer")]
		}
		steps := make([]StepMatcher, len(wanted))
		for i, v := range wanted {
			steps[i] = v.step(t)
		}
		if len(steps) == 0 {
			return
		}
		exact, inOrder, unordered := holds(tr, Exact(steps...)), holds(tr, InOrder(steps...)), holds(tr, Unordered(steps...))
		atLeast, atMost := holds(tr, AtLeast(steps...)), holds(tr, AtMost(steps...))
		for name, wrong := range map[string]bool{
			"exact and not in order":                  exact && !inOrder,
			"exact and not unordered":                 exact && !unordered,
			"in order and not at least":               inOrder && !atLeast,
			"unordered and not both":                  unordered != (atLeast && atMost),
			"in order without a call more, not exact": inOrder && atMost && !exact,
		} {
			if wrong {
				t.Fatalf("%s: %v\n%s", name, steps, tr.Timeline())
			}
		}
	})
}

// What was called is a trajectory of it: as it was, shuffled, in parts, and as
// attempts where all are counted.
func TestARunKeepsTheTrajectoryThatIsMadeOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := visits(t)
		tr := ran(t, list)
		var steps, some []StepMatcher
		for _, v := range list {
			s := v.step(t)
			if steps = append(steps, s); rapid.Bool().Draw(t, "in the part") {
				some = append(some, s)
			}
		}
		shuffled := rapid.Permutation(steps).Draw(t, "shuffled")
		want := []Invariant{Exact(steps...), Trajectory{Counted: SuccessfulAttempts}.Exact(steps...)}
		if len(steps) > 0 {
			want = append(want, InOrder(steps...), Unordered(shuffled...), AtLeast(shuffled...), AtMost(append(shuffled, Step("mail"))...))
		}
		if len(some) > 0 {
			want = append(want, InOrder(some...), AtLeast(rapid.Permutation(some).Draw(t, "part")...))
		}
		for _, inv := range want {
			if found := Find(tr, inv); len(found) > 0 {
				t.Fatalf("%v\n%s", found[0], tr.Timeline())
			}
		}
		more := append(steps[:len(steps):len(steps)], Step("pay"))
		for _, inv := range []Invariant{Exact(more...), InOrder(more...), Unordered(more...), AtLeast(more...)} {
			if holds(tr, inv) {
				t.Fatalf("%s does not miss a step that nobody called", inv.Name)
			}
		}
		var all []StepMatcher
		for at := range tr.Attempts() {
			all = append(all, Step(at.Tool).Args(at.Args))
		}
		if !holds(tr, Trajectory{Counted: AllAttempts}.Exact(all...)) {
			t.Fatalf("the attempts are not those of the trace:\n%s", tr.Timeline())
		}
	})
}

// Before is what its definition says: for each call of the second an answered one of the first.
func TestBeforeIsPrecedence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := visits(t)
		first, second := visit{"search", `{"n":1}`}, visit{"book", `{"n":2}`}
		seen, want := false, true
		for _, v := range list {
			want = want && (v != second || seen)
			seen = seen || v == first
		}
		tr := ran(t, list)
		if got := holds(tr, Before(Step(first.tool).Args(first.args), Step(second.tool).Args(second.args))); got != want {
			t.Fatalf("holds: %v, wanted %v\n%s", got, want, tr.Timeline())
		}
	})
}
