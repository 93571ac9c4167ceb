package wire

import (
	"encoding/json"
	"fmt"

	"github.com/rehearse-go/rehearse/trace"
)

// responsesStream numbers the events as it writes them.
type responsesStream struct {
	responses
	a    *Ask
	list [][]byte
}

func (s *responsesStream) send(kind string, fields ...field) {
	o := append(object{{"type", kind}, {"sequence_number", len(s.list)}}, fields...)
	s.list = append(s.list, event(kind, marshal(o)))
}

// Stream writes response.created and in_progress, the items one after another with
// their fragments, and response.completed or response.incomplete, which is the end.
func (f responses) Stream(a *Ask, said trace.Reply) [][]byte {
	s := &responsesStream{responses: f, a: a}
	begun := f.response(a, "in_progress", nil, []any{}, nil)
	s.send("response.created", field{"response", begun})
	s.send("response.in_progress", field{"response", begun})
	status, incomplete := f.state(&said)
	index := 0
	if said.Text != "" {
		s.text(said.Text, status)
		index++
	}
	for i, c := range said.Calls {
		s.called(index+i, i, c, status)
	}
	s.send("response."+status, field{"response", f.response(a, status, incomplete, f.output(a, &said), f.usage(a, &said))})
	return s.list
}

func (s *responsesStream) text(text, status string) {
	id := fmt.Sprintf("msg_%d", s.a.Number)
	at := []field{{"item_id", id}, {"output_index", 0}, {"content_index", 0}}
	with := func(more ...field) []field { return append(at[:len(at):len(at)], more...) }
	s.send("response.output_item.added", field{"output_index", 0}, field{"item", s.message(s.a, "in_progress", []any{})})
	s.send("response.content_part.added", with(field{"part", s.responses.text("")})...)
	for _, t := range pieces(text) {
		s.send("response.output_text.delta", with(field{"delta", t}, field{"logprobs", []any{}})...)
	}
	s.send("response.output_text.done", with(field{"text", text}, field{"logprobs", []any{}})...)
	s.send("response.content_part.done", with(field{"part", s.responses.text(text)})...)
	s.send("response.output_item.done", field{"output_index", 0}, field{"item", s.message(s.a, status, []any{s.responses.text(text)})})
}

func (s *responsesStream) called(index, i int, c trace.ToolCall, status string) {
	at := []field{{"item_id", s.callItem(s.a, i)}, {"output_index", index}}
	with := func(more field) []field { return append(at[:len(at):len(at)], more) }
	s.send("response.output_item.added", field{"output_index", index}, field{"item", s.call(s.a, i, "in_progress", c, "")})
	for _, t := range pieces(c.Args) {
		s.send("response.function_call_arguments.delta", with(field{"delta", t})...)
	}
	s.send("response.function_call_arguments.done", with(field{"arguments", c.Args})...)
	s.send("response.output_item.done", field{"output_index", index}, field{"item", s.call(s.a, i, status, c, c.Args)})
}

// Broken is the event error and, behind it, response.failed.
func (responses) Broken(class trace.Class, say string) ([]byte, bool) {
	e, ok := openaiErrors[class]
	if !ok || !breaks(class) {
		return nil, false
	}
	code, message := e.code, orElse(say, e.message)
	if code == nil {
		code = e.kind
	}
	failed := object{{"object", "response"}, {"status", "failed"}, {"error", object{{"code", code}, {"message", message}}}, {"output", []any{}}}
	return append(
		event("error", marshal(object{{"type", "error"}, {"code", code}, {"message", message}, {"param", nil}})),
		event("response.failed", marshal(object{{"type", "response.failed"}, {"response", failed}}))...), true
}

// responsesAnswer is what is read of an answer, or of an event of one.
type responsesAnswer struct {
	Type        string
	Delta       string
	OutputIndex int `json:"output_index"`
	Item        responsesItem
	Response    *responsesAnswer

	Output            []responsesItem
	IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
}

func (responses) Read(body []byte) (said trace.Reply) {
	if !isStream(body) {
		var r responsesAnswer
		if json.Unmarshal(body, &r) == nil {
			for i := range r.Output {
				r.Output[i].into(&said)
			}
			said.Stop = r.stop()
		}
		return said
	}
	calls := map[int]int{} // output index → call
	for _, data := range datas(body) {
		var e responsesAnswer
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case "response.output_item.added":
			if e.Item.Type == "function_call" {
				calls[e.OutputIndex] = len(said.Calls)
				e.Item.into(&said)
			}
		case "response.output_text.delta":
			said.Text += e.Delta
		case "response.function_call_arguments.delta":
			if i, ok := calls[e.OutputIndex]; ok {
				said.Calls[i].Args += e.Delta
			}
		case "response.incomplete":
			if e.Response != nil {
				said.Stop = e.Response.stop()
			}
		}
	}
	return said
}

func (r *responsesAnswer) stop() trace.Stop {
	switch r.IncompleteDetails.Reason {
	case "max_output_tokens":
		return trace.StopLength
	case "content_filter":
		return trace.StopFilter
	}
	return trace.StopEnd
}

// into adds an item of the output.
func (it *responsesItem) into(said *trace.Reply) {
	switch it.Type {
	case "message":
		text, _ := openaiText(it.Content, "") // what cannot be read says nothing
		said.Text += text
	case "function_call":
		said.Calls = append(said.Calls, trace.ToolCall{ID: it.CallID, Tool: it.Name, Args: it.Arguments})
	}
}
