package matrix_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limited is the read with a limit for hints, and stops where it is passed. It
// is a delete as well, which knows what it means when nothing is found.
var limited = func() invariants.Policy {
	p := read
	p.ID, p.Hint.Limit, p.Late = "limited/v1", 4*time.Second, invariants.LateStop
	p.Desired = []trace.Class{trace.NotFound}
	p.Retry = append(slices.Clone(p.Retry), trace.Throttled)
	return p
}()

// An end is what a row wants: exact calls and the terminal. The zero end is a
// row that does not apply.
type end struct {
	calls  int
	reason trace.Reason
}

const (
	ok         = trace.ReasonSuccess
	exhausted  = trace.ReasonExhausted
	cancelled  = trace.ReasonCancelled
	deadline   = trace.ReasonDeadline
	tooLong    = trace.ReasonHintTooLong
	declined   = trace.ReasonDeclined
	needsInput = trace.ReasonNeedsInput
	refused    = trace.ReasonRefused
	outcome    = trace.ReasonOutcomeUnknown
)

// further pins the rows behind the article's by hand, under a read, a keyed
// write, a write without a key, and the read with a limit for hints.
var further = []struct {
	row                        string
	group                      matrix.Group
	read, keyed, bare, limited end
}{
	{"unknown-failure", matrix.Basics, end{1, refused}, end{1, refused}, end{1, outcome}, end{1, refused}},
	{"business-decline", matrix.Basics, end{1, declined}, end{1, declined}, end{1, declined}, end{1, declined}},
	{"empty-answer", matrix.Basics, end{1, ok}, end{1, ok}, end{1, ok}, end{1, ok}},
	{"malformed-answer", matrix.Basics, end{1, refused}, end{1, refused}, end{1, outcome}, end{1, refused}},
	{"success-at-the-last-attempt", matrix.Basics, end{3, ok}, end{3, ok}, end{3, ok}, end{3, ok}},
	{"cancel-before-begin", matrix.Timing, end{0, cancelled}, end{0, cancelled}, end{0, cancelled}, end{0, cancelled}},
	{"cancel-in-flight", matrix.Timing, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}},
	{"cancel-just-before-answer", matrix.Timing, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}},
	{"cancel-just-after-answer", matrix.Timing, end{1, ok}, end{1, ok}, end{1, ok}, end{1, ok}},
	{"deadline-just-before-second", matrix.Timing, end{1, deadline}, end{1, deadline}, end{1, deadline}, end{1, deadline}},
	{"deadline-just-after-second", matrix.Timing, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"deadline-under-attempt-timeout", matrix.Timing, end{1, deadline}, end{1, deadline}, end{1, deadline}, end{1, deadline}},
	{"hint-beyond-deadline", matrix.Timing, end{1, deadline}, end{1, deadline}, end{1, deadline}, end{1, tooLong}},
	{"hint-above-limit", matrix.Timing, end{}, end{}, end{}, end{1, tooLong}},
	{"hint-of-zero", matrix.Timing, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"late-success", matrix.Timing, end{2, ok}, end{2, ok}, end{1, outcome}, end{2, ok}},
	{"outage-then-recovery", matrix.Timing, end{3, ok}, end{3, ok}, end{3, ok}, end{3, ok}},
	{"real-quota", matrix.Timing, end{}, end{}, end{}, end{3, ok}},
	{"serial-tool-freed", matrix.Timing, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}, end{1, cancelled}},
	{"actions-in-turn", matrix.Writes, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"actions-at-once", matrix.Writes, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"failure-not-replayed", matrix.Writes, end{1, needsInput}, end{1, needsInput}, end{1, needsInput}, end{1, needsInput}},
	{"duplicate-delivery", matrix.Writes, end{}, end{1, ok}, end{}, end{}},
	{"delete-repeated", matrix.Writes, end{}, end{}, end{}, end{2, ok}},
	{"conflict-with-own-attempt", matrix.Writes, end{}, end{2, outcome}, end{}, end{2, outcome}},
	{"error-claims-success", matrix.Adversarial, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"error-gives-orders", matrix.Adversarial, end{2, refused}, end{2, refused}, end{2, refused}, end{2, refused}},
	{"refusal-says-retry", matrix.Adversarial, end{1, refused}, end{1, refused}, end{1, refused}, end{1, refused}},
	{"calm-after-the-last-attempt", matrix.Recoveries, end{3, exhausted}, end{3, exhausted}, end{3, exhausted}, end{3, exhausted}},
	{"calm-in-the-wait", matrix.Recoveries, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
	{"calm-behind-a-hang", matrix.Recoveries, end{2, ok}, end{2, ok}, end{1, outcome}, end{2, ok}},
	{"calm-beside-open-actions", matrix.Recoveries, end{2, ok}, end{2, ok}, end{2, ok}, end{2, ok}},
}

