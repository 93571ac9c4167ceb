package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func act(events ...trace.Event) *trace.Trace { return &trace.Trace{Events: events} }

func call(n int, at time.Duration, deadline time.Duration) trace.Event {
	return trace.Event{At: at, Kind: trace.KindCall, Call: n, Tool: "weather", Deadline: deadline}
}

func answer(n int, at time.Duration, o trace.Outcome) trace.Event {
	return trace.Event{At: at, Kind: trace.KindAnswer, Call: n, Tool: "weather", Outcome: o}
}

func TestAttemptAtTheDeadlineThatEndedTheOneBeforeIsLate(t *testing.T) {
	tr := act(trace.Event{Kind: trace.KindBegin, Deadline: time.Second},
		call(1, 0, time.Second), answer(1, time.Second, trace.Outcome{Class: trace.Timeout}),
		call(2, time.Second, time.Second))
	require.Len(t, invariants.Find(tr, invariants.WithinDeadline()), 1)
}

func TestAnswerAfterTheEndNeedNotBeKeptByTheError(t *testing.T) {
	timeout := trace.Outcome{Class: trace.Timeout}
	tr := act(trace.Event{Kind: trace.KindBegin}, call(1, 0, 0), answer(1, 1, timeout), call(2, 2, 0),
		trace.Event{At: 3, Kind: trace.KindEnd, Error: "deadline exceeded", Cause: 1}, answer(2, 3, timeout))
	require.Empty(t, invariants.Find(tr, invariants.HonestEnding()))
}

func TestActionThatWaitsForItsTurnHasNoFirstDelay(t *testing.T) {
	of := func(name string, e trace.Event) trace.Event { e.Action = name; return e }
	tr := act(of("a", trace.Event{Kind: trace.KindBegin}), of("a", call(1, 0, 0)),
		of("b", trace.Event{At: 1, Kind: trace.KindBegin}), of("a", answer(1, 5, trace.Outcome{Class: trace.OK})),
		of("a", trace.Event{At: 5, Kind: trace.KindEnd}), of("b", call(2, 5, 0)))
	require.Empty(t, invariants.Find(tr, invariants.NoFirstDelay()))
}

func TestPanicIsNotAlsoALateEnd(t *testing.T) {
	tr := act(trace.Event{Kind: trace.KindBegin}, call(1, 0, 0), trace.Event{At: 1, Kind: trace.KindCancel}, trace.Event{At: 1, Kind: trace.KindPanic})
	require.Empty(t, invariants.Find(tr, invariants.EndsAtCancel()))
}

func TestUnknownOutcomeOfAnUnsafeActionIsNoMereRefusal(t *testing.T) {
	p := invariants.Policy{ID: "pay", MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}}
	tr := act(trace.Event{Kind: trace.KindBegin}, call(1, 0, 0), answer(1, 1, trace.Outcome{Class: trace.Reset}), call(2, 1, 0))
	found := invariants.Find(tr, p.Invariants()...)
	require.NotEmpty(t, found)
	require.Equal(t, "conforms", found[0].Invariant)
	require.Contains(t, found[0].Text, "not safe to repeat")
}

func TestHintInACoarseFormMayBeReadASecondLonger(t *testing.T) {
	p := invariants.Policy{ID: "weather", MaxAttempts: 2, Retry: []trace.Class{trace.Throttled}, Repeatable: true}
	s := p.Start(0, 0)
	d := s.Next(trace.Outcome{Class: trace.Throttled, Hint: 5 * time.Second, Slack: time.Second}, 0)
	require.Equal(t, []time.Duration{5 * time.Second, 6 * time.Second}, []time.Duration{d.Lo, d.Hi})
}

func TestWaitForTheDeadlineIsALastDelayWhereThePolicyStopsAtOnce(t *testing.T) {
	tr := act(trace.Event{Kind: trace.KindBegin, Deadline: time.Second}, call(1, 0, time.Second),
		answer(1, 0, trace.Outcome{Class: trace.Transient}), trace.Event{At: time.Second, Kind: trace.KindEnd, Error: "late"})
	for late, want := range map[invariants.Late]bool{invariants.LateStop: true, invariants.LateWait: false} {
		p := invariants.Policy{ID: "p", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true, Backoff: invariants.Backoff{Base: 2 * time.Second}, Late: late}
		found := invariants.Find(tr, p.Invariants()...)
		require.Equal(t, want, len(found) > 0 && found[0].Invariant == "no-last-delay", late)
	}
}

func TestGivingUpInTheMiddleOfALegalWaitIsNoLastDelay(t *testing.T) {
	tr := act(trace.Event{Kind: trace.KindBegin}, call(1, 0, 0), answer(1, 0, trace.Outcome{Class: trace.Transient}),
		trace.Event{At: time.Second, Kind: trace.KindEnd, Error: "late"})
	p := invariants.Policy{ID: "p", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true, Backoff: invariants.Backoff{Base: 2 * time.Second}}
	found := invariants.Find(tr, p.Invariants()...)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "given up after attempt 1")
}
