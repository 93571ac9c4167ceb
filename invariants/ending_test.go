package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A deferred cancel ends the attempt as the program returns: its error is none that the
// program saw, whichever of the two is written down first. One that ended before is.
func TestAnAttemptThatIsGivenUpAtTheEndHidesNoError(t *testing.T) {
	const end = 150 * time.Millisecond
	run := func(left time.Duration) *trace.Trace {
		return &trace.Trace{Schema: trace.Schema, Events: []trace.Event{
			{Kind: trace.KindBegin, Action: "a"},
			{Kind: trace.KindCall, Action: "a", Tool: "weather", Call: 1},
			{Kind: trace.KindAnswer, Action: "a", Tool: "weather", Call: 1, Outcome: trace.Outcome{Class: trace.Transient}, Error: "down"},
			{Kind: trace.KindCall, Action: "a", Tool: "weather", Call: 2},
			{At: left, Kind: trace.KindAnswer, Action: "a", Tool: "weather", Call: 2, Outcome: trace.Outcome{Class: trace.Cancelled}, Error: "context canceled"},
			{At: end, Kind: trace.KindEnd, Action: "a", Error: "down", Cause: 1},
		}}
	}
	require.Empty(t, invariants.Find(run(end), invariants.HonestEnding()))
	found := invariants.Find(run(end-1), invariants.HonestEnding())
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "that of an earlier attempt")
}

// Where each step of an action succeeded, its end is one too, unless something may have
// kept it from the next step.
func TestAFailureBehindStepsThatAllSucceededHidesThem(t *testing.T) {
	run := func(end trace.Event, second trace.Class) *trace.Trace {
		end.At, end.Kind, end.Action, end.Error = time.Second, trace.KindEnd, "a", "it could not be done"
		return &trace.Trace{Schema: trace.Schema, Events: []trace.Event{
			{Kind: trace.KindBegin, Action: "a", Deadline: end.Deadline},
			{Kind: trace.KindCall, Action: "a", Tool: "weather", Call: 1},
			{Kind: trace.KindAnswer, Action: "a", Tool: "weather", Call: 1, Outcome: trace.Outcome{Class: trace.OK}},
			{Kind: trace.KindCall, Action: "a", Tool: "booking", Call: 2},
			{Kind: trace.KindAnswer, Action: "a", Tool: "booking", Call: 2, Outcome: trace.Outcome{Class: second}},
			end,
		}}
	}
	for name, x := range map[string]struct {
		end    trace.Event
		second trace.Class
		found  bool
	}{
		"no reason":          {trace.Event{}, trace.OK, true},
		"a reason":           {trace.Event{Outcome: trace.Outcome{}, Reason: trace.ReasonRefused}, trace.OK, true},
		"a step failed":      {trace.Event{Cause: 2}, trace.Transient, false},
		"a breaker is open":  {trace.Event{Reason: trace.ReasonBreakerOpen}, trace.OK, false},
		"too little time":    {trace.Event{Deadline: 2 * time.Second}, trace.OK, false},
		"no time, by reason": {trace.Event{Reason: trace.ReasonDeadline}, trace.OK, false},
	} {
		found := invariants.Find(run(x.end, x.second), invariants.HonestEnding())
		require.Equal(t, x.found, len(found) > 0, "%s: %v", name, found)
	}
}
