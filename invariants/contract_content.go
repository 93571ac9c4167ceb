package invariants

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Content is what is declared beside the policy as canonical JSON, for baselines:
// durations as in Go, classes by name, and nothing that is zero. It is nil where
// nothing is, and where a number cannot be written (NaN or infinite).
func (c Contract) Content() json.RawMessage {
	if c.Plain() {
		return nil // most adapters, and no reason to look at every field
	}
	c.Policy = Policy{}
	declared, ok := plainly(reflect.ValueOf(c))
	if !ok {
		return nil
	}
	text, err := json.Marshal(declared)
	if err != nil {
		return nil
	}
	return trace.Canonical(text)
}

// lowered is a field's name as it is written in JSON.
func lowered(name string) string {
	if name == strings.ToUpper(name) { // TTL
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// plainly is a value for people to read; false: there is nothing to say. It goes
// through all fields, so that none can be forgotten when a contract grows.
func plainly(v reflect.Value) (any, bool) {
	switch d := v.Interface().(type) {
	case time.Duration:
		return d.String(), d != 0
	case encoding.TextMarshaler:
		return d, !v.IsZero()
	}
	switch v.Kind() {
	case reflect.Func:
		return "a function", !v.IsNil() // which one cannot be written down
	case reflect.Pointer:
		if v.IsNil() {
			return nil, false
		}
		said, ok := plainly(v.Elem())
		if !ok {
			said = struct{}{} // it is declared, and every field is as usual
		}
		return said, true
	case reflect.Struct:
		said := map[string]any{}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue // what rules have worked out
			}
			if field, ok := plainly(v.Field(i)); ok {
				said[lowered(v.Type().Field(i).Name)] = field
			}
		}
		return said, len(said) > 0
	case reflect.Slice:
		said := make([]any, v.Len())
		for i := range said {
			said[i], _ = plainly(v.Index(i))
		}
		return said, len(said) > 0
	}
	return v.Interface(), !v.IsZero()
}
