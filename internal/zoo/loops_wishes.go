package zoo

import (
	"encoding/json"
	"fmt"
)

// intention names a wish: the tool and the arguments, in whatever order and spacing
// they are written.
func intention(w wish) string {
	var args any
	if json.Unmarshal([]byte(w.args), &args) != nil {
		return w.tool + " " + w.args
	}
	plain, _ := json.Marshal(args) // it came from JSON
	return w.tool + " " + string(plain)
}

// keyOfWish is the same for all attempts of a wish, and for the same wish again.
func keyOfWish(r *run, w wish) string { return fmt.Sprintf("run-%d %s", r.id, intention(w)) }

// fieldsOf are the arguments by name, each as JSON.
func fieldsOf(args string) map[string]string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal([]byte(args), &fields) // what is none has no fields
	texts := make(map[string]string, len(fields))
	for name, raw := range fields {
		texts[name] = string(raw)
	}
	return texts
}
