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
