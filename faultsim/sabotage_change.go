package faultsim

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// otherKey is a key that no program makes.
const otherKey = "a-key-of-the-saboteur"

// changeOf is a copy of the arguments with the change made, by way of their JSON;
// false: they have nothing that could be changed so.
func changeOf[T any](v T, c change, path string) (T, bool) {
	if c == asIs {
		return v, true
	}
	out, ok := changedValue(any(v), c, path)
	changed, typed := out.(T)
	return changed, ok && typed
}

// changedValue is changeOf for a value whose type is not known.
func changedValue(v any, c change, path string) (any, bool) {
	before, err := json.Marshal(v)
	if err != nil || v == nil {
		return nil, false
	}
	for skip := range mostLeaves {
		after, ok := changedLeaf(before, c, path, skip)
		if !ok {
			return nil, false
		}
		out := reflect.New(reflect.TypeOf(v))
		if json.Unmarshal(after, out.Interface()) != nil {
			continue
		}
		if now, err := json.Marshal(out.Elem().Interface()); err == nil && !trace.SameArgs(trace.Canonical(now), trace.Canonical(before)) {
			return out.Elem().Interface(), true
		}
	}
	return nil, false
}

// mostLeaves is how many values of one argument are tried.
const mostLeaves = 16

// changedJSON is the text with the change made.
func changedJSON(raw []byte, c change, path string) ([]byte, bool) {
	return changedLeaf(raw, c, path, 0)
}

// changedLeaf makes the change; of values the one behind so many others.
func changedLeaf(raw []byte, c change, path string, skip int) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return nil, false
	}
	ok := false
	switch c {
	case argument:
		tree, ok = alter(tree, path, &skip)
	case freshKey, keyLost:
		ok = skip == 0 && path != "" && rekey(tree, path, c)
	}
	return trace.Marshal(tree), ok
}

// alter changes one value that is not the key; skip counts those that are left alone.
func alter(v any, path string, skip *int) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == path && path != "" {
				continue
			}
			rest, _ := strings.CutPrefix(path, name+".")
			if now, ok := alter(v[name], rest, skip); ok {
				v[name] = now
				return v, true
			}
		}
		return v, false
	case []any:
		for i := range v {
			if now, ok := alter(v[i], path, skip); ok {
				v[i] = now
				return v, true
			}
		}
		return v, false
	case nil:
		return v, false
	}
	if *skip--; *skip >= 0 {
		return v, false
	}
	switch v := v.(type) {
	case bool:
		return !v, true
	case json.Number:
		if v == "0" {
			return json.Number("1"), true
		}
		return json.Number("0"), true
	case string:
		return v + "?", true
	}
	return v, false
}

// rekey changes the key at the dotted path, or takes it out.
func rekey(v any, path string, c change) bool {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if rekey(v[i], path, c) {
				return true
			}
		}
	case map[string]any:
		if key, ok := v[path]; ok && key != nil && key != "" {
			if c == keyLost {
				delete(v, path)
			} else {
				v[path] = otherKey
			}
			return true
		}
		if first, rest, ok := strings.Cut(path, "."); ok {
			return rekey(v[first], rest, c)
		}
	}
	return false
}

// at changes the value at the dotted path; a change to nil is none.
func at(o map[string]any, path string, change func(any) any) bool {
	if v, ok := o[path]; ok {
		if v = change(v); v != nil {
			o[path] = v
		}
		return v != nil
	}
	first, rest, ok := strings.Cut(path, ".")
	inner, isObject := o[first].(map[string]any)
	return ok && isObject && at(inner, rest, change)
}
