package trace

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// The paths by which a [Recorder]'s Keep is asked about what is no field of
// arguments or results.
const (
	KeepError      = "error"           // the text of an error
	KeepKey        = "idempotency-key" // the idempotency key, wherever it came from
	KeepCredential = "credential"      // the credential, wherever it came from
	KeepCallID     = "call-id"         // the id that the model or the protocol gave a call
	KeepItem       = "item"            // the ids of a batch's items
	KeepPath       = "path"            // the path of a URL in arguments and in a derived tool name
)

// A redactor replaces values by keyed digests. Equal values have equal
// digests under one key, and without the key a guess cannot be checked.
type redactor struct {
	keep func(field string) bool
	key  []byte
}

func newRedactor(keep func(string) bool, key []byte) *redactor {
	safe := func(string) bool { return false }
	if keep != nil {
		safe = func(field string) (kept bool) {
			defer func() {
				if recover() != nil {
					kept = false // what observes must not change what happens
				}
			}()
			return keep(field)
		}
	}
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails: crypto/rand crashes the program instead
	}
	return &redactor{safe, key}
}

// redact returns raw with every value replaced whose path keep does not name.
// The path of a value is the dotted path of its object keys: "card.number";
// elements of a list have the path of the list; the whole value has the path
// "" where it is no object.
func (d *redactor) redact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return encodeJSON(d.digest(raw))
	}
	return encodeJSON(d.walk("", value))
}

func (d *redactor) walk(path string, value any) any {
	if path != "" && d.keep(path) {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return d.object(path, v)
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

// object redacts the values, and the names that are data rather than names: a
// map keyed by e-mail address has personal data in its keys.
func (d *redactor) object(path string, fields map[string]any) map[string]any {
	hidden := make(map[string]any, len(fields))
	for name, value := range fields {
		inner := join(path, name)
		value = d.walk(inner, value)
		if !isName(name) && !d.keep(inner) {
			name = d.digest([]byte(name))
		}
		hidden[name] = value
	}
	return hidden
}

// isName reports whether s looks like the name of a field: a letter or an
// underscore, then letters, digits, '_', '-' and '$', 40 bytes at most, and few
// digits: "line2", "iso8601" and "sha256_of_body", but no account or token.
func isName(s string) bool {
	const (
		longest = 40
		long    = 20 // longer names have no digit
		digits  = 4  // as in a year or a standard
	)
	if s == "" || len(s) > longest {
		return false
	}
	n := 0
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' {
			if n++; n > digits || len(s) > long {
				return false
			}
		}
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// text returns a digest of s unless the field is kept.
func (d *redactor) text(field, s string) string {
	if s == "" || d.keep(field) {
		return s
	}
	return d.digest([]byte(s))
}

// digest is the first 96 bits of an HMAC-SHA256, marked by a tilde.
func (d *redactor) digest(value []byte) string {
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
