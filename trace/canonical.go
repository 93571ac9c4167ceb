package trace

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Canonical returns the canonical form of a JSON text: object keys sorted, no
// white space, numbers in their shortest form where that is exact. Two
// serialisations of the same value have the same canonical form. A text that
// is not JSON becomes a JSON string, so that every argument can be recorded.
func Canonical(text []byte) json.RawMessage {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	value, err := decodeJSON(text)
	if err != nil {
		return quoteJSON(string(text))
	}
	return encodeJSON(value)
}

// SameArgs reports whether two recorded arguments are equal. It compares
// canonical forms; recorded arguments already have that form.
func SameArgs(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return bytes.Equal(Canonical(a), Canonical(b))
}

func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("trace: more than one JSON value")
	}
	return value, nil
}

// encodeJSON writes a decoded value; encoding/json sorts the keys of maps.
func encodeJSON(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(shortNumbers(value)); err != nil {
		return quoteJSON(err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// quoteJSON writes s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quoteJSON(s string) json.RawMessage { return encodeJSON(s) }

// shortNumbers gives equal numbers one spelling: 1.0 and 1e0 become 1. A
// number that a float64 cannot hold exactly stays as it was written.
func shortNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return shortNumber(v)
	case []any:
		for i := range v {
			v[i] = shortNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortNumbers(v[k])
		}
	}
	return value
}

func shortNumber(n json.Number) json.Number {
	s := n.String()
	if !strings.ContainsAny(s, ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil {
		return n
	}
	const exact = 1 << 53
	if f == float64(int64(f)) && f > -exact && f < exact {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// A redactor replaces values by keyed digests. Equal values have equal
// digests under one key, and without the key a guess cannot be checked.
type redactor struct {
	keep func(field string) bool
	key  []byte
}

// redact returns raw with every value replaced whose path keep does not name.
// The path of a value is the dotted path of its object keys: "card.number";
// elements of a list have the path of the list; the whole value has the path
// "" where it is no object.
func (d redactor) redact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return encodeJSON(d.digest(raw))
	}
	return encodeJSON(d.walk("", value))
}

func (d redactor) walk(path string, value any) any {
	if path != "" && d.keep(path) {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			v[k] = d.walk(join(path, k), v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = d.walk(path, v[i])
		}
		return v
	case nil, bool:
		// Two possible values: a digest would hide nothing from a reader who counts.
		return value
	}
	if path == "" && d.keep(path) {
		return value
	}
	return d.digest(encodeJSON(value))
}

// text returns a digest of s unless the field is kept.
func (d redactor) text(field, s string) string {
	if s == "" || d.keep(field) {
		return s
	}
	return d.digest([]byte(s))
}

// digest is the first 96 bits of an HMAC-SHA256, marked by a tilde.
func (d redactor) digest(value []byte) string {
	m := hmac.New(sha256.New, d.key)
	m.Write(value)
	return "~" + base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:12])
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// takeKey removes the field with the dotted path from the canonical value and
// returns its text: the idempotency key is read before redaction and is no
// part of what is compared.
func takeKey(raw json.RawMessage, path string) (rest json.RawMessage, key string) {
	if path == "" || len(raw) == 0 || raw[0] != '{' {
		return raw, ""
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return raw, ""
	}
	object := value
	fields := strings.Split(path, ".")
	for _, field := range fields[:len(fields)-1] {
		inner, ok := object.(map[string]any)
		if !ok {
			return raw, ""
		}
		object = inner[field]
	}
	inner, ok := object.(map[string]any)
	if !ok {
		return raw, ""
	}
	last := fields[len(fields)-1]
	found, ok := inner[last]
	if !ok {
		return raw, ""
	}
	delete(inner, last)
	if s, ok := found.(string); ok {
		return encodeJSON(value), s
	}
	return encodeJSON(value), string(encodeJSON(found))
}
