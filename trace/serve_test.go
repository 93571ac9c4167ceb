package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestServedCallsCarryKeyArgumentsAndRefusal(t *testing.T) {
	r := &trace.Recorder{Clear: true, Key: "key"}
	ctx, op := r.Serve(context.Background(), trace.Call{Tool: "refund", Args: json.RawMessage(`{"key":"k-1","order":7}`)})
	r.Effect(ctx, "refund")
	op.End(trace.Ending{Result: json.RawMessage(`1`)})
	_, op = r.Serve(context.Background(), trace.Call{Tool: "refund", Key: "k-1", Args: json.RawMessage(`{"order":8}`)})
	op.End(trace.Ending{Err: errors.New("reused"), Code: "clash"})
	tr := r.Trace()
	actions := tr.Actions()
	require.Len(t, actions, 2)
	require.Equal(t, []string{"k-1", "k-1"}, []string{actions[0].Key, actions[1].Key})
	require.JSONEq(t, `{"order":7}`, string(actions[0].Args))
	require.Equal(t, "clash", actions[1].Code)
	require.Equal(t, 0, actions[0].BeginAt)
	require.Len(t, actions[0].Effects, 1)
	require.Equal(t, "refund", tr.Events[actions[0].Effects[0]].Tool)

	var file strings.Builder
	_, err := tr.WriteTo(&file)
	require.NoError(t, err)
	back, err := trace.Read(strings.NewReader(file.String()))
	require.NoError(t, err)
	require.Equal(t, actions, back.Actions())
}

// A recorder that keeps nothing in clear keeps nothing of a served call either.
func TestServedCallsAreHidden(t *testing.T) {
	var r trace.Recorder
	_, op := r.Serve(context.Background(), trace.Call{Tool: "refund", Key: "key-of-7", Args: json.RawMessage(`{"order":"order-7"}`)})
	op.End(trace.Ending{})
	text := r.Trace().Timeline()
	require.NotContains(t, text, "key-of-7")
	require.NotContains(t, text, "order-7")
}

// Keys that differ in their ends only are told apart.
func TestKeysOfServedCallsAreToldApart(t *testing.T) {
	r := trace.Recorder{Clear: true}
	for _, key := range []string{"refund-of-order-7001", "refund-of-order-7002", "refund-of-order-7001"} {
		_, op := r.Serve(context.Background(), trace.Call{Tool: "refund", Key: key})
		op.End(trace.Ending{Err: errors.New("no"), Code: "clash"})
	}
	text := r.Trace().Timeline()
	require.Equal(t, 2, strings.Count(text, "key refund-o…"), text)
	require.Equal(t, 1, strings.Count(text, "key …der-7002"), text)
	require.Equal(t, 3, strings.Count(text, "clash"), text)
}

func TestEffectOfNobodyIsAmbiguous(t *testing.T) {
	r := trace.Recorder{Clear: true}
	r.Serve(context.Background(), trace.Call{Tool: "refund"})
	r.Serve(context.Background(), trace.Call{Tool: "refund"})
	r.Effect(context.Background(), "refund")
	events := r.Trace().Events
	require.True(t, events[len(events)-1].Ambiguous)
}

// A call below without the action's context is of the first call with its
// key, or of the only one that is open; equal arguments say nothing.
func TestWorkWithoutAContextIsOfItsKey(t *testing.T) {
	r := trace.Recorder{Clear: true}
	below := trace.Call{Tool: "bank", Args: json.RawMessage(`{"order":7}`)}
	serve := func(key string) *trace.Op {
		_, op := r.Serve(context.Background(), trace.Call{Tool: "refund", Key: key})
		return op
	}
	call := func(key string) int {
		c := below
		c.Key = key
		return r.Call(context.Background(), c).Action()
	}
	first := serve("k-1")
	require.Equal(t, 1, call("k-1"))
	first.End(trace.Ending{})
	second := serve("k-2")
	require.Equal(t, 1, call("k-1"), "recovered while another is open")
	require.Equal(t, 2, call(""))
	second.End(trace.Ending{})
	require.Equal(t, 1, call("k-1"))
	require.Zero(t, call("k-3"), "equal arguments alone")
	third := serve("k-1")
	require.Equal(t, 1, call("k-1"), "the key belongs to the first call")
	third.End(trace.Ending{})
}
