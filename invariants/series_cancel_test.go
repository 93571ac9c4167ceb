package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// A program that sleeps towards its deadline learns of the cancel first.
func TestCancelEndsTheWaitForTheDeadline(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient}, Repeatable: true,
		Backoff: invariants.Backoff{Base: time.Second}, Late: invariants.LateWait}
	for _, c := range []struct {
		cancel time.Duration
		want   trace.Reason
		said   trace.Reason
		end    time.Duration
		finds  int
	}{
		{300, trace.ReasonCancelled, trace.ReasonCancelled, 300, 0},
		{300, trace.ReasonCancelled, trace.ReasonDeadline, 0, 0}, // it may also stop at once
		{300, trace.ReasonCancelled, trace.ReasonExhausted, 300, 1},
		{500, trace.ReasonDeadline, trace.ReasonCancelled, 500, 0}, // at one instant: either
		{700, trace.ReasonDeadline, trace.ReasonDeadline, 500, 0},
	} {
		at := func(ms time.Duration) time.Duration { return ms * time.Millisecond }
		s := p.Start(0, at(500))
		s.Cancel(at(c.cancel))
		s.Began(0)
		d := s.Next(trace.Outcome{Class: trace.Transient}, 0)
		assert.Equal(t, invariants.Stop, d.Do, "cancel at %v", c.cancel)
		assert.Equal(t, c.want, d.Reason, "cancel at %v", c.cancel)

		events := []trace.Event{
			{Kind: trace.KindBegin, Action: "a", Deadline: at(500)},
			{Kind: trace.KindCall, Action: "a", Tool: "t", Call: 1, Deadline: at(500)},
			{Kind: trace.KindAnswer, Action: "a", Tool: "t", Call: 1, Outcome: trace.Outcome{Class: trace.Transient}, Error: "busy"},
		}
		if c.cancel <= c.end || c.end == 300 {
			events = append(events, trace.Event{At: at(c.cancel), Kind: trace.KindCancel, Action: "a"})
		}
		end := trace.Event{At: at(c.end), Kind: trace.KindEnd, Action: "a", Error: "over", Reason: c.said}
		if c.end < c.cancel {
			events = append(events, end, trace.Event{At: at(c.cancel), Kind: trace.KindCancel, Action: "a"})
		} else {
			events = append(events, end)
		}
		found := invariants.Find(&trace.Trace{Schema: trace.Schema, Events: events}, invariants.Conforms(p))
		assert.Len(t, found, c.finds, "cancel at %v, said %v: %v", c.cancel, c.said, found)
	}
}
