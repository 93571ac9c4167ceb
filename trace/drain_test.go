package trace_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// drain is a process that is told to stop twice: it cuts its attempt off and
// hands the action back, and the next one hands back what is under way; a third
// is killed.
func drain() (*trace.Trace, []int) {
	c := newScript()
	c.begin("pay", 0)
	for range 2 {
		n := c.call(trace.Event{Action: "pay", Tool: "ledger", Key: "k-1"})
		c.at += 50 * ms
		c.event(trace.Event{Kind: trace.KindDrain, Action: "pay", Wait: 30 * s})
		if n == 1 {
			c.event(trace.Event{Kind: trace.KindInterrupt, Action: "pay", Tool: "ledger", Call: n, Key: "k-1", Outcome: trace.Outcome{Class: trace.Cancelled}, Error: "context canceled"})
		}
		c.at += ms
		c.event(trace.Event{Kind: trace.KindHandback, Action: "pay", Error: "worker: draining"})
		c.at += s
		c.event(trace.Event{Kind: trace.KindRestart, Action: "pay"})
	}
	c.call(trace.Event{Action: "pay", Tool: "ledger", Key: "k-1"})
	c.event(trace.Event{Kind: trace.KindDrain, Action: "pay", Wait: s})
	c.at += s
	c.event(trace.Event{Kind: trace.KindCrash, Action: "pay", Error: "at the end of its grace"})
	return &c.Trace, []int{2, 4}
}

func TestDrainCutsAttemptsOff(t *testing.T) {
	tr, _ := drain()
	a := &tr.Actions()[0]
	require.Equal(t, []trace.Drain{
		{At: 50 * ms, Event: 2, Grace: 30 * s},
		{At: 101*ms + s, Event: 7, Grace: 30 * s},
		{At: 102*ms + 2*s, Event: 11, Grace: s},
	}, a.Drains)
	require.Equal(t, []bool{true, true, false}, []bool{a.Restarts[0].HandedBack, a.Restarts[1].HandedBack, a.Restarts[2].HandedBack})
	attempts := a.Series[0].Attempts
	require.Len(t, attempts, 3)
	require.Equal(t, []bool{true, true, false}, []bool{attempts[0].Drained, attempts[1].Drained, attempts[2].Drained})
	require.Equal(t, []bool{false, true, true}, []bool{attempts[0].Lost, attempts[1].Lost, attempts[2].Lost}, "the third was lost by a crash")
}

// What was cut off before the signal, by its own timeout, by the caller, or in a
// process that was not told to stop, was not cut off by the drain.
func TestWhatADrainDoesNotCutOff(t *testing.T) {
	cut := func(class trace.Class) *script {
		c := newScript()
		c.begin("pay", 0)
		n := c.call(trace.Event{Action: "pay", Tool: "ledger"})
		c.event(trace.Event{Kind: trace.KindDrain, Action: "pay", Wait: s})
		if class == 0 {
			c.event(trace.Event{Kind: trace.KindCancel, Action: "pay"})
			class = trace.Cancelled
		}
		c.event(trace.Event{Kind: trace.KindInterrupt, Action: "pay", Tool: "ledger", Call: n, Outcome: trace.Outcome{Class: class}})
		return c
	}
	next := cut(trace.Timeout)
	next.event(trace.Event{Kind: trace.KindHandback, Action: "pay"})
	next.event(trace.Event{Kind: trace.KindRestart, Action: "pay"})
	n := next.call(trace.Event{Action: "pay", Tool: "ledger"})
	next.event(trace.Event{Kind: trace.KindInterrupt, Action: "pay", Tool: "ledger", Call: n, Outcome: trace.Outcome{Class: trace.Cancelled}})
	for _, c := range []*script{cut(trace.Timeout), cut(0), next} {
		for _, at := range c.Trace.Actions()[0].Attempts {
			require.False(t, at.Drained, "%s", c.Trace.Timeline())
		}
	}
	require.True(t, cut(trace.Cancelled).Trace.Actions()[0].Attempts[0].Drained)
}

func TestARecorderTellsOfADrain(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "pay")
	p := r.Call(ctx, trace.Call{Tool: "ledger"})
	op.Drain(s)
	op.HandBack(errors.New("worker: draining"))
	p.Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	again := r.Call(op.Restart(t.Context()), trace.Call{Tool: "ledger"})
	require.Equal(t, 2, again.Attempt())
	op.Drain(-s)
	op.HandBack(nil)
	tr := r.Seal()
	var kinds []trace.Kind
	for _, e := range tr.Events {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []trace.Kind{
		trace.KindBegin, trace.KindCall, trace.KindDrain, trace.KindHandback, trace.KindRestart, trace.KindCall, trace.KindDrain, trace.KindHandback,
	}, kinds)
	require.Equal(t, s, tr.Events[2].Wait)
	require.Equal(t, "worker: draining", tr.Events[3].Error)
	require.Zero(t, tr.Events[6].Wait)
	require.Empty(t, tr.Events[7].Error)
}
