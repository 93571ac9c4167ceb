package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var payCall = trace.ToolCall{ID: "c1", Tool: "pay", Args: `{"amount": 7}`}

// answers is one who gives leave, or fails.
func answers(a trace.Approval, err error) trace.ApproveFunc {
	return func(context.Context, trace.ToolCall) (trace.Approval, error) { return a, err }
}

func TestApprovalIsRecordedWithWhatItIsFor(t *testing.T) {
	down := errors.New("nobody is there")
	for name, tc := range map[string]struct {
		approval trace.Approval
		err      error
		class    trace.Class
		result   string
	}{
		"granted": {trace.Approval{ID: "a1", Granted: true, Expires: time.Unix(60, 0).UTC()}, nil, trace.OK,
			`{"approved":true,"expires":"1970-01-01T00:01:00Z","id":"a1"}`},
		"denied": {trace.Approval{Reason: "too much"}, nil, trace.Declined, `{"approved":false,"reason":"too much"}`},
		"failed": {trace.Approval{}, down, trace.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Clear: true}
			got, err := trace.RecordApproval(r, "owner", answers(tc.approval, tc.err))(t.Context(), payCall)
			require.Equal(t, tc.approval, got)
			require.Equal(t, tc.err, err)
			events := r.Trace().Events
			require.Equal(t, trace.RoleApproval, events[0].Role)
			require.Equal(t, "owner", events[0].Tool)
			require.JSONEq(t, `{"tool":"pay","arguments":{"amount":7}}`, string(events[0].Args))
			require.Equal(t, tc.class, events[1].Outcome.Class)
			require.Equal(t, tc.result, string(events[1].Result))
		})
	}
}

// Nothing of what leave is asked for is shown, and still it compares with the call.
func TestApprovalCanBeJudgedWithoutItsValues(t *testing.T) {
	r := &trace.Recorder{Key: "key", Keep: func(field string) bool { return field == "currency" }}
	call := trace.ToolCall{Tool: "pay", Args: `{"amount":7,"currency":"EUR","key":"k-1"}`}
	given := trace.Approval{ID: "a1", Granted: true, Reason: "fine", Expires: time.Unix(60, 0).UTC()}
	_, err := trace.RecordApproval(r, "owner", answers(given, nil))(t.Context(), call)
	require.NoError(t, err)
	r.Call(t.Context(), trace.Call{Tool: "pay", Args: []byte(call.Args)})
	events := r.Trace().Events
	require.JSONEq(t, `{"tool":"pay","arguments":`+string(events[2].Args)+`}`, string(events[0].Args))
	require.Contains(t, string(events[0].Args), `"currency":"EUR"`)
	require.NotContains(t, string(events[0].Args), ":7")
	var said trace.Approval
	require.NoError(t, json.Unmarshal(events[1].Result, &said))
	require.True(t, said.Granted)
	require.Equal(t, given.Expires, said.Expires)
	require.NotEqual(t, given.ID, said.ID)
	require.NotEqual(t, given.Reason, said.Reason)
}

func TestApprovalThatPanicsHasAnAnswer(t *testing.T) {
	r := &trace.Recorder{}
	owner := trace.RecordApproval(r, "owner", func(context.Context, trace.ToolCall) (trace.Approval, error) { panic("oops") })
	require.Panics(t, func() { _, _ = owner(t.Context(), payCall) })
	require.Equal(t, trace.Unknown, r.Trace().Events[1].Outcome.Class)
}

func TestAnApprovalAllowsUntilItExpires(t *testing.T) {
	now := time.Unix(60, 0)
	require.True(t, trace.Approval{Granted: true}.Allows(now))
	require.True(t, trace.Approval{Granted: true, Expires: now.Add(1)}.Allows(now))
	require.False(t, trace.Approval{Granted: true, Expires: now}.Allows(now))
	require.False(t, trace.Approval{}.Allows(now))
}

// TestApprovalsAreOfTheCallsTheyAreFor: two equal calls in one reply, each of which
// gets its leave and its attempt, with ids and without.
func TestApprovalsAreOfTheCallsTheyAreFor(t *testing.T) {
	for name, clear := range map[string]bool{"in clear": true, "redacted": false} {
		for _, ids := range [][2]string{{"c1", "c2"}, {"", ""}} {
			t.Run(name+" "+ids[0], func(t *testing.T) {
				ctx := t.Context()
				r := &trace.Recorder{Clear: clear}
				asks := []trace.ToolCall{{ID: ids[0], Tool: "pay", Args: `{"amount":7}`}, {ID: ids[1], Tool: "pay", Args: `{"amount":7}`}}
				model := trace.RecordModel(r, "model", func(context.Context, trace.Prompt) (trace.Reply, error) {
					return trace.Reply{Calls: asks}, nil
				})
				owner := trace.RecordApproval(r, "owner", answers(trace.Approval{Granted: true}, nil))
				pay := trace.Record(r, "pay", func(context.Context, map[string]int) (bool, error) { return true, nil })
				_, err := trace.Do(ctx, r, "run", func(ctx context.Context) (bool, error) {
					_, _ = model(ctx, trace.Prompt{})
					for _, a := range asks {
						_, _ = owner(ctx, a)
					}
					for _, a := range asks {
						_, _ = pay(trace.CallID(ctx, a.ID), map[string]int{"amount": 7})
					}
					return true, nil
				})
				require.NoError(t, err)
				turns := r.Trace().Turns(0)
				require.Len(t, turns, 1)
				for _, a := range turns[0].Asks {
					require.Len(t, a.Approval, 1)
					require.Len(t, a.Attempts, 1)
				}
			})
		}
	}
}
