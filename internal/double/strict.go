package double

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// A Complaint is what a model's API would say of a conversation that it refuses.
type Complaint struct {
	Message int    // index of the message, from 0
	Rule    string // what is wrong, with the rule
	Advice  string // what to do
}

// String is one line.
func (c Complaint) String() string { return fmt.Sprintf("messages[%d]: %s", c.Message, c.Rule) }

// Complaints lists the rules that a conversation breaks, in the order of its
// messages. They are those that the APIs of the large providers have in common, in
// the stricter reading where they differ:
//
//   - the first message behind those of the system is the user's (Anthropic
//     Messages, Gemini generateContent),
//   - a message holds something: text that is not all white space, calls or
//     results (Anthropic),
//   - calls are the model's, and every call has its result in the messages right
//     behind it (OpenAI Chat Completions and Responses, Anthropic),
//   - every result is of a call in the model's message before it, and there is one
//     for each call (the same),
//   - the last message is not the model's own (Anthropic from Claude 4.6 on,
//     Gemini).
//
// Where the model gives two calls one id, or none, there are as many results with
// it as calls. What one provider alone rejects is not looked at.
func Complaints(p trace.Prompt) []Complaint {
	var h history
	for i := range p.Messages {
		h.add(i, &p.Messages[i])
	}
	h.end(len(p.Messages))
	slices.SortStableFunc(h.list, func(a, b Complaint) int { return cmp.Compare(a.Message, b.Message) })
	return h.list
}

// A history is a conversation while it is read.
type history struct {
	list  []Complaint
	begun bool          // a message that is not the system's has come
	from  int           // index of the model's latest message with calls
	calls []*openCall   // what it asks for
	last  trace.Speaker // of the message before
}

// An openCall is a call whose result is waited for.
type openCall struct {
	trace.ToolCall
	answered bool
}

func (h *history) complain(message int, advice, rule string, args ...any) {
	h.list = append(h.list, Complaint{message, fmt.Sprintf(rule, args...), advice})
}

func (h *history) add(i int, m *trace.Message) {
	h.speaker(i, m)
	h.holds(i, m)
	if len(m.Results) == 0 {
		h.settle()
	}
	for n := range m.Results {
		h.result(i, &m.Results[n])
	}
	if m.From == trace.FromModel {
		h.settle()
		h.from = i
		for _, c := range m.Calls {
			h.calls = append(h.calls, &openCall{c, false})
		}
	}
	h.last = m.From
}

// speaker holds who speaks against the place of the message.
func (h *history) speaker(i int, m *trace.Message) {
	switch m.From {
	case trace.FromSystem:
		return
	case trace.FromUser, trace.FromModel, trace.FromTool:
	default:
		h.complain(i, "say system, user, model or tool", "it is from %q, whom no API knows", m.From)
	}
	if !h.begun && m.From != trace.FromUser {
		h.complain(i, "keep the user's request when the conversation is shortened",
			"the first message behind those of the system must be the user's, and this one is from the %s", m.From)
	}
	h.begun = true
}

// holds looks at what is in a message.
func (h *history) holds(i int, m *trace.Message) {
	blank := strings.TrimSpace(m.Text) == ""
	switch {
	case blank && (m.Text != "" || len(m.Calls)+len(m.Results) == 0):
		h.complain(i, "leave a message out that has nothing to say", "a message must not be empty")
	case m.From == trace.FromTool && len(m.Results) == 0:
		h.complain(i, "put what the tool says into a result, with the id of the call", "a message of the tool must hold a result")
	}
	if len(m.Calls) > 0 && m.From != trace.FromModel {
		h.complain(i, "put them into the message of the model that asked", "calls must be in a message of the model, and this one is from the %s", m.From)
	}
	if len(m.Results) > 0 && m.From != trace.FromTool && m.From != trace.FromUser {
		h.complain(i, "put them into a message of the tool behind the model's", "results must be in a message of the tool, and this one is from the %s", m.From)
	}
}

// result finds the call that a result is of.
func (h *history) result(i int, r *trace.ToolResult) {
	known := false
	for _, c := range h.calls {
		if !c.meets(r) {
			continue
		}
		if !c.answered {
			c.answered = true
			return
		}
		known = true
	}
	if known {
		h.complain(i, "hand every call's result on once", "there must be one result for each call, and %s has one already", nameOf(r.ID, r.Tool))
		return
	}
	h.complain(i, "keep the model's reply in the conversation, and its results right behind it",
		"a result must be of a call in the model's message before it, and there is none of %s", nameOf(r.ID, r.Tool))
}

// meets reports whether the result is of the call: by the id, where one has one.
func (c *openCall) meets(r *trace.ToolResult) bool {
	if c.ID != "" || r.ID != "" {
		return c.ID == r.ID
	}
	return c.Tool == r.Tool
}

// settle looks for calls whose result has not come.
func (h *history) settle() {
	for _, c := range h.calls {
		if !c.answered {
			h.complain(h.from, "hand on a result for each call, of those that failed too, before anything else",
				"every call must have its result in the messages right behind it, and %s has none", nameOf(c.ID, c.Tool))
		}
	}
	h.calls = nil
}

// end looks at the conversation as a whole, of n messages.
func (h *history) end(n int) {
	switch {
	case !h.begun:
		h.complain(n, "show the model what it is to do", "there must be a message of the user")
	case h.last == trace.FromModel && len(h.calls) == 0:
		h.complain(n-1, "add what is new, or end the run", "the last message must not be the model's own")
	}
	h.settle()
}

// nameOf is how a complaint calls a call.
func nameOf(id, tool string) string {
	switch {
	case id == "" && tool == "":
		return "a call without id"
	case id == "":
		return fmt.Sprintf("the call of %s without id", tool)
	case tool == "":
		return fmt.Sprintf("%q", id)
	}
	return fmt.Sprintf("%q of %s", id, tool)
}
