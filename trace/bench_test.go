package trace_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
)

// A still clock costs next to nothing, as time does in a bubble: about a third
// of what an event costs outside of one goes into reading the machine's clock.
type still struct {
	clock.Clock
	now time.Time
}

func (c *still) Now() time.Time { return c.now }

// recordCalls records n calls without arguments, begin and seal included.
func recordCalls(b *testing.B, n int, used *trace.Trace, c clock.Clock) *trace.Trace {
	r := &trace.Recorder{Clear: true, Clock: c}
	r.Recycle(used)
	ctx, _ := r.Begin(b.Context(), "a")
	for range n - 1 {
		r.Call(ctx, trace.Call{Tool: "weather"})
	}
	return r.Seal()
}

func perEvent(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

func BenchmarkEventInRecycledStorage(b *testing.B) {
	const n = 64
	tr := recordCalls(b, n, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		tr = recordCalls(b, n, tr, nil)
	}
	perEvent(b, n)
}

func BenchmarkEventOnAStillClock(b *testing.B) {
	const n = 64
	c := &still{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	tr := recordCalls(b, n, nil, c)
	b.ReportAllocs()
	for b.Loop() {
		tr = recordCalls(b, n, tr, c)
	}
	perEvent(b, n)
}

func BenchmarkEventInFreshStorage(b *testing.B) {
	const n = 64
	b.ReportAllocs()
	for b.Loop() {
		recordCalls(b, n, nil, nil)
	}
	perEvent(b, n)
}

func BenchmarkEventWithSmallArguments(b *testing.B) {
	const n = 64
	args := json.RawMessage(`{"city":"Pune","units":"metric"}`)
	var tr *trace.Trace
	b.ReportAllocs()
	for b.Loop() {
		r := &trace.Recorder{Clear: true}
		r.Recycle(tr)
		ctx, _ := r.Begin(b.Context(), "a")
		for range n - 1 {
			r.Call(ctx, trace.Call{Tool: "weather", Args: args})
		}
		tr = r.Seal()
	}
	perEvent(b, n)
}

// longTrace has n events: attempts that fail and are tried again after a wait,
// dealt out to actions of 20 events each, or to one.
func longTrace(n int, one bool) []trace.Event {
	events := make([]trace.Event, 0, n)
	name, call := "", 0
	for i := range n {
		e := trace.Event{At: time.Duration(i) * time.Millisecond, Tool: "weather"}
		place := i % 20
		if one && i > 0 && place == 0 {
			place = 3
		}
		switch {
		case place == 0:
			name = "action " + string(rune('a'+i/20%26)) + time.Duration(i).String()
			e.Kind = trace.KindBegin
		case place%3 == 1:
			call++
			e.Kind, e.Call, e.Args = trace.KindCall, call, json.RawMessage(`"Pune"`)
		case place%3 == 2:
			e.Kind, e.Call, e.Outcome.Class = trace.KindAnswer, call, trace.Transient
		default:
			e.Kind, e.Wait = trace.KindWait, time.Millisecond
		}
		e.Action = name
		events = append(events, e)
	}
	return events
}

func benchmarkActions(b *testing.B, n int, one bool) {
	events := longTrace(n, one)
	b.ReportAllocs()
	for b.Loop() {
		tr := trace.Trace{Events: events}
		tr.Actions()
	}
	perEvent(b, n)
}

func BenchmarkActionsOf20Events(b *testing.B)                 { benchmarkActions(b, 20, true) }
func BenchmarkActionsOf1000Events(b *testing.B)               { benchmarkActions(b, 1000, true) }
func BenchmarkActionsOfMillionEventsInOneAction(b *testing.B) { benchmarkActions(b, 1_000_000, true) }
func BenchmarkActionsOfMillionEventsInManyActions(b *testing.B) {
	benchmarkActions(b, 1_000_000, false)
}

func BenchmarkWriteAndRead1000Events(b *testing.B) {
	const n = 1000
	tr := &trace.Trace{Events: longTrace(n, true)}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := writeRead(tr); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, n)
}

func BenchmarkTimelineOf20Events(b *testing.B) {
	tr := &trace.Trace{Events: longTrace(20, true)}
	b.ReportAllocs()
	for b.Loop() {
		tr.Timeline(3)
	}
}
