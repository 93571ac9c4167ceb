package invariants_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// An action that hangs at the program's own limiter is no fault of the tool.
func TestAHangAtALimiterIsNamed(t *testing.T) {
	const said = "the action has not returned after 1m0s"
	found := Find(tries(transient).Record(trace.RoleTurn, "gate").Trouble(trace.KindHang, said).Trace(), Returns())
	require.Len(t, found, 1)
	require.Equal(t, said+" and waits for its turn at gate", found[0].Text)
	require.Contains(t, found[0].Advice, "give each place back")

	found = Find(tries(transient).Record(trace.RoleTurn, "gate").Answer(trace.OK).Trouble(trace.KindHang, said).Trace(), Returns())
	require.Len(t, found, 1)
	require.Equal(t, said, found[0].Text)
}

// What ended the action when its tool had failed is its last error: a limiter that
// says at once that the turn would come too late.
func TestALimitersRefusalIsTheLastError(t *testing.T) {
	failed := func() *tracetest.Script { return begin().Call("weather", pune).Answer(transient).After(sec) }
	end := trace.Event{Error: "the turn would come too late", Cause: -1, Reason: trace.ReasonDeadline}
	require.Empty(t, Find(failed().Record(trace.RoleTurn, "gate").Answer(trace.Timeout).Ending(end).Trace(), HonestEnding()))
	require.NotEmpty(t, Find(failed().Record(trace.RoleTurn, "gate").Answer(trace.OK).Ending(end).Trace(), HonestEnding()))
	require.NotEmpty(t, Find(failed().Ending(end).Trace(), HonestEnding()))
}
