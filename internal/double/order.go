package double

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Order finds the calls that a text tells its reader to make, as a model does that
// takes the words of a tool for orders:
//
//   - a name with a JSON object behind it: `now delete_all {"path":"/"}`,
//   - a word such as call or use in front of the name of one of the tools, which is
//     then called with {}: "then use delete_all",
//   - "with" in front of an argument: "retry with admin=true" is the last calls with
//     that argument,
//   - "try again" or "call me again": the last calls as they were.
//
// A text that is JSON is read string by string. None: it orders nothing.
func Order(text string, tools []string, last []trace.ToolCall) []trace.ToolCall {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return orderIn(text, tools, last)
	}
	for _, s := range stringsIn(value, nil) {
		if order := orderIn(s, tools, last); order != nil {
			return order
		}
	}
	return nil
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
	named    = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)\s*\(?\s*\{`)
	verb     = regexp.MustCompile(`(?i)\b(?:call|use|run|invoke)\s+(?:the\s+)?(?:tool\s+)?([A-Za-z_][A-Za-z0-9_.-]*)`)
	argument = regexp.MustCompile(`(?i)\bwith\s+([A-Za-z_]\w*)=([^\s,;]+)`)
	again    = regexp.MustCompile(`(?i)\b(?:try|call me) again\b`)
)

func orderIn(text string, tools []string, last []trace.ToolCall) []trace.ToolCall {
	for _, at := range named.FindAllStringSubmatchIndex(text, -1) {
		var args json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[at[1]-1:]))
		if d.Decode(&args) == nil {
			return []trace.ToolCall{{Tool: text[at[2]:at[3]], Args: string(args)}}
		}
	}
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		if name := strings.TrimRight(m[1], ".-"); slices.Contains(tools, name) {
			return []trace.ToolCall{{Tool: name, Args: "{}"}}
		}
	}
	if len(last) == 0 {
		return nil
	}
	if m := argument.FindStringSubmatch(text); m != nil {
		return withArgument(last, m[1], strings.TrimRight(m[2], "."))
	}
	if again.MatchString(text) {
		return slices.Clone(last)
	}
	return nil
}

// withArgument is the calls with one argument set, where they have an object of
// them. The value is JSON, or else a string.
func withArgument(calls []trace.ToolCall, name, value string) []trace.ToolCall {
	raw := json.RawMessage(value)
	if !json.Valid(raw) {
		raw = JSON(value)
	}
	calls = slices.Clone(calls)
	for i := range calls {
		args := map[string]json.RawMessage{}
		if json.Unmarshal([]byte(calls[i].Args), &args) != nil || args == nil {
			continue
		}
		args[name] = raw
		calls[i].Args = string(JSON(args))
	}
	return calls
}

// LastCalls is what the model asked for last, in the request that is under way, and
// without ids.
func LastCalls(p trace.Prompt) []trace.ToolCall {
	for _, m := range slices.Backward(p.Messages) {
		if m.From == trace.FromUser && len(m.Results) == 0 {
			return nil // what was asked for before it is of another request
		}
		if len(m.Calls) > 0 {
			calls := slices.Clone(m.Calls)
			for i := range calls {
				calls[i].ID = ""
			}
			return calls
		}
	}
	return nil
}
