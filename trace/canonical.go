package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Canonical returns the canonical form of a JSON text: object keys sorted, no
// white space, one spelling for equal numbers and for equal strings. Two
// serialisations of the same value have the same canonical form, and two
// different values never have: numbers are compared as decimals, not as
// floats. Of a repeated object key the last value counts, as in encoding/json.
// A text that is not JSON becomes a JSON string, so that every argument can be
// recorded; an empty text is nil. The result does not share memory with text.
func Canonical(text []byte) json.RawMessage {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	if isCanonical(text) {
		return bytes.Clone(text)
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
	if len(a) == 0 || len(b) == 0 || isCanonical(a) && isCanonical(b) {
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
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the JSON value")
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
func quoteJSON(s string) json.RawMessage { return encodeJSON(strings.ToValidUTF8(s, "\ufffd")) }

// shortNumbers gives equal numbers one spelling: 1.0 and 1e0 become 1.
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

// shortNumber rewrites a number exactly: it moves the decimal point and drops
// zeros. It never rounds, since a float64 would make different amounts equal.
func shortNumber(n json.Number) json.Number {
	s := string(n)
	if plainInteger(s) {
		return n
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	exponent := 0
	if power != "" {
		e, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			return n // no machine computes with it: it stays as it was written
		}
		exponent = int(e)
	}
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0"
	}
	return json.Number(sign + decimal(trimmed, exponent))
}

// decimal writes digits × 10^exponent as ECMAScript would: plain where the
// point is near, with an exponent where it is far.
func decimal(digits string, exponent int) string {
	point := len(digits) + exponent // digits before the decimal point
	switch {
	case exponent >= 0 && point <= maxPlain:
		return digits + strings.Repeat("0", exponent)
	case point > 0 && point <= maxPlain:
		return digits[:point] + "." + digits[point:]
	case point <= 0 && point > -6:
		return "0." + strings.Repeat("0", -point) + digits
	}
	far := strconv.Itoa(point - 1)
	if point > 0 {
		far = "+" + far
	}
	if len(digits) == 1 {
		return digits + "e" + far
	}
	return digits[:1] + "." + digits[1:] + "e" + far
}

const maxPlain = 21 // digits before the point up to which a number is written plainly

// plainInteger reports whether the JSON number s already has its short form.
func plainInteger(s string) bool {
	if len(s) > maxPlain || s == "-0" {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	return true
}

// isCanonical reports whether text surely has the canonical form: most
// arguments that a program sends are small and do. False may also mean that
// the question is not worth its time.
func isCanonical(text []byte) bool {
	end := scanValue(text, 0, 0)
	return end == len(text) && end > 0
}

const maxScanDepth = 32

// scanValue returns the end of the canonical value at text[i:]; -1: none.
func scanValue(text []byte, i, depth int) int {
	if i >= len(text) || depth > maxScanDepth {
		return -1
	}
	switch c := text[i]; {
	case c == '"':
		return scanString(text, i)
	case c == '{':
		return scanObject(text, i, depth)
	case c == '[':
		return scanList(text, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return scanInteger(text, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(text)-i >= len(word) && string(text[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

// scanString takes a string of printable ASCII without an escape: every such
// string is its own canonical form.
func scanString(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c < ' ' || c > '~' || c == '\\':
			return -1
		}
	}
	return -1
}

func scanInteger(text []byte, i int) int {
	first := i
	if text[i] == '-' {
		i++
	}
	digits := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	switch {
	case i == digits, i-first > maxPlain:
		return -1
	case text[digits] == '0' && (i > digits+1 || digits > first): // 01 is no JSON, -0 is 0
		return -1
	case i < len(text) && (text[i] == '.' || text[i]|0x20 == 'e'):
		return -1
	}
	return i
}

func scanList(text []byte, i, depth int) int {
	if i+1 < len(text) && text[i+1] == ']' {
		return i + 2
	}
	for {
		if i = scanValue(text, i+1, depth+1); i < 0 || i >= len(text) {
			return -1
		}
		switch text[i] {
		case ']':
			return i + 1
		case ',':
		default:
			return -1
		}
	}
}

// scanObject takes an object whose keys ascend.
func scanObject(text []byte, i, depth int) int {
	if i+1 < len(text) && text[i+1] == '}' {
		return i + 2
	}
	var before []byte
	for {
		first := i + 1
		i = scanString(text, first)
		if i < 0 || i >= len(text) || text[i] != ':' {
			return -1
		}
		name := text[first+1 : i-1]
		if before != nil && bytes.Compare(before, name) >= 0 {
			return -1
		}
		before = name
		if i = scanValue(text, i+1, depth+1); i < 0 || i >= len(text) {
			return -1
		}
		switch text[i] {
		case '}':
			return i + 1
		case ',':
		default:
			return -1
		}
	}
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
	fields := strings.Split(path, ".")
	object, _ := value.(map[string]any)
	for _, field := range fields[:len(fields)-1] {
		object, _ = object[field].(map[string]any)
	}
	last := fields[len(fields)-1]
	found, ok := object[last]
	if !ok {
		return raw, ""
	}
	delete(object, last)
	if s, ok := found.(string); ok {
		return encodeJSON(value), s
	}
	return encodeJSON(value), string(encodeJSON(found))
}
