package double

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Order finds the call that a text tells its reader to make, as a model does that
// takes the words of a tool for orders: the first name with a JSON object behind
// it, as in `now call delete_all {"path":"/"}` or `delete_all({"path":"/"})`, or
// else the name of one of the tools, which is called with {}. A text that is JSON
// is read string by string.
func Order(text string, tools []string) (order trace.ToolCall, found bool) {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		for _, s := range stringsIn(value, nil) {
			if order, found = orderIn(s, tools); found {
				return order, true
			}
		}
		return trace.ToolCall{}, false
	}
	return orderIn(text, tools)
}

// stringsIn lists the strings of a decoded JSON value, those of an object in the
// order of its keys.
func stringsIn(value any, list []string) []string {
	switch v := value.(type) {
	case string:
		return append(list, v)
	case []any:
		for _, e := range v {
			list = stringsIn(e, list)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			list = stringsIn(v[k], list)
		}
	}
	return list
}

var (
	named = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)\s*\(?\s*\{`)
	word  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.-]*`)
)

func orderIn(text string, tools []string) (trace.ToolCall, bool) {
	for _, at := range named.FindAllStringSubmatchIndex(text, -1) {
		var args json.RawMessage
		d := json.NewDecoder(bytes.NewReader([]byte(text[at[1]-1:])))
		if d.Decode(&args) == nil {
			return trace.ToolCall{Tool: text[at[2]:at[3]], Args: string(args)}, true
		}
	}
	for _, w := range word.FindAllString(text, -1) {
		if w = strings.TrimRight(w, ".-"); slices.Contains(tools, w) {
			return trace.ToolCall{Tool: w, Args: "{}"}, true
		}
	}
	return trace.ToolCall{}, false
}
