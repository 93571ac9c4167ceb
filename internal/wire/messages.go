package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// messages is Anthropic's messages API (docs.claude.com/en/api/messages and
// messages-streaming).
type messages struct{}

func (messages) Match(req *http.Request) bool { return posts(req, "/v1/messages") }

type messagesRequest struct {
	Model     string
	MaxTokens *int `json:"max_tokens"`
	System    json.RawMessage
	Messages  []struct {
		Role    string
		Content json.RawMessage
	}
	Tools  []struct{ Name string }
	Stream bool
}

// messagesBlock is one block of a content.
type messagesBlock struct {
	Type, Text string
	ID, Name   string
	Input      json.RawMessage
	ToolUseID  string `json:"tool_use_id"`
	Content    json.RawMessage
	IsError    bool `json:"is_error"`
}

func (messages) Decode(_ *http.Request, body []byte) (*Ask, error) {
	var r messagesRequest
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if r.Messages == nil {
		return nil, reject("messages", "Field required")
	}
	a := &Ask{Model: r.Model, Stream: r.Stream}
	if r.MaxTokens == nil {
		a.flaw("max_tokens", "Field required")
	}
	for _, t := range r.Tools {
		a.Prompt.Tools = append(a.Prompt.Tools, t.Name)
	}
	if !isNull(r.System) {
		blocks, err := messagesBlocks(r.System, "system")
		if err != nil {
			return nil, err
		}
		a.add(-1, trace.Message{From: trace.FromSystem, Text: messagesText(blocks)})
	}
	for i, m := range r.Messages {
		blocks, err := messagesBlocks(m.Content, fmt.Sprintf("messages.%d.content", i))
		if err != nil {
			return nil, err
		}
		if err := a.blocks(i, m.Role, blocks, i == len(r.Messages)-1); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// messagesBlocks is a content, which is a string or a list of blocks.
func messagesBlocks(content json.RawMessage, field string) ([]messagesBlock, error) {
	if isNull(content) {
		return nil, reject(field, "Field required")
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []messagesBlock{{Type: "text", Text: text}}, nil
	}
	var blocks []messagesBlock
	if json.Unmarshal(content, &blocks) != nil {
		return nil, reject(field, "Input should be a valid string or a list of blocks")
	}
	return blocks, nil
}

// messagesText joins the text of blocks. One that is no text leaves its type: [image].
func messagesText(blocks []messagesBlock) string {
	var b strings.Builder
	for _, k := range blocks {
		switch k.Type {
		case "text":
			b.WriteString(k.Text)
		case "thinking", "redacted_thinking", "tool_use", "tool_result":
		default:
			b.WriteString("[" + k.Type + "]")
		}
	}
	return b.String()
}

// blocks adds a message. Results and text of one user message are two of the
// prompt's: what a tool says is not what the user says.
func (a *Ask) blocks(i int, role string, blocks []messagesBlock, last bool) error {
	from, known := map[string]trace.Speaker{"user": trace.FromUser, "assistant": trace.FromModel, "system": trace.FromSystem}[role]
	if !known {
		return reject(fmt.Sprintf("messages.%d.role", i), "Input should be 'user', 'assistant' or 'system'")
	}
	said := trace.Message{From: from, Text: messagesText(blocks)}
	results := trace.Message{From: trace.FromTool}
	for n := range blocks {
		k := &blocks[n]
		at := fmt.Sprintf("messages.%d.content.%d", i, n)
		switch k.Type {
		case "text":
			if k.Text == "" {
				a.flaw("messages", "text content blocks must be non-empty")
			}
		case "tool_use":
			if !isObject(string(k.Input)) {
				a.flaw(at+".tool_use.input", "Input should be a valid dictionary")
			}
			said.Calls = append(said.Calls, trace.ToolCall{ID: k.ID, Tool: k.Name, Args: compact(k.Input)})
		case "tool_result":
			inner, err := messagesResult(k.Content, at+".tool_result.content")
			if err != nil {
				return err
			}
			results.Results = append(results.Results, trace.ToolResult{ID: k.ToolUseID, Text: messagesText(inner), Failed: k.IsError})
		}
	}
	if len(blocks) == 0 && !(last && from == trace.FromModel) {
		a.flaw(fmt.Sprintf("messages.%d", i), "all messages must have non-empty content except for the optional final assistant message")
	}
	if len(results.Results) > 0 {
		a.add(i, results)
	}
	if len(results.Results) == 0 || said.Text != "" || len(said.Calls) > 0 {
		a.add(i, said)
	}
	return nil
}

// messagesResult is the content of a result, which may be left out.
func messagesResult(content json.RawMessage, field string) ([]messagesBlock, error) {
	if isNull(content) {
		return nil, nil
	}
	return messagesBlocks(content, field)
}

// stop is why a reply ends.
func (messages) stop(said *trace.Reply) string {
	switch {
	case said.Stop == trace.StopLength:
		return "max_tokens"
	case said.Stop == trace.StopFilter:
		return "refusal"
	case len(said.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// message is the object of an answer.
func (messages) message(a *Ask, content []any, stop any, in, out int) object {
	return object{
		{"id", fmt.Sprintf("msg_%d", a.Number)}, {"type", "message"}, {"role", "assistant"}, {"model", a.Model},
		{"content", content}, {"stop_reason", stop}, {"stop_sequence", nil},
		{"usage", object{{"input_tokens", in}, {"output_tokens", out}}},
	}
}

// Whole fails where arguments are no object: the service writes them as one, and
// only the fragments of a stream come as the model wrote them. Those of a call that is
// cut off at the greatest length are empty.
func (f messages) Whole(a *Ask, said trace.Reply) ([]byte, error) {
	content := []any{}
	if said.Text != "" {
		content = append(content, object{{"type", "text"}, {"text", said.Text}})
	}
	for i, c := range said.Calls {
		args := orEmpty(c.Args)
		switch {
		case isObject(args):
		case said.Stop == trace.StopLength:
			args = "{}"
		default:
			return nil, reject(fmt.Sprintf("Reply.Calls[%d].Args", i), "%q is no JSON object, and a whole answer of Anthropic's has no other: let the program stream, or give an object", c.Args)
		}
		content = append(content, object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Tool}, {"input", json.RawMessage(args)}})
	}
	return marshal(f.message(a, content, f.stop(&said), shown(&a.Prompt), tokens(said))), nil
}

// Stream writes message_start, the blocks one after another, each with its start,
// its fragments and its stop, a ping as the service does, and message_delta with
// message_stop.
func (f messages) Stream(a *Ask, said trace.Reply) (list [][]byte) {
	send := func(kind string, fields ...field) {
		list = append(list, event(kind, marshal(append(object{{"type", kind}}, fields...))))
	}
	send("message_start", field{"message", f.message(a, []any{}, nil, shown(&a.Prompt), 1)})
	index := 0
	block := func(start object, deltas []object) {
		at := field{"index", index}
		send("content_block_start", at, field{"content_block", start})
		if index == 0 {
			send("ping")
		}
		for _, d := range deltas {
			send("content_block_delta", at, field{"delta", d})
		}
		send("content_block_stop", at)
		index++
	}
	if said.Text != "" {
		var deltas []object
		for _, t := range pieces(said.Text) {
			deltas = append(deltas, object{{"type", "text_delta"}, {"text", t}})
		}
		block(object{{"type", "text"}, {"text", ""}}, deltas)
	}
	for _, c := range said.Calls {
		deltas := []object{{{"type", "input_json_delta"}, {"partial_json", ""}}}
		for _, t := range pieces(c.Args) {
			deltas = append(deltas, object{{"type", "input_json_delta"}, {"partial_json", t}})
		}
		block(object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Tool}, {"input", object{}}}, deltas)
	}
	send("message_delta", field{"delta", object{{"stop_reason", f.stop(&said)}, {"stop_sequence", nil}}},
		field{"usage", object{{"output_tokens", tokens(said)}}})
	send("message_stop")
	return list
}

// messagesAnswer is what is read of an answer, or of an event of one.
type messagesAnswer struct {
	Type         string
	Index        int
	Content      []messagesBlock
	StopReason   string        `json:"stop_reason"`
	ContentBlock messagesBlock `json:"content_block"`
	Delta        struct {
		Text        string
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	}
}

func (messages) Read(body []byte) (said trace.Reply) {
	if !isStream(body) {
		var r messagesAnswer
		if json.Unmarshal(body, &r) == nil {
			for i := range r.Content {
				r.Content[i].into(&said, compact(r.Content[i].Input))
			}
			said.Stop = messagesStop(r.StopReason)
		}
		return said
	}
	calls := map[int]int{} // index of the block → call
	for _, data := range datas(body) {
		var e messagesAnswer
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case "content_block_start":
			if e.ContentBlock.Type == "tool_use" {
				calls[e.Index] = len(said.Calls)
			}
			e.ContentBlock.into(&said, "")
		case "content_block_delta":
			said.Text += e.Delta.Text
			if i, ok := calls[e.Index]; ok {
				said.Calls[i].Args += e.Delta.PartialJSON
			}
		case "message_delta":
			said.Stop = messagesStop(e.Delta.StopReason)
		}
	}
	return said
}

func messagesStop(reason string) trace.Stop {
	switch reason {
	case "max_tokens":
		return trace.StopLength
	case "refusal":
		return trace.StopFilter
	}
	return trace.StopEnd
}

// into adds a block of the answer.
func (k *messagesBlock) into(said *trace.Reply, args string) {
	switch k.Type {
	case "text":
		said.Text += k.Text
	case "tool_use":
		said.Calls = append(said.Calls, trace.ToolCall{ID: k.ID, Tool: k.Name, Args: args})
	}
}
