package trace_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// crash is a process that dies twice, in flight and in the wait.
func crash() (*trace.Trace, []int) {
	c := newScript()
	c.begin("pay", 0)
	n := c.call(trace.Event{Action: "pay", Tool: "ledger", Key: "k-1"})
	c.at += 50 * ms
	c.event(trace.Event{Kind: trace.KindCrash, Action: "pay"})
	c.event(trace.Event{Kind: trace.KindEffect, Action: "pay", Tool: "ledger", Call: n, Key: "k-1"})
	c.at += s
	c.event(trace.Event{Kind: trace.KindRestart, Action: "pay"})
	n = c.call(trace.Event{Action: "pay", Tool: "ledger", Key: "k-1"})
	c.answer("pay", "ledger", n, unavailable, "busy")
	c.event(trace.Event{Kind: trace.KindCrash, Action: "pay", Count: 3, Error: "before write 3 is durable"})
	return &c.Trace, []int{2}
}

func TestCrashLosesWhatIsUnderWay(t *testing.T) {
	tr, _ := crash()
	a := &tr.Actions()[0]
	require.Equal(t, []trace.Restart{
		{Crash: 50 * ms, CrashEvent: 2, Up: 50*ms + s, UpEvent: 4},
		{Crash: 50*ms + s, CrashEvent: 7, Write: 3, UpEvent: -1},
	}, a.Restarts)
	require.Len(t, a.Series, 1)
	lost, seen := a.Series[0].Attempts[0], a.Series[0].Attempts[1]
	require.True(t, lost.Lost)
	require.False(t, lost.Seen)
	require.Equal(t, 50*ms, lost.End)
	require.True(t, seen.Seen)
	require.False(t, seen.Lost)
	require.Len(t, a.Effects, 1, "the tool works on")
}

// again is an action that an operator has done again a day later.
func again() (*trace.Trace, []int) {
	c := newScript()
	c.begin("pay", 0)
	n := c.call(trace.Event{Action: "pay", Tool: "ledger", Key: "k-1"})
	c.answer("pay", "ledger", n, unavailable, "busy")
	c.event(trace.Event{Kind: trace.KindEnd, Action: "pay", Error: "busy"})
	c.at += 24 * 3600 * s
	c.event(trace.Event{Kind: trace.KindBegin, Action: "pay#2", Count: 1})
	n = c.call(trace.Event{Action: "pay#2", Tool: "ledger", Key: "k-1"})
	c.answer("pay#2", "ledger", n, trace.Outcome{Class: trace.OK}, "")
	return &c.Trace, nil
}

func TestAnActionThatIsDoneAgainKeepsItsName(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	require.Empty(t, trace.ActionName(t.Context()))
	ctx, op := r.Begin(t.Context(), "pay")
	require.Equal(t, "pay", trace.ActionName(ctx))
	op.Crash(0, "")
	require.Equal(t, "pay", trace.ActionName(op.Restart(t.Context())))
	op.End(trace.Ending{})
	ctx, second := r.BeginAgain(t.Context(), op)
	second.End(trace.Ending{})
	require.Equal(t, "pay#2", second.Name())
	require.Equal(t, "pay", trace.ActionName(ctx))
	ctx, third := r.BeginAgain(t.Context(), second)
	require.Equal(t, "pay#3", third.Name())
	require.Equal(t, "pay", trace.ActionName(ctx))
	actions := r.Seal().Actions()
	require.Equal(t, []int{0, 1, 2}, []int{actions[0].Again, actions[1].Again, actions[2].Again})
}

func TestCallsOfACrashedProcessAreAnsweredToNobody(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "pay")
	p := r.Call(ctx, trace.Call{Tool: "ledger"})
	op.Crash(2, "after write 2 is durable")
	p.Interrupt(trace.Outcome{Class: trace.Timeout})
	p.Effect()
	p.Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	again := r.Call(op.Restart(t.Context()), trace.Call{Tool: "ledger"})
	require.Equal(t, 2, again.Attempt())
	again.Answer(trace.Outcome{Class: trace.Transient}, nil, errors.New("busy"))
	var kinds []trace.Kind
	tr := r.Seal()
	for _, e := range tr.Events {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []trace.Kind{
		trace.KindBegin, trace.KindCall, trace.KindCrash, trace.KindEffect, trace.KindRestart, trace.KindCall, trace.KindAnswer,
	}, kinds)
	require.Equal(t, 2, tr.Events[2].Count)
}
