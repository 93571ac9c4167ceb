package invariants_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chatty draws a conversation that goes wrong in every way: calls for what nobody
// asked, answers in any order, replies that are forgotten and results that are made up.
// Unlike [hostile] it comes far enough for the rules of a run to find something.
func chatty() *rapid.Generator[*trace.Trace] {
	return rapid.Custom(func(t *rapid.T) *trace.Trace {
		c := &chat{t: t, tr: &trace.Trace{Schema: trace.Schema, Start: time.Unix(0, 0).UTC()}}
		c.add(trace.Event{Kind: trace.KindBegin})
		for range rapid.IntRange(3, 16).Draw(t, "steps") {
			c.step()
		}
		if rapid.Bool().Draw(t, "ends") {
			c.add(trace.Event{Kind: trace.KindEnd, Error: c.one("", "", "boom"), Reason: trace.Reason(c.n(3)), Result: json.RawMessage(c.one(`""`, `"it is done"`, `"weather: service unavailable"`))})
		}
		return c.tr
	})
}

// A chat is such a trace in the making.
type chat struct {
	t     *rapid.T
	tr    *trace.Trace
	at    time.Duration
	calls int
	open  []trace.Event // calls that are not answered
	talk  []trace.Message
	asks  int
	last  trace.Reply
}

func (c *chat) n(most int) int { return rapid.IntRange(0, most-1).Draw(c.t, "n") }

func (c *chat) one(texts ...string) string { return texts[c.n(len(texts))] }

func (c *chat) add(e trace.Event) {
	e.At, e.Action = c.at, "a"
	c.tr.Events = append(c.tr.Events, e)
}

func (c *chat) step() {
	c.at += time.Duration(c.n(3)) * time.Second / 2
	switch c.n(9) {
	case 0, 1:
		c.call(trace.Event{Role: trace.RoleModel, Tool: "model", Layer: c.one("", "", "child"), Prompt: &trace.Prompt{Messages: append([]trace.Message(nil), c.talk...), Tools: []string{"weather", "bank"}}})
		c.answer(len(c.open) - 1)
	case 2, 3:
		e := trace.Event{Tool: c.one("weather", "weather", "bank", "none"), Args: json.RawMessage(c.one(`{"city":"Pune"}`, `{"city":"Pune"}`, `{"admin":"true","city":"Agra"}`, `"{\"ci"`)), Ask: c.n(c.asks + 2)}
		if c.n(4) == 0 {
			e.Role = trace.RoleAgent
		}
		c.call(e)
		if c.n(3) > 0 {
			c.answer(len(c.open) - 1)
		}
	case 4:
		c.call(trace.Event{Role: trace.RoleApproval, Tool: "owner", Args: json.RawMessage(`{"tool":"bank","arguments":{"city":"Pune"}}`), Ask: c.n(c.asks + 1)})
		c.answer(len(c.open) - 1)
	case 5:
		if len(c.open) > 0 {
			c.answer(c.n(len(c.open)))
		}
	case 6:
		c.add(trace.Event{Kind: trace.KindSay, Result: json.RawMessage(c.one(`"it is done"`, `"sunny"`, `"weather: service unavailable"`, `"Hello there, I look."`, `3`))})
	case 7:
		c.talk = append(c.talk, trace.Message{From: trace.FromTool, Results: []trace.ToolResult{{ID: c.one("c1", "c2", ""), Tool: c.one("", "weather"), Text: c.one("sunny", "down", ""), Failed: c.n(2) == 0}}})
	case 8:
		c.talk = append(c.talk, trace.Message{From: trace.FromModel, Text: c.last.Text, Calls: c.last.Calls})
	}
}

func (c *chat) call(e trace.Event) {
	c.calls++
	e.Kind, e.Call = trace.KindCall, c.calls
	c.add(e)
	c.open = append(c.open, e)
}

func (c *chat) answer(i int) {
	of := c.open[i]
	c.open = append(c.open[:i:i], c.open[i+1:]...)
	e := trace.Event{Kind: trace.KindAnswer, Call: of.Call, Tool: of.Tool, Role: of.Role}
	class := []trace.Class{trace.OK, trace.OK, trace.OK, trace.Transient, trace.Forbidden, trace.Invalid, trace.Declined}[c.n(7)]
	e.Outcome.Class = class
	switch {
	case of.Role == trace.RoleModel:
		said := *replies().Draw(c.t, "reply")
		e.Reply = &said
		if class == trace.OK {
			c.last, c.asks = said, c.asks+len(said.Calls)
		}
	case of.Role == trace.RoleApproval:
		e.Result = json.RawMessage(c.one(`{"approved":true}`, `{"approved":true,"expires":"1970-01-01T00:00:01Z"}`, `{}`, `7`))
	case class == trace.OK:
		e.Result = json.RawMessage(c.one(`"sunny"`, `"admin=true"`))
	}
	if class != trace.OK {
		e.Error = c.one("weather: service unavailable", "boom", "then admin=true or bank")
	}
	c.add(e)
}

func TestAConversationThatNobodyHeldIsJudgedWithoutAPanic(t *testing.T) {
	once := Policy{ID: "once/v1", MaxAttempts: 1}
	contracts := [][]Invariant{everyLoop().Invariants(Policy{ID: "twice/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Undone: []trace.Class{trace.Transient}}), Loop{}.Invariants(once)}
	rapid.Check(t, func(t *rapid.T) { soundlyBy(t, chatty().Draw(t, "trace"), contracts) })
}

// A prompt need not be that of a model: whoever writes a file can give one to any call.
func TestAPromptWithoutATurnIsJudgedWithoutAPanic(t *testing.T) {
	for _, role := range []trace.Role{trace.RoleAgent, trace.RoleApproval} {
		tr := &trace.Trace{Schema: trace.Schema, Events: []trace.Event{
			{Kind: trace.KindBegin, Action: "a"},
			{Kind: trace.KindCall, Action: "a", Call: 1, Tool: "weather"},
			{Kind: trace.KindAnswer, Action: "a", Call: 1, Tool: "weather", Outcome: trace.Outcome{Class: trace.Transient}, Error: CanaryOrder},
			{Kind: trace.KindCall, Action: "a", Call: 2, Tool: "other", Role: role, Prompt: &trace.Prompt{Messages: []trace.Message{{From: trace.FromUser, Text: CanaryOrder}}}},
		}}
		require.NotPanics(t, func() { Find(tr, Loop{}.Invariants(once)...) })
	}
}
