package trace_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// twoCallers is a trace of two actions that call at the same instants, with keys of
// their own.
func twoCallers() *trace.Trace {
	return &trace.Trace{Events: []trace.Event{
		{At: 0, Kind: trace.KindBegin, Action: "a"},
		{At: 0, Kind: trace.KindBegin, Action: "b"},
		{At: ms, Kind: trace.KindCall, Action: "a", Tool: "bank", Call: 1, Key: "6f1a77b0-aaaa"},
		{At: ms, Kind: trace.KindAnswer, Action: "a", Tool: "bank", Call: 1, Outcome: trace.Outcome{Class: trace.Transient}, Error: "busy"},
		{At: ms, Kind: trace.KindCall, Action: "b", Tool: "bank", Call: 2, Key: "0c44de19-bbbb"},
		{At: ms, Kind: trace.KindAnswer, Action: "b", Tool: "bank", Call: 2, Outcome: trace.Outcome{Class: trace.OK}, Result: json.RawMessage(`{"key":"0c44de19-bbbb"}`)},
		{At: 2 * ms, Kind: trace.KindCall, Action: "a", Tool: "bank", Call: 3, Key: "6f1a77b0-aaaa", Deadline: time.Second},
	}}
}

// changed is that trace with a change.
func changed(change func(*trace.Trace)) *trace.Trace {
	t := twoCallers()
	change(t)
	return t
}

func TestTracesThatTellTheSameDoNotDiffer(t *testing.T) {
	for name, b := range map[string]*trace.Trace{
		"the same": twoCallers(),
		"another start and policy": changed(func(t *trace.Trace) {
			t.Start, t.Policy = time.Unix(1, 0), json.RawMessage(`{}`)
		}),
		"the other action first at one instant": changed(func(t *trace.Trace) {
			e := t.Events
			t.Events = []trace.Event{e[1], e[0], e[4], e[5], e[2], e[3], e[6]}
			for i, call := range []int{0, 0, 1, 1, 2, 2, 3} {
				t.Events[i].Call = call
			}
		}),
		"other keys": changed(func(t *trace.Trace) {
			for _, i := range []int{2, 6} {
				t.Events[i].Key = "11111111-cccc"
			}
			t.Events[4].Key, t.Events[5].Result = "22222222-dddd", json.RawMessage(`{"key":"22222222-dddd"}`)
		}),
	} {
		require.Nil(t, trace.Diff(twoCallers(), b), name)
		require.Nil(t, trace.Diff(b, twoCallers()), name)
	}
	require.Nil(t, trace.Diff(&trace.Trace{}, &trace.Trace{}))
	require.Nil(t, trace.Diff(nil, nil))
	require.Equal(t, "event 1 differs: nothing in one run, 0s begin no deadline in another",
		trace.Diff(nil, &trace.Trace{Events: []trace.Event{{Kind: trace.KindBegin}}}).String())
}

// A field that is not looked at would make traces alike that are not.
func TestEachFieldOfAnEventIsCompared(t *testing.T) {
	fields := reflect.TypeFor[trace.Event]()
	for i := range fields.NumField() {
		b := twoCallers()
		b.Events[3] = trace.Event{At: ms, Kind: trace.KindAnswer, Action: "a", Tool: "bank", Call: 1}
		a := &trace.Trace{Events: slices.Clone(b.Events)}
		field := reflect.ValueOf(&b.Events[3]).Elem().Field(i)
		switch field.Interface().(type) {
		case trace.Outcome:
			field.Set(reflect.ValueOf(trace.Outcome{Items: "ok"}))
		case *trace.Prompt:
			field.Set(reflect.ValueOf(&trace.Prompt{Tokens: 1}))
		case *trace.Reply:
			field.Set(reflect.ValueOf(&trace.Reply{Text: "hello"}))
		case json.RawMessage:
			field.SetBytes([]byte("{}"))
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString("another")
			case reflect.Bool:
				field.SetBool(true)
			case reflect.Uint8:
				field.SetUint(field.Uint() + 1)
			default:
				field.SetInt(field.Int() + 1)
			}
		}
		require.NotNil(t, trace.Diff(a, b), fields.Field(i).Name)
	}
}

