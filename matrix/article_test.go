package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// read is a policy as the article's weather tool has it: a read of three
// attempts.
var read = invariants.Policy{
	ID: "read/v1", MaxAttempts: 3, Attempt: time.Second,
	Retry:      []trace.Class{trace.Transient, trace.Timeout},
	Backoff:    invariants.Backoff{Base: 100 * time.Millisecond},
	Late:       invariants.LateWait,
	Repeatable: true,
}

// keyed is a write with an idempotency key; bare is one without.
var keyed, bare = write("keyed/v1", "idempotencyKey"), write("bare/v1", "")

func write(id, key string) invariants.Policy {
	p := read
	p.ID, p.Key, p.Repeatable = id, key, false
	if key == "" {
		p.Retry = []trace.Class{trace.Transient}
		p.Undone = []trace.Class{trace.Transient}
	}
	return p
}

// The article's table, pinned by hand: rows, exact calls, final result. Its
// last row is "policy-dependent": a read and a keyed write repeat, a write
// without a key reports that the outcome is unknown.
func TestExpectationsAreThoseOfTheArticle(t *testing.T) {
	type want struct {
		calls  int
		reason trace.Reason
	}
	article := []struct {
		row               string
		read, keyed, bare want
	}{
		{"immediate-success", want{1, trace.ReasonSuccess}, want{1, trace.ReasonSuccess}, want{1, trace.ReasonSuccess}},
		{"transient-then-success", want{2, trace.ReasonSuccess}, want{2, trace.ReasonSuccess}, want{2, trace.ReasonSuccess}},
		{"transient-until-exhausted", want{3, trace.ReasonExhausted}, want{3, trace.ReasonExhausted}, want{3, trace.ReasonExhausted}},
		{"invalid-arguments", want{1, trace.ReasonNeedsInput}, want{1, trace.ReasonNeedsInput}, want{1, trace.ReasonNeedsInput}},
		{"permission-denied", want{1, trace.ReasonRefused}, want{1, trace.ReasonRefused}, want{1, trace.ReasonRefused}},
		{"success-then-stop", want{1, trace.ReasonSuccess}, want{1, trace.ReasonSuccess}, want{1, trace.ReasonSuccess}},
		{"cancel-during-delay", want{1, trace.ReasonCancelled}, want{1, trace.ReasonCancelled}, want{1, trace.ReasonCancelled}},
		{"ambiguous-write-timeout", want{2, trace.ReasonSuccess}, want{2, trace.ReasonSuccess}, want{1, trace.ReasonOutcomeUnknown}},
		{"transient-invalid-success", want{2, trace.ReasonNeedsInput}, want{2, trace.ReasonNeedsInput}, want{2, trace.ReasonNeedsInput}},
	}
	for _, line := range article {
		row := rowNamed(t, line.row)
		for _, c := range []struct {
			policy invariants.Policy
			want   want
		}{{read, line.read}, {keyed, line.keyed}, {bare, line.bare}} {
			s, err := row.Schedule(matrix.Setting{Policy: c.policy, Can: anything})
			require.NoError(t, err, line.row)
			e, ends := faultsim.Expect(c.policy, plan(s))
			require.True(t, ends, line.row)
			require.Equal(t, faultsim.Expectation{Least: c.want.calls, Most: c.want.calls, Reasons: []trace.Reason{c.want.reason}}, e, "%s under %s", line.row, c.policy.ID)
		}
	}
}

// A write that nothing makes safe to repeat has one attempt, and so has a
// budget with room for one call: no row then makes a second.
func TestOneAttemptIsOneCallInEveryRow(t *testing.T) {
	once := bare
	once.ID, once.MaxAttempts = "once/v1", 1
	exhausting := rowNamed(t, "transient-until-exhausted")
	s, err := exhausting.Schedule(matrix.Setting{Policy: once, Can: anything})
	require.NoError(t, err)
	e, _ := faultsim.Expect(once, plan(s))
	require.Equal(t, faultsim.Expectation{Least: 1, Most: 1, Reasons: []trace.Reason{trace.ReasonExhausted}}, e)

	played, err := matrix.Play(t, loop(once))
	require.NoError(t, err)
	for _, p := range played {
		require.Empty(t, p.Complaint, p.Row.Name)
		if p.Skipped != nil {
			continue
		}
		for _, a := range p.Result.Trace.Actions() {
			require.LessOrEqual(t, len(a.Attempts), 1, p.Row.Name)
		}
	}
	played, err = matrix.Play(t, overrun(once))
	require.NoError(t, err)
	i := slices.IndexFunc(played, func(p matrix.Played) bool { return p.Row.Name == exhausting.Name })
	require.Equal(t, "2 calls, the policy calls for 1", played[i].Complaint)
}

// overrun is the loop that makes one attempt more than the policy has.
func overrun(p invariants.Policy) faultsim.Adapter {
	more := p
	more.MaxAttempts++
	a := loop(more)
	a.Policy = p
	return a
}

func anything(faultsim.Fault) bool { return true }

func plan(s faultsim.Schedule) faultsim.Plan {
	if len(s.Actions) == 0 {
		return faultsim.Plan{}
	}
	return s.Actions[0]
}

// The right loop of each policy runs the whole matrix.
func TestRightLoopsPassTheMatrix(t *testing.T) {
	for _, p := range []invariants.Policy{read, keyed, bare} {
		t.Run(p.ID, func(t *testing.T) { matrix.Run(t, loop(p)) })
	}
}

var errs = faultsim.Errors{
	trace.Transient: errors.New("upstream unavailable"),
	trace.Timeout:   errors.New("no answer in time"),
	trace.Invalid:   errors.New("no such city"),
	trace.Forbidden: errors.New("permission denied"),
}

type args struct {
	City           string `json:"city"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// loop is a right retry loop for the policy.
func loop(p invariants.Policy) faultsim.Adapter {
	return faultsim.Adapter{Name: "loop", Policy: p, Subject: func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "tool", func(context.Context, args) (int, error) { return 19, nil }, errs)
		var actions atomic.Int64
		return func(ctx context.Context) (any, error) {
			in := args{City: "Pune"}
			if p.Key != "" {
				in.IdempotencyKey = fmt.Sprintf("key-%d", actions.Add(1))
			}
			return try(ctx, p, func(ctx context.Context) (int, error) { return tool(ctx, in) })
		}
	}}
}

func try(ctx context.Context, p invariants.Policy, op func(context.Context) (int, error)) (int, error) {
	wait := p.Backoff.Base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		once, cancel := ctx, func() {}
		if p.Attempt > 0 {
			once, cancel = context.WithTimeout(ctx, p.Attempt)
		}
		out, err := op(once)
		cancel()
		if err == nil || n == p.MaxAttempts || !retried(p, err) {
			return out, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		wait *= 2
	}
}

func retried(p invariants.Policy, err error) bool {
	for _, c := range p.Retry {
		if errors.Is(err, errs[c]) || c == trace.Timeout && errors.Is(err, context.DeadlineExceeded) {
			return true
		}
	}
	return false
}
