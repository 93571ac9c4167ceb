package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// forked is an action that asks two shards side by side: one fails for now at once,
// the other answers after 10 ms, and the action ends with the first one's error.
func forked(first, other trace.Class, cancel, end time.Duration, said trace.Reason) *trace.Trace {
	answer := func(at time.Duration, tool string, call int, c trace.Class) trace.Event {
		e := trace.Event{At: at, Kind: trace.KindAnswer, Action: "a", Tool: tool, Call: call, Outcome: trace.Outcome{Class: c}}
		if c != trace.OK {
			e.Error = "down"
		}
		return e
	}
	events := []trace.Event{
		{Kind: trace.KindBegin, Action: "a"},
		{Kind: trace.KindCall, Action: "a", Tool: "x", Call: 1},
		{Kind: trace.KindCall, Action: "a", Tool: "y", Call: 2},
		answer(0, "x", 1, first),
		answer(10*time.Millisecond, "y", 2, other),
	}
	if cancel > 0 {
		events = append(events, trace.Event{At: cancel, Kind: trace.KindCancel, Action: "a"})
	}
	events = append(events, trace.Event{At: end, Kind: trace.KindEnd, Action: "a", Error: "search: down", Cause: 1, Reason: said})
	return &trace.Trace{Schema: trace.Schema, Events: events}
}

func TestAnActionEndsWithTheWaitOfABranchBesideTheLastAnswer(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient}, Backoff: invariants.Backoff{Base: 50 * time.Millisecond}, Repeatable: true}
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		first       trace.Class
		cancel, end time.Duration
		said        trace.Reason
		finds       int
	}{
		{"cancelled while the other branch waits", trace.Transient, 30 * ms, 30 * ms, 0, 0},
		{"and says so", trace.Transient, 30 * ms, 30 * ms, trace.ReasonCancelled, 0},
		{"it heeds the cancel late", trace.Transient, 30 * ms, 31 * ms, 0, 1},
		{"no branch waits", trace.Forbidden, 30 * ms, 30 * ms, 0, 1},
		{"no branch waits, and nobody cancels", trace.Forbidden, 0, 30 * ms, 0, 1},
	} {
		tr := forked(c.first, trace.OK, c.cancel, c.end, c.said)
		assert.Len(t, invariants.Find(tr, invariants.Conforms(p)), c.finds, c.name)
	}
}

func TestTheTerminalIsOfTheBranchWhoseErrorTheActionKeeps(t *testing.T) {
	p := invariants.Policy{ID: "p/v1", MaxAttempts: 1, Retry: []trace.Class{trace.Transient}, Repeatable: true}
	for _, c := range []struct {
		first, other trace.Class
		want         trace.Reason
	}{
		{trace.Forbidden, trace.OK, trace.ReasonRefused},
		{trace.Transient, trace.OK, trace.ReasonExhausted},
		{trace.Transient, trace.Forbidden, trace.ReasonRefused}, // both failed: the later one
	} {
		actions := forked(c.first, c.other, 0, 10*time.Millisecond, 0).Actions()
		assert.Equal(t, c.want, p.Terminal(&actions[0]), "%v beside %v", c.first, c.other)
	}
}
