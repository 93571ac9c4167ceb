package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// gemini is Google's generateContent and streamGenerateContent
// (ai.google.dev/api/generate-content), of the Gemini API and of Vertex AI.
type gemini struct{}

const (
	geminiWhole  = ":generateContent"
	geminiStream = ":streamGenerateContent"
)

func (gemini) Match(req *http.Request) bool {
	return posts(req, geminiWhole) || posts(req, geminiStream)
}

type geminiRequest struct {
	Contents          []geminiContent
	SystemInstruction *geminiContent `json:"systemInstruction"`
	SystemSnake       *geminiContent `json:"system_instruction"` // the JSON of protocol buffers takes both
	Tools             []struct {
		FunctionDeclarations []struct{ Name string } `json:"functionDeclarations"`
		FunctionsSnake       []struct{ Name string } `json:"function_declarations"`
	}
}

type geminiContent struct {
	Role  string
	Parts []map[string]json.RawMessage
}

type geminiCall struct {
	ID, Name string
	Args     json.RawMessage
	Response json.RawMessage
}

func (gemini) Decode(req *http.Request, body []byte) (*Ask, error) {
	var r geminiRequest
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	a := &Ask{Stream: posts(req, geminiStream), Model: geminiModel(req.URL.Path)}
	if a.Stream && req.URL.Query().Get("alt") != "sse" {
		return nil, reject("alt", "this double streams server-sent events only: ask for alt=sse")
	}
	for _, t := range r.Tools {
		for _, f := range append(t.FunctionDeclarations, t.FunctionsSnake...) {
			a.Prompt.Tools = append(a.Prompt.Tools, f.Name)
		}
	}
	for _, system := range []*geminiContent{r.SystemInstruction, r.SystemSnake} {
		if system == nil {
			continue
		}
		system.Role = "system"
		if err := system.read(a, -1); err != nil {
			return nil, err
		}
	}
	for i := range r.Contents {
		if err := r.Contents[i].read(a, i); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// geminiModel is the name of the model in the path.
func geminiModel(path string) string {
	_, name, _ := strings.Cut(path, "/models/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// read adds a content. Results and text of one content are two messages of the
// prompt: what a tool says is not what the user says.
func (c *geminiContent) read(a *Ask, i int) error {
	field := fmt.Sprintf("GenerateContentRequest.contents[%d]", i)
	from, known := map[string]trace.Speaker{"system": trace.FromSystem, "": trace.FromUser, "user": trace.FromUser, "model": trace.FromModel, "function": trace.FromUser}[c.Role]
	if !known {
		return reject("", "Please use a valid role: user, model.")
	}
	if len(c.Parts) == 0 {
		a.flaw("", "* %s.parts: contents.parts must not be empty.\n", field)
	}
	said, results := trace.Message{From: from}, trace.Message{From: trace.FromTool}
	for n, p := range c.Parts {
		at := fmt.Sprintf("%s.parts[%d]", field, n)
		if err := readPart(p, a, at, &said, &results); err != nil {
			return err
		}
	}
	if len(results.Results) > 0 {
		a.add(i, results)
	}
	if len(results.Results) == 0 || said.Text != "" || len(said.Calls) > 0 {
		a.add(i, said)
	}
	return nil
}

// readPart adds a part: what it is, its field says.
func readPart(p map[string]json.RawMessage, a *Ask, at string, said, results *trace.Message) error {
	get := func(name, snake string) json.RawMessage {
		if raw, ok := p[name]; ok {
			return raw
		}
		return p[snake]
	}
	call, result := get("functionCall", "function_call"), get("functionResponse", "function_response")
	switch {
	case !isNull(call):
		var c geminiCall
		if err := decodeIn(call, &c, at+".function_call"); err != nil {
			return err
		}
		said.Calls = append(said.Calls, trace.ToolCall{ID: c.ID, Tool: c.Name, Args: orEmpty(compact(c.Args))})
	case !isNull(result):
		var c geminiCall
		if err := decodeIn(result, &c, at+".function_response"); err != nil {
			return err
		}
		if c.Name == "" {
			a.flaw("", "* %s.function_response.name: Name cannot be empty.\n", at)
		}
		results.Results = append(results.Results, c.result())
	case p["text"] != nil:
		var text string
		if err := decodeIn(p["text"], &text, at+".text"); err != nil {
			return err
		}
		if string(p["thought"]) != "true" {
			said.Text += text
		}
	case len(p) == 0:
		a.flaw("", "* %s.data: required oneof field 'data' must have one initialized field\n", at)
	default:
		said.Text += "[part]"
	}
	return nil
}

func decodeIn(raw json.RawMessage, v any, at string) error {
	if json.Unmarshal(raw, v) != nil {
		return reject("", "Invalid JSON payload received. Invalid value at '%s'.", at)
	}
	return nil
}

// result is what the model is shown: the output or the error by itself where the
// response has nothing else.
func (c *geminiCall) result() trace.ToolResult {
	r := trace.ToolResult{ID: c.ID, Tool: c.Name, Text: compact(c.Response)}
	var o map[string]json.RawMessage
	_ = json.Unmarshal(c.Response, &o) // no object: it is shown as it stands
	failure, failed := o["error"]
	r.Failed = failed && !isNull(failure)
	if len(o) != 1 {
		return r
	}
	for _, name := range []string{"error", "output", "result"} {
		var text string
		if raw, ok := o[name]; ok && json.Unmarshal(raw, &text) == nil {
			r.Text = text
		}
	}
	return r
}

// finish is why a reply ends.
func (gemini) finish(said *trace.Reply) string {
	switch said.Stop {
	case trace.StopLength:
		return "MAX_TOKENS"
	case trace.StopFilter:
		return "SAFETY"
	}
	return "STOP"
}

// malformed is the first call whose arguments are no object, which the service has
// no way to write; -1: there is none.
func (gemini) malformed(said *trace.Reply) int {
	for i, c := range said.Calls {
		if !isObject(orEmpty(c.Args)) {
			return i
		}
	}
	return -1
}

// answer is the object of an answer, or of a chunk of one.
func (f gemini) answer(a *Ask, said *trace.Reply, parts []any, finish, message string) object {
	content := object{{"parts", parts}, {"role", "model"}}
	if len(parts) == 0 {
		content = content[1:]
	}
	candidate := object{{"content", content}}
	if finish != "" {
		candidate = append(candidate, field{"finishReason", finish})
	}
	if message != "" {
		candidate = append(candidate, field{"finishMessage", message})
	}
	in, out := shown(&a.Prompt), tokens(*said)
	return object{
		{"candidates", []any{append(candidate, field{"index", 0})}},
		{"usageMetadata", object{{"promptTokenCount", in}, {"candidatesTokenCount", out}, {"totalTokenCount", in + out}}},
		{"modelVersion", a.Model}, {"responseId", fmt.Sprintf("resp%d", a.Number)},
	}
}

func (gemini) text(text string) object { return object{{"text", text}} }

// call is a part; an id is there where the model gives one.
func (gemini) call(c trace.ToolCall) object {
	o := object{}
	if c.ID != "" {
		o = append(o, field{"id", c.ID})
	}
	return object{{"functionCall", append(o, field{"name", c.Tool}, field{"args", json.RawMessage(orEmpty(c.Args))})}}
}

// broken is the answer to a reply with arguments that are no object: the text and no
// call, and MALFORMED_FUNCTION_CALL or, where the reply is cut off, MAX_TOKENS.
func (f gemini) broken(said *trace.Reply) (finish, message string, ok bool) {
	i := f.malformed(said)
	switch {
	case i < 0:
		return "", "", false
	case said.Stop == trace.StopLength:
		return "MAX_TOKENS", "", true
	}
	return "MALFORMED_FUNCTION_CALL", fmt.Sprintf("Malformed function call: %s(%s)", said.Calls[i].Tool, said.Calls[i].Args), true
}

func (f gemini) Whole(a *Ask, said trace.Reply) ([]byte, error) {
	parts := []any{}
	if said.Text != "" {
		parts = append(parts, f.text(said.Text))
	}
	if finish, message, malformed := f.broken(&said); malformed {
		return marshal(f.answer(a, &said, parts, finish, message)), nil
	}
	for _, c := range said.Calls {
		parts = append(parts, f.call(c))
	}
	return marshal(f.answer(a, &said, parts, f.finish(&said), "")), nil
}

// Stream writes the text in fragments and each call in one piece, which is how the
// service does, and the reason of the end in the last chunk.
func (f gemini) Stream(a *Ask, said trace.Reply) (list [][]byte) {
	send := func(parts []any, finish, message string) {
		list = append(list, event("", marshal(f.answer(a, &said, parts, finish, message))))
	}
	for _, t := range pieces(said.Text) {
		send([]any{f.text(t)}, "", "")
	}
	finish, message, malformed := f.broken(&said)
	if malformed {
		send(nil, finish, message)
		return list
	}
	for _, c := range said.Calls {
		send([]any{f.call(c)}, "", "")
	}
	send(nil, f.finish(&said), "")
	return list
}

type geminiAnswer struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text         string
				FunctionCall *geminiCall `json:"functionCall"`
			}
		}
		FinishReason string `json:"finishReason"`
	}
}

func (gemini) Read(body []byte) (said trace.Reply) {
	if !isStream(body) {
		body = event("", body)
	}
	for _, data := range datas(body) {
		var r geminiAnswer
		if json.Unmarshal(data, &r) != nil || len(r.Candidates) == 0 {
			continue
		}
		c := &r.Candidates[0]
		for _, p := range c.Content.Parts {
			said.Text += p.Text
			if p.FunctionCall != nil {
				said.Calls = append(said.Calls, trace.ToolCall{ID: p.FunctionCall.ID, Tool: p.FunctionCall.Name, Args: compact(p.FunctionCall.Args)})
			}
		}
		switch c.FinishReason {
		case "MAX_TOKENS":
			said.Stop = trace.StopLength
		case "SAFETY":
			said.Stop = trace.StopFilter
		}
	}
	return said
}
