package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// chat is OpenAI's chat completions (platform.openai.com/docs/api-reference/chat),
// and of the many services that copy them.
type chat struct{ openai }

func (chat) Match(req *http.Request) bool { return posts(req, "/chat/completions") }

// chatRequest is what is read of a request.
type chatRequest struct {
	Model         string
	Messages      []chatMessage
	Tools         []chatTool
	Functions     []chatFunction // the form before tools
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string
	Content    json.RawMessage
	Name       string
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string
	Function chatFunction
	Custom   struct{ Name, Input string }
}

type chatFunction struct{ Name, Arguments string }

type chatTool struct{ Function, Custom struct{ Name string } }

// speakers are the roles of OpenAI's messages.
var speakers = map[string]trace.Speaker{
	"system": trace.FromSystem, "developer": trace.FromSystem, "user": trace.FromUser,
	"assistant": trace.FromModel, "tool": trace.FromTool, "function": trace.FromTool,
}

func (chat) Decode(_ *http.Request, body []byte) (*Ask, error) {
	var r chatRequest
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if r.Messages == nil {
		return nil, reject("messages", "Missing required parameter: 'messages'.")
	}
	a := &Ask{Model: r.Model, Stream: r.Stream, Usage: r.StreamOptions.IncludeUsage}
	for _, t := range r.Tools {
		a.Prompt.Tools = append(a.Prompt.Tools, t.Function.Name+t.Custom.Name)
	}
	for _, f := range r.Functions {
		a.Prompt.Tools = append(a.Prompt.Tools, f.Name)
	}
	for i := range r.Messages {
		if err := r.Messages[i].read(a, i); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (m *chatMessage) read(a *Ask, i int) error {
	from, known := speakers[m.Role]
	if !known {
		return reject(fmt.Sprintf("messages[%d].role", i), "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
	}
	text, err := openaiText(m.Content, fmt.Sprintf("messages[%d].content", i))
	if err != nil {
		return err
	}
	if isNull(m.Content) && !(from == trace.FromModel && m.ToolCalls != nil) {
		a.flaw(fmt.Sprintf("messages.[%d].content", i), "Invalid value for 'content': expected a string, got null.")
	}
	if m.ToolCalls != nil && len(m.ToolCalls) == 0 {
		a.flaw(fmt.Sprintf("messages[%d].tool_calls", i), "Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)
	}
	said := trace.Message{From: from, Text: text}
	if from == trace.FromTool {
		said.Text, said.Results = "", []trace.ToolResult{{ID: m.ToolCallID, Tool: m.Name, Text: text}}
	}
	for _, c := range m.ToolCalls {
		said.Calls = append(said.Calls, trace.ToolCall{ID: c.ID, Tool: c.Function.Name + c.Custom.Name, Args: c.Function.Arguments + c.Custom.Input})
	}
	a.add(i, said)
	return nil
}

// finish is why a reply ends.
func (chat) finish(said *trace.Reply) string {
	switch {
	case said.Stop == trace.StopLength:
		return "length"
	case said.Stop == trace.StopFilter:
		return "content_filter"
	case len(said.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (f chat) Whole(a *Ask, said trace.Reply) ([]byte, error) {
	message := object{{"role", "assistant"}, {"content", said.Text}, {"refusal", nil}, {"annotations", []any{}}}
	if said.Text == "" && len(said.Calls) > 0 {
		message[1].value = nil
	}
	if len(said.Calls) > 0 {
		calls := make([]any, len(said.Calls))
		for i, c := range said.Calls {
			calls[i] = object{{"id", c.ID}, {"type", "function"}, {"function", object{{"name", c.Tool}, {"arguments", c.Args}}}}
		}
		message = append(message, field{"tool_calls", calls})
	}
	choice := object{{"index", 0}, {"message", message}, {"logprobs", nil}, {"finish_reason", f.finish(&said)}}
	return marshal(append(f.head(a, "chat.completion"), field{"choices", []any{choice}}, field{"usage", f.usage(a, &said)})), nil
}

// head is what an answer and each of its chunks begin with.
func (chat) head(a *Ask, kind string) object {
	return object{{"id", fmt.Sprintf("chatcmpl-%d", a.Number)}, {"object", kind}, {"created", a.At.Unix()}, {"model", a.Model}}
}

func (chat) usage(a *Ask, said *trace.Reply) object {
	in, out := shown(&a.Prompt), tokens(*said)
	return object{{"prompt_tokens", in}, {"completion_tokens", out}, {"total_tokens", in + out}}
}

// Stream writes the role, the text, each call with its arguments in fragments, the
// reason of the end, the usage where it is asked for, and [DONE].
func (f chat) Stream(a *Ask, said trace.Reply) (list [][]byte) {
	chunk := func(choices []any, usage any) {
		o := append(f.head(a, "chat.completion.chunk"), field{"choices", choices})
		if a.Usage {
			o = append(o, field{"usage", usage})
		}
		list = append(list, event("", marshal(o)))
	}
	delta := func(d object, finish any) {
		chunk([]any{object{{"index", 0}, {"delta", d}, {"logprobs", nil}, {"finish_reason", finish}}}, nil)
	}
	first := object{{"role", "assistant"}, {"content", ""}, {"refusal", nil}}
	if said.Text == "" && len(said.Calls) > 0 {
		first[1].value = nil
	}
	delta(first, nil)
	for _, t := range pieces(said.Text) {
		delta(object{{"content", t}}, nil)
	}
	for i, c := range said.Calls {
		delta(object{{"tool_calls", []any{object{
			{"index", i}, {"id", c.ID}, {"type", "function"}, {"function", object{{"name", c.Tool}, {"arguments", ""}}},
		}}}}, nil)
		for _, t := range pieces(c.Args) {
			delta(object{{"tool_calls", []any{object{{"index", i}, {"function", object{{"arguments", t}}}}}}}, nil)
		}
	}
	delta(object{}, f.finish(&said))
	if a.Usage {
		chunk([]any{}, f.usage(a, &said))
	}
	return append(list, event("", []byte("[DONE]")))
}

// chatAnswer is what is read of an answer, or of a chunk of one.
type chatAnswer struct {
	Choices []struct {
		Message, Delta *chatSaid
		FinishReason   string `json:"finish_reason"`
	}
}

type chatSaid struct {
	Content   string
	ToolCalls []struct {
		Index    int
		ID       string
		Function chatFunction
	} `json:"tool_calls"`
}

func (chat) Read(body []byte) (said trace.Reply) {
	if !isStream(body) {
		body = event("", body)
	}
	for _, data := range datas(body) {
		var r chatAnswer
		if json.Unmarshal(data, &r) != nil || len(r.Choices) == 0 {
			continue
		}
		c := &r.Choices[0]
		switch c.FinishReason {
		case "length":
			said.Stop = trace.StopLength
		case "content_filter":
			said.Stop = trace.StopFilter
		}
		if c.Message != nil {
			c.Message.into(&said, true)
		}
		if c.Delta != nil {
			c.Delta.into(&said, false)
		}
	}
	return said
}

// into adds a message, or a piece of one: the calls of a whole message have no index.
func (m *chatSaid) into(said *trace.Reply, whole bool) {
	said.Text += m.Content
	for n, c := range m.ToolCalls {
		i := c.Index
		if whole {
			i = n
		}
		if i < 0 || i > len(said.Calls) {
			continue
		}
		if i == len(said.Calls) {
			said.Calls = append(said.Calls, trace.ToolCall{})
		}
		call := &said.Calls[i]
		call.ID, call.Tool, call.Args = call.ID+c.ID, call.Tool+c.Function.Name, call.Args+c.Function.Arguments
	}
}

// posts reports whether the request posts to a path that ends so.
func posts(req *http.Request, path string) bool {
	return req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, path)
}
