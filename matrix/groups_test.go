package matrix_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// Every row of every group has a name of its own and a sentence.
func TestGroupsHaveTheirRows(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range matrix.Groups() {
		rows := matrix.RowsOf(g)
		require.NotEmpty(t, rows, g)
		for _, r := range rows {
			require.Equal(t, g, r.Group, r.Name)
			require.NotEmpty(t, r.Proves, r.Name)
			require.False(t, seen[r.Name], r.Name)
			seen[r.Name] = true
		}
	}
	require.Empty(t, matrix.RowsOf("nonsense"))
}

// The groups that only some adapters run are left out elsewhere.
func TestSpecialGroupsAreLeftOut(t *testing.T) {
	for _, p := range played(t, loop(read)) {
		require.Contains(t, []matrix.Group{matrix.Basics, matrix.Timing, matrix.Writes, matrix.Adversarial, matrix.Recoveries}, p.Row.Group, p.Row.Name)
	}
}

// batchEnds pins the rows of a batch by hand: under the read, under the write
// without a key, and for one attempt. Each action sends three items.
var batchEnds = map[string][3]end{
	"item-refused":            {{1, trace.ReasonPartial}, {1, trace.ReasonPartial}, {1, trace.ReasonPartial}},
	"item-passes":             {{2, ok}, {2, ok}, {1, trace.ReasonExhausted}},
	"items-pass-in-turn":      {{3, ok}, {3, ok}, {}},
	"items-all-fail":          {{2, ok}, {2, ok}, {1, trace.ReasonExhausted}},
	"item-until-exhausted":    {{3, trace.ReasonExhausted}, {3, trace.ReasonExhausted}, {1, trace.ReasonExhausted}},
	"item-then-request-fails": {{3, ok}, {3, ok}, {}},
	"item-asks-for-a-wait":    {{2, ok}, {2, ok}, {1, trace.ReasonExhausted}},
}

func TestExpectationsOfBatchRows(t *testing.T) {
	single := with(read, func(p *invariants.Policy) { p.MaxAttempts = 1 })
	for _, row := range matrix.RowsOf(matrix.Batches) {
		want, pinned := batchEnds[row.Name]
		if !pinned {
			require.Equal(t, "items-of-both-kinds", row.Name)
			continue
		}
		for i, p := range []invariants.Policy{read, bare, single} {
			expectsOf(t, row, matrix.Setting{Policy: p, Can: anything, Items: 3}, want[i])
		}
	}
	// What one item lost and another survived has two true ends.
	both := rowOf(t, matrix.Batches, "items-of-both-kinds")
	s, err := both.Schedule(matrix.Setting{Policy: read, Can: anything, Items: 2})
	require.NoError(t, err)
	e, _ := faultsim.ExpectFirst(read, s)
	require.Equal(t, faultsim.Expectation{Least: 2, Most: 2, Reasons: []trace.Reason{ok, trace.ReasonPartial}}, e)
	expectsOf(t, both, matrix.Setting{Policy: read, Can: anything, Items: 1}, end{})
}

func rowOf(t *testing.T, g matrix.Group, name string) matrix.Row {
	t.Helper()
	for _, r := range matrix.RowsOf(g) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row %q in group %s", name, g)
	return matrix.Row{}
}

