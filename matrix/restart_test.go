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

func resuming(p invariants.Policy) invariants.Policy {
	return with(p, func(p *invariants.Policy) { p.ID, p.Restart = p.ID+"+resumes", invariants.RestartResumes })
}

func interrupting(p invariants.Policy) invariants.Policy {
	return with(p, func(p *invariants.Policy) { p.ID, p.Restart = p.ID+"+interrupts", invariants.RestartInterrupts })
}

// A note is what a persisted loop writes down.
type note struct {
	Begun  int
	Next   time.Time
	Result *int
}

// persisted is a loop that goes on after a restart; forgets: as if nothing had been.
func persisted(forgets bool) faultsim.Adapter {
	p := resuming(read)
	build := func(again bool) func(*faultsim.Stage) faultsim.Action {
		return func(s *faultsim.Stage) faultsim.Action {
			disk := s.Disk()
			tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, errs)
			return func(ctx context.Context) (any, error) {
				name := trace.ActionName(ctx)
				var n note
				raw, err := disk.Get(ctx, name)
				if err == nil && !forgets {
					err = json.Unmarshal(raw, &n)
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				return goOn(ctx, p, disk, name, &n, func(ctx context.Context) (int, error) { return tool(ctx, args{City: "Pune"}) })
			}
		}
	}
	return faultsim.Adapter{Name: "loop", Policy: p, Subject: build(false), Resume: build(true)}
}

func goOn(ctx context.Context, p invariants.Policy, disk *faultsim.Disk, name string, n *note, op func(context.Context) (int, error)) (int, error) {
	save := func() error {
		raw, err := json.Marshal(n)
		if err != nil {
			return err
		}
		return disk.Put(context.WithoutCancel(ctx), name, raw)
	}
	err := errors.New("nobody knows what became of the last attempt")
	for n.Result == nil {
		if n.Begun >= p.MaxAttempts {
			return 0, err
		}
		select {
		case <-time.After(time.Until(n.Next)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return 0, errors.Join(ctx.Err(), err)
		}
		n.Begun++
		if lost := save(); lost != nil {
			return 0, lost
		}
		out, failed := try(ctx, with(p, func(p *invariants.Policy) { p.MaxAttempts = 1 }), op)
		if err = failed; err == nil {
			n.Result = &out
		} else if !p.Retries(classOf(err)) || ctx.Err() != nil {
			return 0, err
		}
		n.Next = time.Now().Add(p.Backoff.Base << (n.Begun - 1))
		if lost := save(); lost != nil {
			return 0, lost
		}
	}
	return *n.Result, nil
}

func classOf(err error) trace.Class {
	for c, e := range errs {
		if errors.Is(err, e) {
			return c
		}
	}
	return trace.Timeout
}

func restarts(t *testing.T, a faultsim.Adapter) map[string]matrix.Played {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	rows := map[string]matrix.Played{}
	for _, p := range played {
		if p.Row.Group == matrix.Restarts {
			require.NotEmpty(t, p.Row.Proves)
			rows[p.Row.Name] = p
		}
	}
	return rows
}

func TestRowsOfRestartsAreForAdaptersWithAResume(t *testing.T) {
	require.Empty(t, restarts(t, loop(read)))
	rows := restarts(t, persisted(false))
	require.Len(t, rows, 6)
	for name, p := range rows {
		require.Empty(t, p.Complaint, name)
		require.NoError(t, p.Skipped, name)
		again, err := faultsim.Parse(p.Schedule.String())
		require.NoError(t, err, name)
		require.Equal(t, p.Schedule.String(), again.String(), name)
	}
}

// revived is the persisted loop with an operator, who may leave the count spent.
func revived(spent bool) faultsim.Adapter {
	a := persisted(false)
	a.Again = func(s *faultsim.Stage) faultsim.Action {
		goOn := a.Resume(s)
		return func(ctx context.Context) (any, error) {
			if !spent {
				if err := s.Disk().Delete(ctx, trace.ActionName(ctx)); err != nil {
					return nil, err
				}
			}
			return goOn(ctx)
		}
	}
	return a
}

func TestTheRowOfAnOperatorIsForAdaptersWithAgain(t *testing.T) {
	require.NotContains(t, restarts(t, persisted(false)), "operator-retry")
	row := restarts(t, revived(false))["operator-retry"]
	require.Empty(t, row.Complaint)
	require.NoError(t, row.Skipped)
	require.Len(t, row.Result.Trace.Actions()[1].Attempts, 3)
	for _, p := range []invariants.Policy{read, keyed, bare} {
		expects(t, row.Row, p, end{3, trace.ReasonExhausted})
	}
	require.Equal(t, "breaks operator-retry", restarts(t, revived(true))["operator-retry"].Complaint)
}

func TestALoopThatForgetsFailsTheRowsOfRestarts(t *testing.T) {
	rows := restarts(t, persisted(true))
	require.Equal(t, "breaks survives-restart", rows["restart-in-backoff"].Complaint)
	require.Equal(t, "5 calls, the policy calls for 3", rows["restart-under-each-attempt"].Complaint)
}

func TestExpectationsOfRestartRows(t *testing.T) {
	rows := restarts(t, persisted(false))
	const exhausted, interrupted = trace.ReasonExhausted, trace.ReasonInterrupted
	for name, c := range map[string]struct{ read, keyed, bare end }{
		"restart-in-flight":          {end{2, ok}, end{2, ok}, end{1, outcome}},
		"restart-under-each-attempt": {end{3, exhausted}, end{3, exhausted}, end{1, outcome}},
		"restart-in-backoff":         {end{2, ok}, end{2, ok}, end{2, ok}},
		"restart-after-backoff":      {end{2, ok}, end{2, ok}, end{2, ok}},
		"restart-until-exhausted":    {end{3, exhausted}, end{3, exhausted}, end{3, exhausted}},
	} {
		expects(t, rows[name].Row, resuming(read), c.read)
		expects(t, rows[name].Row, resuming(keyed), c.keyed)
		expects(t, rows[name].Row, resuming(bare), c.bare)
		for _, p := range []invariants.Policy{read, keyed, bare} {
			expects(t, rows[name].Row, interrupting(p), end{1, interrupted})
		}
	}
	late := with(resuming(read), func(p *invariants.Policy) { p.Budget = 2 * time.Second })
	expects(t, rows["restart-after-backoff"].Row, late, end{1, trace.ReasonBudget})
	late.RestartBudget = invariants.BudgetBeginsAnew
	expects(t, rows["restart-after-backoff"].Row, late, end{2, ok})
	s := rows["restart-at-each-write"].Schedule
	require.Len(t, s.Actions, 8)
	e, known := faultsim.ExpectFirst(resuming(read), s)
	require.True(t, known)
	require.Empty(t, e.Reasons, "the rules alone hold it")
	expects(t, rows["restart-until-exhausted"].Row, resuming(once()), end{})
	hasty := with(resuming(read), func(p *invariants.Policy) { p.Backoff = invariants.Backoff{} })
	expects(t, rows["restart-in-backoff"].Row, hasty, end{})
}