func TestExpectationsOfFurtherRows(t *testing.T) {
	require.Len(t, matrix.Rows(), 9+len(further), "the article's rows and these")
	for _, line := range further {
		row := rowNamed(t, line.row)
		require.Equal(t, line.group, row.Group, line.row)
		require.NotEmpty(t, row.Proves, line.row)
		for _, c := range []struct {
			policy invariants.Policy
			want   end
		}{{read, line.read}, {keyed, line.keyed}, {bare, line.bare}, {limited, line.limited}} {
			expects(t, row, c.policy, c.want)
		}
	}
}

func expects(t *testing.T, row matrix.Row, p invariants.Policy, want end) {
	t.Helper()
	expectsOf(t, row, matrix.Setting{Policy: p, Can: anything}, want)
}

func expectsOf(t *testing.T, row matrix.Row, set matrix.Setting, want end) {
	t.Helper()
	p := set.Policy
	s, err := row.Schedule(set)
	if want == (end{}) {
		_, unfit := errors.AsType[*faultsim.UnfitError](err)
		assert.True(t, unfit, "%s under %s: %v", row.Name, p.ID, err)
		return
	}
	require.NoError(t, err, "%s under %s", row.Name, p.ID)
	e, ends := faultsim.ExpectFirst(p, s)
	require.True(t, ends, row.Name)
	assert.Equal(t, faultsim.Expectation{Least: want.calls, Most: want.calls, Reasons: []trace.Reason{want.reason}}, e, "%s under %s", row.Name, p.ID)
}

func rowNamed(t *testing.T, name string) matrix.Row {
	t.Helper()
	rows := matrix.Rows()
	i := slices.IndexFunc(rows, func(r matrix.Row) bool { return r.Name == name })
	require.GreaterOrEqual(t, i, 0, "no row %q", name)
	return rows[i]
}

// The rows of a group stand together, and every row is in one.
func TestRowsAreFiledByGroup(t *testing.T) {
	var groups []matrix.Group
	for _, r := range matrix.Rows() {
		groups = append(groups, r.Group)
	}
	require.Equal(t, []matrix.Group{matrix.Basics, matrix.Timing, matrix.Writes, matrix.Adversarial, matrix.Recoveries}, slices.Compact(groups))
}

// A schedule that a row makes reads back from its text form.
func TestRowsHaveATextForm(t *testing.T) {
	for _, row := range matrix.Rows() {
		s, err := row.Schedule(matrix.Setting{Policy: limited, Can: anything})
		if err != nil {
			continue
		}
		again, err := faultsim.Parse(s.String())
		require.NoError(t, err, row.Name)
		assert.Equal(t, s.String(), again.String(), row.Name)
	}
}

// The last attempt is the one that the policy is certain to permit, whatever bounds it.
func TestTheLastAttemptIsTheLastOneThatIsCertain(t *testing.T) {
	row := rowNamed(t, "success-at-the-last-attempt")
	certain := func(change func(*invariants.Policy)) (int, error) {
		p := read
		change(&p)
		s, err := row.Schedule(matrix.Setting{Policy: p, Can: anything})
		if err != nil {
			return 0, err
		}
		e, _ := faultsim.ExpectFirst(p, s)
		require.Equal(t, []trace.Reason{ok}, e.Reasons)
		return e.Most, nil
	}
	for _, c := range []struct {
		change func(*invariants.Policy)
		want   int
	}{
		{func(p *invariants.Policy) { p.MaxAttempts = 2 }, 2},
		{func(p *invariants.Policy) { p.MaxAttempts = 6 }, 6},
		{func(p *invariants.Policy) { p.MaxAttempts, p.Price, p.Spend = 6, 10, 45 }, 4},
		{func(p *invariants.Policy) { p.MaxAttempts, p.Budget = invariants.Unlimited, time.Second }, 4}, // at 0, 100, 300 and 700ms
	} {
		n, err := certain(c.change)
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
	_, err := certain(func(p *invariants.Policy) { p.MaxAttempts = 1 })
	require.EqualError(t, err, "the policy is not certain to permit a second attempt")
}
