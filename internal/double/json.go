package double

import (
	"encoding/json"

	"github.com/rehearse-go/rehearse/trace"
)

// JSON is trace.Marshal for a value whose type is known. It spares the plain
// types the way through encoding/json, which they take a million times in a
// long exploration.
func JSON[T any](v T) json.RawMessage {
	switch p := any(&v).(type) {
	case *string:
		if plain(*p) {
			b := make([]byte, 0, len(*p)+2)
			b = append(b, '"')
			b = append(b, *p...)
			return append(b, '"')
		}
	}
	return trace.Marshal(v)
}
