package wire

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/trace"
)

// responses is OpenAI's responses (platform.openai.com/docs/api-reference/responses).
// The double keeps no conversation: what is to be seen has to be in the input.
type responses struct{ openai }

func (responses) Match(req *http.Request) bool { return posts(req, "/responses") }

type responsesRequest struct {
	Model              string
	Instructions       string
	Input              json.RawMessage
	PreviousResponseID string `json:"previous_response_id"`
	Conversation       json.RawMessage
	Tools              []struct{ Type, Name string }
	Stream             bool
}

// responsesItem is one item of the input. A message need not give its type.
type responsesItem struct {
	Type, Role, ID  string
	Content         json.RawMessage
	CallID          string `json:"call_id"`
	Name, Arguments string
	Input           json.RawMessage // of a custom tool's call: a string
	Output          json.RawMessage
}

func (responses) Decode(_ *http.Request, body []byte) (*Ask, error) {
	var r responsesRequest
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if r.PreviousResponseID != "" || !isNull(r.Conversation) {
		return nil, reject("previous_response_id", "this double keeps no conversation: send all of it in input")
	}
	a := &Ask{Model: r.Model, Stream: r.Stream}
	for _, t := range r.Tools {
		a.Prompt.Tools = append(a.Prompt.Tools, orElse(t.Name, t.Type))
	}
	if r.Instructions != "" {
		a.add(-1, trace.Message{From: trace.FromSystem, Text: r.Instructions})
	}
	var text string
	if json.Unmarshal(r.Input, &text) == nil && !isNull(r.Input) {
		a.add(0, trace.Message{From: trace.FromUser, Text: text})
		return a, nil
	}
	var items []responsesItem
	if isNull(r.Input) {
		return nil, reject("input", "Missing required parameter: 'input'.")
	}
	if json.Unmarshal(r.Input, &items) != nil {
		return nil, reject("input", "Invalid type for 'input': expected one of a string or an array of input items.")
	}
	for i := range items {
		if err := items[i].read(a, i); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (it *responsesItem) read(a *Ask, i int) error {
	switch it.Type {
	case "", "message":
		from, known := speakers[it.Role]
		if !known || from == trace.FromTool {
			return reject(fmt.Sprintf("input[%d].role", i), "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
		}
		text, err := openaiText(it.Content, fmt.Sprintf("input[%d].content", i))
		if err != nil {
			return err
		}
		a.add(i, trace.Message{From: from, Text: text})
	case "function_call", "custom_tool_call":
		var input string
		_ = json.Unmarshal(it.Input, &input) // empty: a function's call has none
		a.calls(i, trace.ToolCall{ID: it.CallID, Tool: it.Name, Args: it.Arguments + input})
	case "function_call_output", "custom_tool_call_output":
		text, err := openaiText(it.Output, fmt.Sprintf("input[%d].output", i))
		if err != nil {
			return err
		}
		a.add(i, trace.Message{From: trace.FromTool, Results: []trace.ToolResult{{ID: it.CallID, Text: text}}})
	}
	return nil // reasoning, references and calls of the service's own tools show the model nothing new
}

// calls adds a call to what the model said just before it, which is one reply.
func (a *Ask) calls(at int, c trace.ToolCall) {
	if n := len(a.Prompt.Messages); n > 0 && a.Prompt.Messages[n-1].From == trace.FromModel {
		last := &a.Prompt.Messages[n-1]
		last.Calls = append(last.Calls, c)
		return
	}
	a.add(at, trace.Message{From: trace.FromModel, Calls: []trace.ToolCall{c}})
}

// Strict holds the items to the pairs that the service demands, wherever in the
// input they are. The words are those of its answers, as in continuedev/continue#10092
// and bytedance/trae-agent#245.
func (responses) Strict(a *Ask) *Rejection {
	if len(a.Prompt.Messages) == 0 {
		return reject("input", "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	asked, answered := map[string]int{}, map[string]int{}
	for i := range a.Prompt.Messages {
		for _, c := range a.Prompt.Messages[i].Calls {
			asked[c.ID]++
		}
		for _, r := range a.Prompt.Messages[i].Results {
			if answered[r.ID]++; answered[r.ID] > asked[r.ID] {
				return reject("input", "No tool call found for function call output with call_id %s.", r.ID)
			}
		}
	}
	for i := range a.Prompt.Messages {
		for _, c := range a.Prompt.Messages[i].Calls {
			if answered[c.ID] < asked[c.ID] {
				return reject("input", "No tool output found for function call %s.", c.ID)
			}
		}
	}
	return nil
}

// state is the status of a response that is done, and why it is not whole.
func (responses) state(said *trace.Reply) (status string, incomplete any) {
	switch said.Stop {
	case trace.StopLength:
		return "incomplete", object{{"reason", "max_output_tokens"}}
	case trace.StopFilter:
		return "incomplete", object{{"reason", "content_filter"}}
	}
	return "completed", nil
}

// response is the object of an answer at some moment of it.
func (responses) response(a *Ask, status string, incomplete any, output []any, usage any) object {
	return object{
		{"id", fmt.Sprintf("resp_%d", a.Number)}, {"object", "response"}, {"created_at", a.At.Unix()}, {"status", status},
		{"error", nil}, {"incomplete_details", incomplete}, {"model", a.Model}, {"output", output},
		{"parallel_tool_calls", true}, {"tool_choice", "auto"}, {"tools", []any{}}, {"usage", usage},
	}
}

func (responses) usage(a *Ask, said *trace.Reply) object {
	in, out := shown(&a.Prompt), tokens(*said)
	return object{
		{"input_tokens", in}, {"input_tokens_details", object{{"cached_tokens", 0}}},
		{"output_tokens", out}, {"output_tokens_details", object{{"reasoning_tokens", 0}}}, {"total_tokens", in + out},
	}
}

// output are the items of a reply: the text, and each call.
func (f responses) output(a *Ask, said *trace.Reply) []any {
	status, _ := f.state(said)
	items := []any{}
	if said.Text != "" {
		items = append(items, f.message(a, status, []any{f.text(said.Text)}))
	}
	for i, c := range said.Calls {
		items = append(items, f.call(a, i, status, c, c.Args))
	}
	return items
}

func (responses) text(text string) object {
	return object{{"type", "output_text"}, {"annotations", []any{}}, {"logprobs", []any{}}, {"text", text}}
}

func (f responses) message(a *Ask, status string, content []any) object {
	return object{{"id", fmt.Sprintf("msg_%d", a.Number)}, {"type", "message"}, {"status", status}, {"content", content}, {"role", "assistant"}}
}

// callItem is the id of an item, which is another than that of the call.
func (responses) callItem(a *Ask, i int) string { return fmt.Sprintf("fc_%d_%d", a.Number, i+1) }

func (f responses) call(a *Ask, i int, status string, c trace.ToolCall, args string) object {
	return object{
		{"id", f.callItem(a, i)}, {"type", "function_call"}, {"status", status},
		{"arguments", args}, {"call_id", c.ID}, {"name", c.Tool},
	}
}

func (f responses) Whole(a *Ask, said trace.Reply) ([]byte, error) {
	status, incomplete := f.state(&said)
	return marshal(f.response(a, status, incomplete, f.output(a, &said), f.usage(a, &said))), nil
}