// What an action does at one instant of two tools, or for two calls that a model asked
// for, is done by goroutines of its own.
func TestOrderOfGoroutinesIsNoDifference(t *testing.T) {
	atOnce := func(first, second trace.Event) *trace.Trace {
		first.Call, second.Call = 1, 2
		return &trace.Trace{Events: []trace.Event{{Kind: trace.KindBegin}, first, second}}
	}
	call := func(tool string, ask int) trace.Event { return trace.Event{Kind: trace.KindCall, Tool: tool, Ask: ask} }
	require.Nil(t, trace.Diff(atOnce(call("bank", 0), call("log", 0)), atOnce(call("log", 0), call("bank", 0))))
	require.Nil(t, trace.Diff(atOnce(call("bank", 1), call("bank", 2)), atOnce(call("bank", 2), call("bank", 1))))
	other := call("bank", 0)
	other.Args = json.RawMessage(`{"n":2}`)
	require.NotNil(t, trace.Diff(atOnce(call("bank", 0), other), atOnce(other, call("bank", 0))), "one tool, and nothing tells the calls apart")
}

func TestDifferenceNamesTheFirstEvent(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*trace.Trace)
		want   string
	}{
		{"later", func(t *trace.Trace) { t.Events[6].At += 3 * ms },
			"event 7 differs in At: 2ms a bank 2 call same key · 1ms later · 998ms left · never answered in one run, 5ms a bank 2 call same key · 4ms later · 995ms left · never answered in another"},
		{"another class", func(t *trace.Trace) { t.Events[3].Outcome.Class = trace.Throttled },
			`event 4 differs in Outcome: 1ms a bank 1 transient "busy" in one run, 1ms a bank 1 throttled "busy" in another`},
		{"a key too many", func(t *trace.Trace) { t.Events[6].Key = "33333333-eeee" },
			"event 7 differs in Key: 2ms a bank 2 call same key · 1ms later · 998ms left · never answered in one run, 2ms a bank 2 call ANOTHER KEY 33333333… · 1ms later · 998ms left · never answered in another"},
		{"shorter", func(t *trace.Trace) { t.Events = t.Events[:6] },
			"event 7 differs: 2ms a bank 2 call same key · 1ms later · 998ms left · never answered in one run, nothing in another"},
		{"another order in one action", func(t *trace.Trace) { t.Events[2], t.Events[3] = t.Events[3], t.Events[2] },
			`event 3 differs in Kind: 1ms a bank 1 call key 6f1a77b0… in one run, 1ms a bank 1 transient "busy" in another`},
	} {
		d := trace.Diff(twoCallers(), changed(x.change))
		require.NotNil(t, d, x.name)
		require.Equal(t, x.want, d.String(), x.name)
		back := trace.Diff(changed(x.change), twoCallers())
		require.Equal(t, [3]any{d.N, d.First, d.Second}, [3]any{back.N, back.Second, back.First}, x.name)
	}
}

// A dialogue is compared whole, apart from how the ids of its calls read.
func TestPromptsAndRepliesAreCompared(t *testing.T) {
	dialogue := func(id, text string) *trace.Trace {
		calls := []trace.ToolCall{{ID: id, Tool: "bank"}}
		return &trace.Trace{Events: []trace.Event{
			{Kind: trace.KindCall, Role: trace.RoleModel, Tool: "model", Call: 1, Prompt: &trace.Prompt{Messages: []trace.Message{{From: trace.FromUser, Text: text}}}},
			{At: ms, Kind: trace.KindAnswer, Role: trace.RoleModel, Tool: "model", Call: 1, Reply: &trace.Reply{Calls: calls}},
			{At: ms, Kind: trace.KindCall, Tool: "bank", Call: 2, CallID: id},
		}}
	}
	require.Nil(t, trace.Diff(dialogue("call-0001", "pay"), dialogue("call-0001", "pay")))
	d := trace.Diff(dialogue("call-0001", "pay"), dialogue("call-0001", "pay twice"))
	require.Equal(t, [2]any{1, "Prompt"}, [2]any{d.N, d.Field})
	require.Nil(t, trace.Diff(dialogue("call-0001", "pay"), dialogue("call-7777", "pay")))
}

func TestUntimedComparisonLeavesTheTimesOut(t *testing.T) {
	untimed := trace.Comparison{Untimed: true}
	jittered := changed(func(t *trace.Trace) {
		e := t.Events
		t.Events = slices.Concat(e[:2], e[4:6], e[2:4], e[6:])
		for i := range t.Events[2:] {
			t.Events[2+i].At += time.Duration(i) * 7 * ms
		}
		t.Events[6].Deadline += 3 * ms
	})
	require.Nil(t, untimed.Diff(twoCallers(), jittered))
	require.NotNil(t, trace.Diff(twoCallers(), jittered))
	fewer := changed(func(t *trace.Trace) { t.Events = t.Events[:6] })
	d := untimed.Diff(twoCallers(), fewer)
	require.Equal(t, 4, d.N, "of the events of a, then those of b: %v", d)
}
