package invariants_test

import (
	"testing"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// ends follows the answers and returns the last decision.
func ends(p Policy, answers ...trace.Class) Decision {
	s := p.Start(0, 0)
	var d Decision
	for _, c := range answers {
		d = s.Next(trace.Outcome{Class: c}, 0)
	}
	return d
}

func deleting() Policy {
	return Policy{
		ID: "delete/v1", MaxAttempts: 3, Repeatable: true,
		Retry: []trace.Class{trace.Timeout, trace.Throttled}, Desired: []trace.Class{trace.NotFound},
	}
}

func TestADesiredAnswerToARepeatIsASuccess(t *testing.T) {
	p := deleting()
	require.NoError(t, p.Validate())
	require.Equal(t, trace.ReasonSuccess, ends(p, trace.Timeout, trace.NotFound).Reason)
	require.Equal(t, trace.ReasonSuccess, ends(p, trace.Timeout, trace.Throttled, trace.NotFound).Reason, "a clear answer between the two changes nothing")
	require.Equal(t, trace.ReasonRefused, ends(p, trace.NotFound).Reason, "there was nothing to delete")
	require.Equal(t, trace.ReasonRefused, ends(p, trace.Throttled, trace.NotFound).Reason, "the first attempt did nothing")
	p.Desired = nil
	require.Equal(t, trace.ReasonRefused, ends(p, trace.Timeout, trace.NotFound).Reason)
}

func TestAConflictWithAnOwnAttemptIsNoRefusal(t *testing.T) {
	p := deleting()
	d := ends(p, trace.Timeout, trace.Conflict)
	require.Equal(t, trace.ReasonOutcomeUnknown, d.Reason)
	require.False(t, d.Allows(trace.ReasonRefused))
	asking := p
	asking.Repeatable, asking.Reconcile = false, true
	require.NoError(t, asking.Validate())
	d = ends(asking, trace.Timeout, trace.Conflict)
	require.True(t, d.Allows(trace.ReasonRefused), "it has asked, and nothing was done")
	require.True(t, d.Allows(trace.ReasonOutcomeUnknown))
	d = ends(p, trace.Throttled, trace.Conflict)
	require.Equal(t, trace.ReasonRefused, d.Reason)
	p.Desired = nil
	d = ends(p, trace.Timeout, trace.Conflict)
	require.Equal(t, trace.ReasonRefused, d.Reason, "a read has done nothing that could be in its way")
	require.True(t, d.Allows(trace.ReasonOutcomeUnknown))
	p.Desired = []trace.Class{trace.Conflict}
	require.Equal(t, trace.ReasonSuccess, ends(p, trace.Timeout, trace.Conflict).Reason)
}

func TestHonestEndingKnowsTheDesiredState(t *testing.T) {
	p := deleting()
	act := func(end trace.Ending, answers ...trace.Class) []Finding {
		r := &trace.Recorder{Clear: true}
		ctx, op := r.Begin(t.Context(), "delete")
		for _, c := range answers {
			r.Call(ctx, trace.Call{Tool: "files", Args: []byte(`{"file":7}`)}).Answer(trace.Outcome{Class: c}, nil, nil)
		}
		op.End(end)
		var honest []Invariant
		for _, inv := range p.Invariants() {
			if inv.Name == "honest-ending" {
				honest = append(honest, inv)
			}
		}
		require.Len(t, honest, 1)
		return Find(r.Trace(), honest...)
	}
	gone := trace.Ending{Reason: trace.ReasonSuccess}
	require.Empty(t, act(gone, trace.Timeout, trace.NotFound))
	untried := act(gone, trace.NotFound)
	require.Len(t, untried, 1)
	require.Contains(t, untried[0].Advice, "only after an own attempt whose outcome is not known")
	require.Len(t, act(gone, trace.Throttled, trace.NotFound), 1)
	failed := trace.Ending{Err: errNoFile}
	require.Empty(t, act(failed, trace.NotFound))
	found := act(failed, trace.Timeout, trace.NotFound)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, `files answered not-found to a repeat, which the policy reads as done, but the action failed with "no such file"`)
}

var errNoFile = notThere{}

type notThere struct{}

func (notThere) Error() string { return "no such file" }