// breakerCalls pins the rows of a breaker by hand: calls in all actions, and the
// last terminal. The read makes three attempts of an action that fails.
func TestExpectationsOfBreakerRows(t *testing.T) {
	const refused = trace.ReasonBreakerOpen
	inARow := invariants.Breaker{Consecutive: 5, Cooldown: 30 * time.Second}
	byRate := invariants.Breaker{Rate: 0.5, Window: 10, Least: 4, Cooldown: 30 * time.Second, Probes: 2, Successes: 3}
	for name, want := range map[string]struct{ inARow, byRate end }{
		"breaker-opens":              {end{5, refused}, end{4, refused}},
		"breaker-refuses":            {end{5, refused}, end{4, refused}},
		"breaker-cooldown":           {end{6, ok}, end{5, ok}},
		"breaker-closes":             {end{5 + 1 + 2 + 1, ok}, end{4 + 3 + 2 + 1, ok}},
		"breaker-reopens":            {end{7, ok}, end{6, ok}},
		"breaker-opens-again":        {end{11, refused}, end{11, refused}},
		"breaker-probe-left":         {end{7, ok}, end{6, ok}},
		"breaker-callers-leave":      {end{7, ok}, end{6, ok}},
		"breaker-wrong-arguments":    {end{7, ok}, end{6, ok}},
		"breaker-scattered-failures": {end{6 * 3, ok}, end{}},
		"breaker-late-success":       {end{6, refused}, end{5, refused}},
		"breaker-after-a-good-time":  {end{}, end{25, refused}},
	} {
		for b, want := range map[*invariants.Breaker]end{&inARow: want.inARow, &byRate: want.byRate} {
			row, set := rowOf(t, matrix.Breakers, name), matrix.Setting{Policy: read, Can: anything, Tools: []string{"tool"}, Breaker: b}
			_, err := row.Schedule(set)
			if want == (end{}) {
				require.Error(t, err, name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, faultsim.Expectation{Least: want.calls, Most: want.calls, Reasons: []trace.Reason{want.reason}}, row.InAll(set), name)
		}
	}
	probes := rowOf(t, matrix.Breakers, "breaker-probes").InAll(matrix.Setting{Policy: read, Can: anything, Tools: []string{"tool"}, Breaker: &byRate})
	require.Equal(t, faultsim.Expectation{Least: 6, Most: 8, Reasons: []trace.Reason{ok, refused}}, probes)
}

// A breaker whose cooldown may be over before its action has ended, or that
// guards another tool, is left to the rules.
func TestBreakerRowsAreSkippedWhereNothingIsSure(t *testing.T) {
	for _, b := range []invariants.Breaker{
		{Consecutive: 2, Cooldown: 150 * time.Millisecond},
		{Tool: "another", Consecutive: 2, Cooldown: time.Hour},
		{Consecutive: 2, Cooldown: time.Hour, Failures: []trace.Class{trace.Timeout}},
	} {
		for _, row := range matrix.RowsOf(matrix.Breakers) {
			p := with(read, func(p *invariants.Policy) { p.Attempt = 0 })
			_, err := row.Schedule(matrix.Setting{Policy: p, Can: func(f faultsim.Fault) bool { return f.Class != trace.Timeout }, Tools: []string{"tool"}, Breaker: &b})
			require.Error(t, err, row.Name)
		}
	}
}

// Three attempts for each kind that the policy retries, whatever layer retries it.
func TestExpectationsOfLayerRows(t *testing.T) {
	set := matrix.Setting{Policy: limited, Can: anything}
	each := rowOf(t, matrix.Layers, "failures-of-each-kind")
	s, err := each.Schedule(set)
	require.NoError(t, err)
	require.Len(t, s.Actions, 3, "transient, timeout, throttled")
	require.Equal(t, faultsim.Expectation{Least: 9, Most: 9, Reasons: []trace.Reason{trace.ReasonExhausted}}, each.InAll(set))
	expectsOf(t, rowOf(t, matrix.Layers, "failures-alternate"), set, end{3, trace.ReasonExhausted})
	one := matrix.Setting{Policy: with(bare, func(p *invariants.Policy) { p.Retry = p.Retry[:1] }), Can: anything}
	expectsOf(t, rowOf(t, matrix.Layers, "failures-alternate"), one, end{})
}

// Pages are expected one after another, with attempts and waits of their own.
func TestExpectationsOfPages(t *testing.T) {
	exhausted := trace.ReasonExhausted
	for name, want := range map[string]end{
		"immediate-success":           {3, ok},
		"transient-then-success":      {4, ok},
		"transient-until-exhausted":   {3, exhausted},
		"success-then-stop":           {4, ok}, // the second page fails once
		"invalid-arguments":           {1, trace.ReasonNeedsInput},
		"cancel-before-begin":         {0, cancelled},
		"deadline-just-before-second": {1, deadline},
		"late-success":                {4, ok},
		"page-has-its-attempts":       {3 + 3 + 1, ok},
		"page-missing":                {1 + 3, exhausted},
	} {
		var row matrix.Row
		if row = rowOfAny(name); row.Schedule == nil {
			t.Fatal(name)
		}
		s, err := row.Schedule(matrix.Setting{Policy: read, Can: anything, Pages: 3})
		require.NoError(t, err, name)
		e, ends := faultsim.ExpectPages(read, s, 3)
		require.True(t, ends, name)
		require.Equal(t, faultsim.Expectation{Least: want.calls, Most: want.calls, Reasons: []trace.Reason{want.reason}}, e, name)
	}
	// A deadline that falls into a later page's wait, and an outage.
	s := faultsim.One(faultsim.Fault{}, faultsim.Fail(trace.Transient))
	s.Actions[0].Deadline = 50 * time.Millisecond
	e, _ := faultsim.ExpectPages(read, s, 2)
	require.Equal(t, faultsim.Expectation{Least: 2, Most: 2, Reasons: []trace.Reason{deadline}}, e)
	first, _ := faultsim.ExpectFirst(read, s)
	none, _ := faultsim.ExpectPages(read, s, 0)
	require.Equal(t, first, none, "none is one")
}

func rowOfAny(name string) (found matrix.Row) {
	for _, g := range matrix.Groups() {
		for _, r := range matrix.RowsOf(g) {
			if r.Name == name {
				found = r
			}
		}
	}
	return found
}

// A row of one's own can count all actions too.
func TestARowOfOnesOwnCountsAllActions(t *testing.T) {
	twice := matrix.Row{
		Name:     "two-in-turn",
		Schedule: matrix.Fixed(faultsim.Schedule{Actions: []faultsim.Plan{{}, {}}}),
		InAll: func(matrix.Setting) faultsim.Expectation {
			return faultsim.Expectation{Least: 2, Most: 2, Reasons: []trace.Reason{ok}}
		},
	}
	list, err := matrix.Play(t, loop(read), twice)
	require.NoError(t, err)
	require.Empty(t, list[len(list)-1].Complaint)
	twice.InAll = func(matrix.Setting) faultsim.Expectation { return faultsim.Expectation{Least: 1, Most: 1} }
	list, err = matrix.Play(t, loop(read), twice)
	require.NoError(t, err)
	require.Equal(t, "2 calls, the policy calls for 1", list[len(list)-1].Complaint)
}
