package trace_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestSessionsAreRecordedWithTheirCalls(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	_, op := r.Begin(t.Context(), "order")
	for n := 1; n <= 2; n++ {
		r.Call(t.Context(), trace.Call{Tool: "orders", Role: trace.RoleConnect, Session: n}).Answer(trace.Outcome{Class: trace.OK}, nil, nil)
		r.Call(t.Context(), trace.Call{Tool: "orders", Session: n}).Answer(trace.Outcome{Class: trace.Reset}, nil, nil)
	}
	r.Closed(2)
	op.End(trace.Ending{})

	tr := r.Trace()
	require.Len(t, tr.Actions(), 1)
	attempts := tr.Actions()[0].Attempts
	require.Len(t, attempts, 2)
	require.Equal(t, []int{1, 2}, []int{attempts[0].Session, attempts[1].Session})
	for _, words := range []string{"opens session 1", "session 2 ·", "the program closes session 2"} {
		require.Contains(t, tr.Timeline(), words)
	}
	require.Contains(t, written(t, tr), `"kind":"close"`)
}

// A session that is closed while several actions run is of none of them.
func TestAClosedSessionMayBeOfNoAction(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	r.Begin(t.Context(), "a")
	r.Begin(t.Context(), "b")
	r.Closed(1)
	require.Len(t, r.Trace().Actions(), 2)
	require.Empty(t, r.Trace().Ambiguous(), "it is no call")
}
