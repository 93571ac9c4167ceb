package scripted_test

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var pay = trace.ToolCall{ID: "call_1", Tool: "pay", Args: `{"amount":7}`}

func TestAnApproverAnswersAsItIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		script func(*scripted.Approver)
		want   trace.Approval
		err    error
		class  trace.Class
		after  time.Duration
		lives  time.Duration
	}{
		"grants":          {func(v *scripted.Approver) { v.Grant() }, trace.Approval{ID: "approval_1", Granted: true}, nil, trace.OK, 0, 0},
		"grants by name":  {func(v *scripted.Approver) { v.Grant().ID("a-7") }, trace.Approval{ID: "a-7", Granted: true}, nil, trace.OK, 0, 0},
		"for a while":     {func(v *scripted.Approver) { v.Grant().Expires(time.Minute) }, trace.Approval{ID: "approval_1", Granted: true}, nil, trace.OK, 0, time.Minute},
		"late":            {func(v *scripted.Approver) { v.Grant().After(2 * time.Second).Expires(time.Second) }, trace.Approval{ID: "approval_1", Granted: true}, nil, trace.OK, 2 * time.Second, time.Second},
		"denies":          {func(v *scripted.Approver) { v.Deny("too much").ID("d-7") }, trace.Approval{ID: "d-7", Reason: "too much"}, nil, trace.Declined, 0, 0},
		"fails":           {func(v *scripted.Approver) { v.Fail(trace.Transient, errUnavailable).Hint(time.Second) }, trace.Approval{}, errUnavailable, trace.Transient, 0, 0},
		"is not there":    {func(v *scripted.Approver) { v.Hang() }, trace.Approval{}, context.DeadlineExceeded, trace.Timeout, 5 * time.Second, 0},
		"is too late":     {func(v *scripted.Approver) { v.Grant().After(time.Minute) }, trace.Approval{}, context.DeadlineExceeded, trace.Timeout, 5 * time.Second, 0},
		"is late anyhow":  {func(v *scripted.Approver) { v.Grant().After(time.Minute).Deaf() }, trace.Approval{ID: "approval_1", Granted: true}, nil, trace.OK, time.Minute, 0},
		"does what it is": {func(v *scripted.Approver) { v.Do(answersWith("x", nil)) }, trace.Approval{ID: "x"}, nil, trace.Declined, 0, 0},
		"does and fails":  {func(v *scripted.Approver) { v.Do(answersWith("x", errUnavailable)) }, trace.Approval{}, errUnavailable, trace.Unknown, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				owner := scripted.NewApprover(t)
				tc.script(owner)
				begin := time.Now()
				got, err := owner.Ask(ctx, pay)
				require.Equal(t, tc.err, err)
				require.Equal(t, tc.after, time.Since(begin))
				if tc.lives > 0 {
					require.Equal(t, tc.lives, time.Until(got.Expires))
					tc.want.Expires = got.Expires
				}
				require.Equal(t, tc.want, got)
				require.Equal(t, []trace.ToolCall{pay}, owner.Asked())
				require.Equal(t, tc.class, answers(owner.Trace())[0].Outcome.Class)
			})
		})
	}
}

func answersWith(id string, err error) trace.ApproveFunc {
	return func(context.Context, trace.ToolCall) (trace.Approval, error) { return trace.Approval{ID: id}, err }
}

// TestAnApproverThatAnswersAfterARestart: the process that asked has ended, and
// the next one asks again and is given leave.
func TestAnApproverThatAnswersAfterARestart(t *testing.T) {
	owner := scripted.NewApprover(t).Hang().Grant().ID("a-7")
	first, end := context.WithCancel(t.Context())
	end()
	_, err := owner.Ask(first, pay)
	require.ErrorIs(t, err, context.Canceled)
	leave, err := owner.Ask(t.Context(), pay)
	require.NoError(t, err)
	require.Equal(t, "a-7", leave.ID)
	all := answers(owner.Trace())
	require.Equal(t, []trace.Class{trace.Cancelled, trace.OK}, []trace.Class{all[0].Outcome.Class, all[1].Outcome.Class})
}

func TestAnApproverThatDoesNotReturnHasAnAnswerInTheTrace(t *testing.T) {
	owner := scripted.NewApprover(t).Do(func(context.Context, trace.ToolCall) (trace.Approval, error) {
		runtime.Goexit()
		return trace.Approval{}, nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = owner.Ask(t.Context(), pay) })
	wg.Wait()
	require.Equal(t, trace.Unknown, answers(owner.Trace())[0].Outcome.Class)
}

// TestModelToolAndApproverShareATrace: a loop that asks for leave before it pays.
func TestModelToolAndApproverShareATrace(t *testing.T) {
	rec := &trace.Recorder{Clear: true}
	model := scripted.NewModel(t).Into(rec).Ask("pay", `{"amount":7}`).Say("Paid.")
	owner := scripted.NewApprover(t).Into(rec).Named("owner").Grant()
	bank := scripted.NewTool[map[string]int, string](t, "pay").Into(rec).Return("receipt 1")

	answer, err := trace.Do(t.Context(), rec, "pay invoice 7", func(ctx context.Context) (string, error) {
		asking := func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
			if leave, err := owner.Ask(ctx, trace.ToolCall{Tool: "pay", Args: string(args)}); err != nil || !leave.Allows(time.Now()) {
				return nil, err
			}
			return bank.CallJSON(ctx, args)
		}
		return agent{model: model.Reply, tools: toolbox{"pay": asking}, turns: 3}.run(ctx, "Pay invoice 7.")
	})
	require.NoError(t, err)
	require.Equal(t, "Paid.", answer)
	asked := rec.Trace().Turns(0)[0].Asks[0]
	require.Len(t, asked.Approval, 1)
	require.Len(t, asked.Attempts, 1)
	require.Equal(t, "owner", rec.Trace().Events[asked.Approval[0]].Tool)
	invariants.Verify(t, rec.Trace(), invariants.MaxAttempts(1), invariants.NothingLeft())
}
