package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// A tool that times out by itself at the instant of the deadline ends the
// action for its own reason or for the caller's. One nanosecond earlier it is
// known that the attempt ran into the deadline; its outcome is unknown all the
// same.
func TestTimeoutAtTheInstantOfTheDeadlineReadsBothWays(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 1, Late: invariants.LateWait}
	const deadline = time.Second
	for _, c := range []struct {
		begin time.Duration
		said  trace.Reason
		finds int
	}{
		{deadline, trace.ReasonOutcomeUnknown, 0},
		{deadline, trace.ReasonDeadline, 0},
		{deadline - 1, trace.ReasonNeedsInput, 1},
		{deadline - 1, trace.ReasonDeadline, 0},
	} {
		tr := &trace.Trace{Schema: trace.Schema, Events: []trace.Event{
			{Kind: trace.KindBegin, Action: "a", Deadline: deadline},
			{At: c.begin, Kind: trace.KindCall, Action: "a", Tool: "t", Call: 1, Deadline: deadline},
			{At: deadline, Kind: trace.KindAnswer, Action: "a", Tool: "t", Call: 1, Outcome: trace.Outcome{Class: trace.Timeout}, Error: "timeout"},
			{At: deadline, Kind: trace.KindEnd, Action: "a", Error: "over", Reason: c.said},
		}}
		assert.Len(t, invariants.Find(tr, invariants.Conforms(p)), c.finds, "begun at %v, said %v", c.begin, c.said)
	}
}
