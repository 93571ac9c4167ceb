package faultsim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// batchAdapter puts a batch of three items on the stage, which the function sends.
func batchAdapter(send func(context.Context, trace.Func[[]string, []ItemResult[int]]) error) Adapter {
	a := homeAdapter()
	a.Policy = invariants.Policy{ID: "records/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Undone: []trace.Class{trace.Transient}}
	a.Invariants = []invariants.Invariant{invariants.BatchRetry()}
	a.Subject = func(s *Stage) Action {
		put := Batch(s, "records", func(item string) string { return item },
			func(_ context.Context, item string) (int, error) { return len(item), nil },
			Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
		return func(ctx context.Context) (any, error) { return nil, send(ctx, put) }
	}
	return a
}

func TestABatchFailsInItsItems(t *testing.T) {
	s, err := Parse("rehearse schedule 1\naction\n  records 1 partial items=b:transient,#3:forbidden after=1s\n  records 2 transient\n")
	require.NoError(t, err)
	var first, second, third []ItemResult[int]
	r := Trial(t, batchAdapter(func(ctx context.Context, put trace.Func[[]string, []ItemResult[int]]) error {
		first, _ = put(ctx, []string{"a", "b", "ccc"})
		second, err = put(ctx, []string{"b"})
		third, _ = put(ctx, []string{"b"})
		return errors.New("c is forbidden")
	}), s)
	require.NoError(t, r.Err)
	require.Equal(t, []ItemResult[int]{{ID: "a", Out: 1}, {ID: "b", Err: errBusy}, {ID: "ccc", Err: errForbidden}}, first)
	require.Nil(t, second)
	require.ErrorIs(t, err, errBusy)
	require.Equal(t, []ItemResult[int]{{ID: "b", Out: 1}}, third)

	attempts := r.Trace.Actions()[0].Attempts
	require.Len(t, attempts, 3)
	require.Equal(t, trace.Items("a,b,ccc"), attempts[0].Items)
	require.Equal(t, trace.Outcome{Class: trace.Partial, Items: "a:ok,b:transient,ccc:forbidden"}, attempts[0].Outcome)
	require.Equal(t, trace.Outcome{Class: trace.Transient}, attempts[1].Outcome)
	require.Equal(t, trace.Outcome{Class: trace.OK, Items: "b:ok"}, attempts[2].Outcome)
	require.Equal(t, time.Second, attempts[0].End)
	require.Equal(t, []string{"attempts-bounded", "conforms"}, names(r.Findings))
	require.Contains(t, r.Trace.Timeline(), "a ok, b transient, ccc forbidden")
	var done []trace.Items
	for _, e := range r.Trace.Actions()[0].Effects {
		done = append(done, r.Trace.Events[e].Outcome.Items)
	}
	require.Equal(t, []trace.Items{"a", "b"}, done)
}

func TestItemsFitABatchOnly(t *testing.T) {
	fault := Fault{Class: trace.Partial, Items: "#1:transient"}
	require.ErrorContains(t, Trial(t, homeAdapter(), One(fault)).Err, "cannot answer as attempt 1 plans")
	a := batchAdapter(func(context.Context, trace.Func[[]string, []ItemResult[int]]) error { return errBusy })
	require.NoError(t, Trial(t, a, One(fault)).Err)
	fault.Items = "#1:reset"
	require.ErrorContains(t, Trial(t, a, One(fault)).Err, "cannot answer", "the tool has no such failure")
	fault.Class = trace.Transient
	require.ErrorContains(t, Trial(t, a, One(fault)).Err, "Items are set")
	for _, bad := range []string{"b", "b:ok", "b:wrong", "%zz:reset", ":reset", "b:reset,,c:reset", "#0:reset", "b:reset,b:invalid"} {
		_, err := Parse("rehearse schedule 1\naction\n  records 1 partial items=" + bad + "\n")
		require.ErrorContains(t, err, "line 3: items="+bad, bad)
	}
}

func TestABatchWithoutAContextIsAClearError(t *testing.T) {
	r := Trial(t, batchAdapter(func(_ context.Context, put trace.Func[[]string, []ItemResult[int]]) error {
		_, err := put(nil, []string{"a"}) //nolint:staticcheck // the mistake under test
		return err
	}), One())
	require.EqualError(t, r.Err, "faultsim: records was called with a nil context: hand the caller's context on")
}

// Both kinds of failures are drawn for a batch: of requests and of items.
func TestFailuresOfItemsAreDrawn(t *testing.T) {
	a := batchAdapter(func(context.Context, trace.Func[[]string, []ItemResult[int]]) error { return nil })
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	items, whole := 0, 0
	for i := range 500 {
		for _, p := range gen.Example(i).Actions {
			for _, f := range p.Faults["records"] {
				require.NoError(t, f.validate())
				if f.Items != "" {
					items++
				} else {
					whole++
				}
			}
		}
	}
	require.Greater(t, items, 200)
	require.Greater(t, whole, 200)
}

// Two requests fail alike, and the report keeps the errors of the last one's
// items: they are no errors of an earlier attempt.
func TestAReportKeepsTheErrorsOfItems(t *testing.T) {
	s, err := Parse("rehearse schedule 1\naction\n  records 1 transient\n  records 2 partial items=a:transient,b:transient\n")
	require.NoError(t, err)
	try := func(keep func(a, b error) error) string {
		r := Trial(t, batchAdapter(func(ctx context.Context, put trace.Func[[]string, []ItemResult[int]]) error {
			items := []string{"a", "b"}
			_, _ = put(ctx, items)
			results, _ := put(ctx, items)
			return keep(results[0].Err, results[1].Err)
		}), s)
		require.NoError(t, r.Err)
		if len(r.Findings) == 0 {
			return ""
		}
		return r.Findings[0].Invariant
	}
	require.Empty(t, try(func(a, b error) error { return fmt.Errorf("item a: %w, item b: %w", a, b) }))
	require.Empty(t, try(func(error, error) error { return errors.New("two items are still to be put") }))
}

// What is expected of a batch follows from its items.
func TestItemsAreExpected(t *testing.T) {
	p := batchAdapter(nil).Policy
	for items, want := range map[trace.Items]Expectation{
		"b:transient":             {2, 2, []trace.Reason{trace.ReasonSuccess}},
		"b:forbidden":             {1, 1, []trace.Reason{trace.ReasonPartial}},
		"b:transient,c:forbidden": {2, 2, []trace.Reason{trace.ReasonSuccess, trace.ReasonPartial}},
	} {
		e, ends := Expect(p, One(Fault{Class: trace.Partial, Items: items}).Actions[0])
		require.True(t, ends)
		require.Equal(t, want, e, items)
	}
}

// unsent words a failure in its own way and keeps the cause.
type unsent struct{ cause error }

func (unsent) Error() string   { return "not all records were sent" }
func (e unsent) Unwrap() error { return e.cause }

// What a sender returns is honest where it keeps the error of an item that
// failed for good, or of the last request, and stale where a later request asked
// for the item again.
func TestErrorsOfItemsAreEvidence(t *testing.T) {
	for _, c := range []struct {
		name, faults string
		returns      error
		stale        bool
	}{
		{"a class that an earlier request had too", "  records 1 transient\n  records 2 partial items=a:transient\n", errBusy, false},
		{"the item that failed for good at first", "  records 1 partial items=a:forbidden,b:transient\n  records 2 partial items=b:transient\n", errForbidden, false},
		{"of an item that was asked for again", "  records 1 partial items=b:transient\n  records 2 partial items=b:forbidden\n", errBusy, true},
		{"of a request before the last", "  records 1 transient\n  records 2 partial items=a:forbidden\n", errBusy, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("rehearse schedule 1\naction\n" + c.faults)
			require.NoError(t, err)
			r := Trial(t, batchAdapter(func(ctx context.Context, put trace.Func[[]string, []ItemResult[int]]) error {
				todo := []string{"a", "b"}
				for range 2 {
					results, err := put(ctx, todo)
					if err != nil {
						continue
					}
					todo = nil
					for _, r := range results {
						if errors.Is(r.Err, errBusy) {
							todo = append(todo, r.ID)
						}
					}
				}
				return unsent{c.returns}
			}), s)
			require.NoError(t, r.Err)
			if c.stale {
				require.Equal(t, []string{"honest-ending"}, names(r.Findings))
				require.Contains(t, r.Findings[0].Text, "that of an earlier attempt")
				return
			}
			require.Empty(t, r.Findings)
		})
	}
}
