package matrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var errStopping = errors.New("loop: stopping")

// drained is a policy with a word on attempts that a drain cuts off.
func drained(p invariants.Policy, d invariants.DrainedAttempt) invariants.Policy {
	return with(resuming(p), func(p *invariants.Policy) { p.ID, p.Drain = p.ID+"+"+string(d), d })
}

// drainable is a persisted loop that stops when it is told to: it cuts its attempt
// off, and gives it back as its policy says, or as free says.
func drainable(d invariants.DrainedAttempt, free bool) faultsim.Adapter {
	p := drained(read, d)
	build := func(s *faultsim.Stage) faultsim.Action {
		disk, stopping := s.Disk(), s.Draining()
		tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, errs)
		return func(ctx context.Context) (any, error) {
			name := trace.ActionName(ctx)
			var n note
			raw, err := disk.Get(ctx, name)
			if err == nil {
				err = json.Unmarshal(raw, &n)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			inProcess, cancel := context.WithCancelCause(ctx)
			defer context.AfterFunc(stopping, func() { cancel(errStopping) })()
			defer cancel(nil)
			out, err := goOn(inProcess, p, disk, name, &n, func(ctx context.Context) (int, error) {
				out, err := tool(ctx, args{City: "Pune"})
				if free && errors.Is(context.Cause(inProcess), errStopping) && errors.Is(err, context.Canceled) {
					n.Begun--
				}
				return out, err
			})
			if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(inProcess), errStopping) || !errors.Is(err, context.Canceled) {
				return out, err
			}
			if raw, err = json.Marshal(n); err == nil {
				err = disk.Put(ctx, name, raw)
			}
			return nil, errors.Join(errStopping, err)
		}
	}
	return faultsim.Adapter{Name: "loop", Policy: p, Subject: build, Resume: build,
		HandedBack: func(err error) bool { return errors.Is(err, errStopping) }}
}

func TestRowsOfDrainsAreForAdaptersWithAHandedBack(t *testing.T) {
	require.NotContains(t, restarts(t, persisted(false)), "drain-in-flight")
	for _, d := range []invariants.DrainedAttempt{invariants.DrainUndeclared, invariants.DrainCounts, invariants.DrainFree} {
		rows := restarts(t, drainable(d, d == invariants.DrainFree))
		require.Len(t, rows, 10)
		for name, p := range rows {
			require.Empty(t, p.Complaint, "%s: %s", name, p.Result.Trace.Timeline())
			require.NoError(t, p.Skipped, name)
			again, err := faultsim.Parse(p.Schedule.String())
			require.NoError(t, err, name)
			require.Equal(t, p.Schedule.String(), again.String(), name)
		}
	}
}

func TestALoopThatCountsOtherwiseFailsTheRowOfDrains(t *testing.T) {
	rows := restarts(t, drainable(invariants.DrainCounts, true))
	require.Equal(t, "5 calls, the policy calls for 1–3", rows["drain-under-each-attempt"].Complaint)
	rows = restarts(t, drainable(invariants.DrainFree, false))
	given := rows["drain-under-each-attempt"]
	require.Equal(t, "ended as none, the policy calls for success", given.Complaint)
	require.Equal(t, "drain-counted", given.Result.Findings[0].Invariant)
}

func TestExpectationsOfDrainRows(t *testing.T) {
	rows := restarts(t, drainable(invariants.DrainFree, true))
	const (
		counts, free, either   = invariants.DrainCounts, invariants.DrainFree, invariants.DrainUndeclared
		exhausted, interrupted = trace.ReasonExhausted, trace.ReasonInterrupted
	)
	for _, c := range []struct {
		row         string
		p           invariants.Policy
		least, most int
		reasons     []trace.Reason
	}{
		{"drain-in-flight", drained(read, counts), 1, 2, []trace.Reason{ok}},
		{"drain-in-flight", drained(keyed, free), 1, 2, []trace.Reason{ok}},
		{"drain-in-flight", drained(bare, free), 1, 1, []trace.Reason{ok, outcome}},
		{"drain-in-flight", interrupting(read), 1, 1, []trace.Reason{ok, interrupted}},
		{"drain-under-each-attempt", drained(read, counts), 1, 3, []trace.Reason{ok, exhausted}},
		{"drain-under-each-attempt", drained(read, free), 1, 5, []trace.Reason{ok}},
		{"drain-under-each-attempt", drained(read, either), 1, 5, []trace.Reason{ok, exhausted}},
		{"drain-in-backoff", drained(read, counts), 2, 2, []trace.Reason{ok}},
		{"drain-in-backoff", drained(bare, free), 2, 2, []trace.Reason{ok}},
		{"drain-in-backoff", interrupting(keyed), 1, 1, []trace.Reason{interrupted}},
		{"drain-past-its-grace", drained(read, counts), 2, 2, []trace.Reason{ok}},
		{"drain-past-its-grace", drained(bare, free), 1, 1, []trace.Reason{outcome}},
		{"drain-past-its-grace", interrupting(read), 1, 1, []trace.Reason{interrupted}},
	} {
		s, err := rows[c.row].Row.Schedule(matrix.Setting{Policy: c.p, Can: anything})
		require.NoError(t, err, "%s under %s", c.row, c.p.ID)
		e, ends := faultsim.ExpectFirst(c.p, s)
		require.True(t, ends, c.row)
		require.Equal(t, faultsim.Expectation{Least: c.least, Most: c.most, Reasons: c.reasons}, e, "%s under %s", c.row, c.p.ID)
	}
	endless := with(drained(read, free), func(p *invariants.Policy) { p.MaxAttempts, p.Budget = invariants.Unlimited, time.Minute })
	expects(t, rows["drain-under-each-attempt"].Row, endless, end{})
	hasty := with(drained(read, free), func(p *invariants.Policy) { p.Backoff, p.Attempt = invariants.Backoff{}, 5 })
	expects(t, rows["drain-in-backoff"].Row, hasty, end{})
	expects(t, rows["drain-past-its-grace"].Row, hasty, end{})
}

// A budget that each process has anew is counted from the restart behind a drain.
func TestADrainBeginsABudgetAnew(t *testing.T) {
	p := with(drained(read, invariants.DrainCounts), func(p *invariants.Policy) { p.Budget = 2 * time.Second })
	s := faultsim.One(faultsim.Fault{Latency: time.Second, Drain: time.Millisecond})
	s.Actions[0].Restart, s.Actions[0].Grace = time.Hour, 10*time.Millisecond
	e, _ := faultsim.ExpectFirst(p, s)
	require.Equal(t, faultsim.Expectation{Least: 1, Most: 1, Reasons: []trace.Reason{trace.ReasonBudget}}, e)
	p.RestartBudget = invariants.BudgetBeginsAnew
	e, _ = faultsim.ExpectFirst(p, s)
	require.Equal(t, faultsim.Expectation{Least: 2, Most: 2, Reasons: []trace.Reason{ok}}, e)
}
