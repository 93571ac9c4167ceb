package invariants

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// paying is a trace of two attempts, the first of which ended as the class
// says, with a reconciliation in between that ended as asked says; 0: none.
func paying(first, asked trace.Class) *trace.Trace {
	events := []trace.Event{
		{Kind: trace.KindBegin, Action: "pay"},
		{Kind: trace.KindCall, Action: "pay", Tool: "charge", Call: 1},
		{At: 1, Kind: trace.KindAnswer, Action: "pay", Tool: "charge", Call: 1, Outcome: trace.Outcome{Class: first}, Error: "failed"},
	}
	if asked != 0 {
		events = append(events,
			trace.Event{At: 2, Kind: trace.KindCall, Role: trace.RoleReconcile, Action: "pay", Tool: "status", Call: 2},
			trace.Event{At: 3, Kind: trace.KindAnswer, Action: "pay", Tool: "status", Call: 2, Outcome: trace.Outcome{Class: asked}})
	}
	return &trace.Trace{Events: append(events,
		trace.Event{At: 4, Kind: trace.KindCall, Action: "pay", Tool: "charge", Call: 3},
		trace.Event{At: 5, Kind: trace.KindAnswer, Action: "pay", Tool: "charge", Call: 3, Outcome: trace.Outcome{Class: trace.OK}},
		trace.Event{At: 5, Kind: trace.KindEnd, Action: "pay", Reason: trace.ReasonSuccess})}
}

func TestReconciledFirst(t *testing.T) {
	p := Policy{ID: "pay/v1", MaxAttempts: 2, Attempt: time.Second, Reconcile: true,
		Retry: []trace.Class{trace.Timeout, trace.Throttled}}
	require.NoError(t, p.Validate())
	for _, c := range []struct {
		name           string
		first, asked   trace.Class
		applied, found int
	}{
		{"F031: repeated blindly after a timeout", trace.Timeout, 0, 1, 1},
		{"asked, and told", trace.Timeout, trace.OK, 1, 0},
		{"asked, and not told", trace.Timeout, trace.Transient, 1, 1},
		{"a throttled call did nothing", trace.Throttled, 0, 0, 0},
	} {
		v := ReconciledFirst(p).Check(paying(c.first, c.asked))
		require.Equal(t, c.applied, v.Applied, c.name)
		require.Len(t, v.Findings, c.found, c.name)
	}
}
