package invariants_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// conversing is one run of n turns, whose model sees the latest turn only: six events
// for each.
func conversing(n int) *trace.Trace {
	tr := &trace.Trace{Schema: trace.Schema, Start: time.Unix(0, 0).UTC()}
	calls := 0
	add := func(e trace.Event) {
		e.Action, e.At = "run", time.Duration(len(tr.Events))*time.Millisecond
		tr.Events = append(tr.Events, e)
	}
	call := func(e trace.Event) {
		calls++
		e.Kind, e.Call = trace.KindCall, calls
		add(e)
	}
	tools := []string{"weather", "bank"}
	prompt := &trace.Prompt{Tools: tools}
	add(trace.Event{Kind: trace.KindBegin})
	for i := range n {
		args := `{"city":"` + strconv.Itoa(i) + `"}`
		k := trace.ToolCall{ID: strconv.Itoa(i), Tool: "weather", Args: args}
		call(trace.Event{Role: trace.RoleModel, Tool: "model", Prompt: prompt})
		add(trace.Event{Kind: trace.KindAnswer, Call: calls, Tool: "model", Reply: &trace.Reply{Text: "I look.", Calls: []trace.ToolCall{k}}, Outcome: trace.Outcome{Class: trace.OK}})
		add(trace.Event{Kind: trace.KindSay, Result: json.RawMessage(`"I look."`)})
		call(trace.Event{Tool: "weather", Args: json.RawMessage(args), Ask: i + 1, CallID: k.ID})
		e := trace.Event{Kind: trace.KindAnswer, Call: calls, Tool: "weather", Outcome: trace.Outcome{Class: trace.OK}, Result: json.RawMessage(`"sunny"`)}
		failed := i%3 == 2
		if failed {
			e.Outcome, e.Result, e.Error = trace.Outcome{Class: trace.Transient}, nil, "weather: unavailable at "+strconv.Itoa(i)
		}
		add(e)
		prompt = &trace.Prompt{Tools: tools, Messages: []trace.Message{
			{From: trace.FromModel, Calls: []trace.ToolCall{k}},
			{From: trace.FromTool, Results: []trace.ToolResult{{ID: k.ID, Text: "sunny", Failed: failed}}},
		}}
	}
	add(trace.Event{Kind: trace.KindEnd, Result: json.RawMessage(`"It is sunny."`)})
	return tr
}

// Judging takes a time in proportion to the trace.
func BenchmarkRun(b *testing.B) {
	rules := Loop{
		Turns: 1 << 30, Attempts: 1 << 30, Intention: 3, Failing: 3, PerTool: 3, EscalateAfter: 3, Rejections: 3, Tokens: 1 << 30, Tools: []string{"weather", "bank"},
		Protected: []string{"amount"}, Approve: []string{"bank"}, Goal: "bank", Evidence: []string{"PAY-1"}, Compacts: true, Model: once,
	}.Invariants(once)
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n)+"-turns", func(b *testing.B) {
			tr := conversing(n)
			if found := Find(tr, rules...); len(found) > 0 {
				b.Fatal(found[0])
			}
			for b.Loop() {
				Find(tr, rules...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tr.Events)), "ns/event")
		})
	}
}
