package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-go/rehearse/trace"
)

// An object is a JSON object whose fields are written in this order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, f.name)
		b = append(append(b, ':'), marshal(f.value)...)
	}
	return append(b, '}'), nil
}

// marshal writes plain data, as a browser would not have to escape it.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // all of it is ours
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode reads the body of a request into v. A value of another type than the API
// has is told with its place.
func decode(body []byte, v any) *Rejection {
	err := json.Unmarshal(body, v)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return reject(asWritten(wrong.Field), "a JSON %s where the API has another type: send what its reference says", wrong.Value)
	}
	return reject("", "the body of the request is no JSON that can be read (%v): send one JSON object", err)
}

// asWritten is the path of a field as JSON has it: Go's fields begin with a capital.
func asWritten(path string) string {
	names := strings.Split(path, ".")
	for i, n := range names {
		if n != "" {
			names[i] = strings.ToLower(n[:1]) + n[1:]
		}
	}
	return strings.Join(names, ".")
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// orEmpty is an object's text; none is written where the model wrote none.
func orEmpty(args string) string {
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	return args
}

// compact is JSON without space, as it stands where it is no JSON.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// isNull reports whether there is no value.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// pieces cuts a text into fragments, never within a rune: of a word's length, and
// no more than some forty of them.
func pieces(text string) (list []string) {
	const usual, most = 6, 40
	size := max(usual, len(text)/most)
	for len(text) > size {
		n := size
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		list, text = append(list, text[:n]), text[n:]
	}
	if text != "" {
		list = append(list, text)
	}
	return list
}

// tokens is what the answer tells of its length where nobody counted: some four
// bytes to a token.
func tokens(said trace.Reply) int {
	if said.Tokens > 0 {
		return said.Tokens
	}
	n := len(said.Text)
	for _, c := range said.Calls {
		n += len(c.Tool) + len(c.Args)
	}
	return (n + 3) / 4
}

// shown is the same of what the model was shown.
func shown(p *trace.Prompt) int {
	if p.Tokens > 0 {
		return p.Tokens
	}
	n := 0
	for _, m := range p.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Tool) + len(c.Args)
		}
		for _, r := range m.Results {
			n += len(r.Text)
		}
	}
	return (n + 3) / 4
}
