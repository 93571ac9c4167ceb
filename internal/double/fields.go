package double

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// Fields says which fields of arguments are not compared. The fields are
// dotted paths of object keys, "meta.sent_at"; the elements of a list have
// the path of the list.
type Fields struct {
	Key      string   // holds the idempotency key; empty: none does
	Volatile []string // differ between attempts by nature: signatures, timestamps

	// Borrow hands the request's own header on instead of a copy, for whoever is
	// done with it before the round trip ends.
	Borrow bool
}

// Take returns raw in canonical form without those fields, and the text of
// the key field. It returns raw as it is where there is nothing to take out
// or where raw is no JSON object.
func (f Fields) Take(raw json.RawMessage) (rest json.RawMessage, key string) {
	if f.Key == "" && len(f.Volatile) == 0 || len(raw) == 0 {
		return raw, ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value map[string]any
	if d.Decode(&value) != nil || value == nil {
		return raw, ""
	}
	if f.Key != "" {
		key = keyText(remove(value, f.Key))
	}
	for _, path := range f.Volatile {
		remove(value, path)
	}
	return trace.Canonical(trace.Marshal(value)), key
}

func keyText(found any) string {
	if s, ok := found.(string); ok || found == nil {
		return s
	}
	return string(trace.Marshal(found))
}

// remove deletes the path and returns what was there, the last of it where a
// list holds several; nil: nothing was.
func remove(value any, path string) (found any) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			if f := remove(v[i], path); f != nil {
				found = f
			}
		}
	case map[string]any:
		if f, ok := v[path]; ok {
			delete(v, path)
			return f
		}
		if first, rest, ok := strings.Cut(path, "."); ok {
			return remove(v[first], rest)
		}
	}
	return found
}
