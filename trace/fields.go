package trace

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A field is one member of a line: how it is written, read and checked. The
// same table serves all three, so that they cannot drift apart.
type field[T any] struct {
	name  string
	need  bool                                  // a line without it is refused, and it is written even where it is zero
	zero  func(v *T) bool                       // there is nothing to write; nil: never
	put   func(b []byte, v *T) []byte           // appends the JSON value
	take  func(v *T, raw json.RawMessage) error // reads the JSON value
	check func(v *T) error                      // whether take could read what put writes; nil: always
}

type fields[T any] []field[T]

// A fieldError is what is wrong with one field; field is empty for the line.
type fieldError struct {
	field string
	err   error
}

func wrong(field, format string, args ...any) *fieldError {
	return &fieldError{field, fmt.Errorf(format, args...)}
}

const headerExample = `{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}`

var headerFields = fields[header]{
	needed(textField("rehearse", func(h *header) *string { return &h.kind }, fileKind)),
	needed(schemaField()),
	needed(startField()),
	jsonField("policy", func(h *header) *json.RawMessage { return &h.policy }),
	jsonField("beside", func(h *header) *json.RawMessage { return &h.beside }),
}

var eventFields = fields[Event]{
	needed(durationField("at", func(e *Event) *time.Duration { return &e.At })),
	needed(enumField("kind", func(e *Event) *Kind { return &e.Kind })),
	textField("action", func(e *Event) *string { return &e.Action }),
	textField("tool", func(e *Event) *string { return &e.Tool }),
	numberField("call", func(e *Event) *int { return &e.Call }, 0),
	enumField("role", func(e *Event) *Role { return &e.Role }),
	textField("call_id", func(e *Event) *string { return &e.CallID }),
	numberField("ask", func(e *Event) *int { return &e.Ask }, 0),
	textField("layer", func(e *Event) *string { return &e.Layer }),
	textField("key", func(e *Event) *string { return &e.Key }),
	textField("credential", func(e *Event) *string { return &e.Credential }),
	textField("definition", func(e *Event) *string { return &e.Definition }),
	numberField("session", func(e *Event) *int { return &e.Session }, 0),
	boolField("ambiguous", func(e *Event) *bool { return &e.Ambiguous }),
	jsonField("args", func(e *Event) *json.RawMessage { return &e.Args }),
	promptField(),
	replyField(),
	durationField("deadline", func(e *Event) *time.Duration { return &e.Deadline }),
	durationField("wait", func(e *Event) *time.Duration { return &e.Wait }),
	enumField("class", func(e *Event) *Class { return &e.Outcome.Class }),
	itemsField(),
	textField("code", func(e *Event) *string { return &e.Outcome.Code }),
	durationField("hint", func(e *Event) *time.Duration { return &e.Outcome.Hint }),
	durationField("slack", func(e *Event) *time.Duration { return &e.Outcome.Slack }),
	enumField("effect", func(e *Event) *Effect { return &e.Outcome.Effect }),
	enumField("advice", func(e *Event) *Advice { return &e.Outcome.Advice }),
	enumField("reason", func(e *Event) *Reason { return &e.Reason }),
	textField("error", func(e *Event) *string { return &e.Error }),
	jsonField("result", func(e *Event) *json.RawMessage { return &e.Result }),
	jsonField("want", func(e *Event) *json.RawMessage { return &e.Want }),
	numberField("cause", func(e *Event) *int { return &e.Cause }, -1),
	numberField("count", func(e *Event) *int { return &e.Count }, 0),
}

func itemsField() field[Event] {
	f := textField("items", func(e *Event) *string { return (*string)(&e.Outcome.Items) })
	f.check = func(e *Event) error {
		_, err := ParseItems(string(e.Outcome.Items))
		return unprefixed(err)
	}
	text := f.take
	f.take = func(e *Event, raw json.RawMessage) error {
		if err := text(e, raw); err != nil {
			return err
		}
		return f.check(e)
	}
	return f
}

// put appends v as a JSON object.
func (fs fields[T]) put(b []byte, v *T) []byte {
	b = append(b, '{')
	for i := range fs {
		if !fs[i].need && fs[i].zero(v) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, fs[i].name...)
		b = append(b, `":`...)
		b = fs[i].put(b, v)
	}
	return append(b, '}')
}

func (fs fields[T]) check(v *T) *fieldError {
	for i := range fs {
		if fs[i].check == nil {
			continue
		}
		if err := fs[i].check(v); err != nil {
			return &fieldError{fs[i].name, err}
		}
	}
	return nil
}

// take reads one JSON object into v.
func (fs fields[T]) take(line []byte, v *T) *fieldError {
	var seen uint64 // by index: no table has more fields
	wrong := eachField(line, func(name string, raw json.RawMessage) error {
		i := fs.index(name)
		if i < 0 {
			return fmt.Errorf("the name is unknown; known are %s", fs.names())
		}
		if seen&(1<<i) != 0 {
			return fmt.Errorf("it stands there twice; delete one")
		}
		seen |= 1 << i
		return fs[i].take(v, raw)
	})
	if wrong != nil {
		return wrong
	}
	for i := range fs {
		if fs[i].need && seen&(1<<i) == 0 {
			return &fieldError{fs[i].name, fmt.Errorf("it is missing; a line must have it")}
		}
	}
	return nil
}

func (fs fields[T]) index(name string) int {
	for i := range fs {
		if fs[i].name == name {
			return i
		}
	}
	return -1
}

func (fs fields[T]) names() string {
	names := make([]string, len(fs))
	for i := range fs {
		names[i] = fs[i].name
	}
	return strings.Join(names, ", ")
}

// eachField calls f for each member of the object in line. encoding/json into
// a struct would ignore case and repeated names.
func eachField(line []byte, f func(name string, raw json.RawMessage) error) *fieldError {
	d := json.NewDecoder(bytes.NewReader(line))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return wrong("", "it is no JSON object; write one object a line, without empty lines")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return wrong("", "it is no JSON (%v); mend or delete the line", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return wrong(name.(string), "its value is no JSON (%v); mend or delete the line", err)
		}
		if err := f(name.(string), raw); err != nil {
			return &fieldError{name.(string), err}
		}
	}
	if _, err := d.Token(); err != nil {
		return wrong("", "the object does not end (%v); mend or delete the line", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return wrong("", "there is more behind the object; write one object a line")
	}
	return nil
}

func needed[T any](f field[T]) field[T] {
	f.need = true
	return f
}

// textField reads and writes a string; only: the values that it may have.
func textField[T any](name string, at func(*T) *string, only ...string) field[T] {
	return field[T]{
		name: name,
		zero: func(v *T) bool { return *at(v) == "" },
		put:  func(b []byte, v *T) []byte { return append(b, quoteJSON(*at(v))...) },
		take: func(v *T, raw json.RawMessage) error {
			if raw[0] != '"' {
				return fmt.Errorf("%s is no text; write it in quotes", brief(raw))
			}
			if err := json.Unmarshal(raw, at(v)); err != nil {
				return err
			}
			if len(only) > 0 && *at(v) != only[0] {
				return fmt.Errorf("%s is not %q; hand in a trace that this package wrote", brief(raw), only[0])
			}
			return nil
		},
	}
}

func numberField[T any](name string, at func(*T) *int, least int) field[T] {
	check := func(v *T) error {
		if *at(v) < least {
			return fmt.Errorf("%d is too small; write a whole number from %d", *at(v), least)
		}
		return nil
	}
	return field[T]{
		name: name,
		zero: func(v *T) bool { return *at(v) == 0 },
		put:  func(b []byte, v *T) []byte { return strconv.AppendInt(b, int64(*at(v)), 10) },
		take: func(v *T, raw json.RawMessage) (err error) {
			if *at(v), err = strconv.Atoi(string(raw)); err != nil {
				return fmt.Errorf("%s is no number of this kind; write a whole number from %d", brief(raw), least)
			}
			return check(v)
		},
		check: check,
	}
}

func boolField[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{
		name: name,
		zero: func(v *T) bool { return !*at(v) },
		put:  func(b []byte, v *T) []byte { return strconv.AppendBool(b, *at(v)) },
		take: func(v *T, raw json.RawMessage) error {
			if string(raw) != "true" && string(raw) != "false" {
				return fmt.Errorf("%s is neither true nor false; write true, or leave the field out", brief(raw))
			}
			*at(v) = string(raw) == "true"
			return nil
		},
	}
}

func durationField[T any](name string, at func(*T) *time.Duration) field[T] {
	return field[T]{
		name: name,
		zero: func(v *T) bool { return *at(v) == 0 },
		put: func(b []byte, v *T) []byte {
			return strconv.AppendQuote(b, at(v).String()) // digits, letters and µ: the same in Go and JSON
		},
		take: func(v *T, raw json.RawMessage) (err error) {
			text, quoted := unquote(raw)
			if *at(v), err = time.ParseDuration(text); err != nil || !quoted {
				return fmt.Errorf(`%s is no duration; write it as Go does, such as "1.5s"`, brief(raw))
			}
			return nil
		},
	}
}

// enumField reads and writes the name of an enum's value.
func enumField[T any, E ~uint8, P interface {
	*E
	encoding.TextUnmarshaler
	encoding.TextMarshaler
}](name string, at func(*T) P) field[T] {
	return field[T]{
		name: name,
		zero: func(v *T) bool { return *at(v) == 0 },
		put: func(b []byte, v *T) []byte {
			text, _ := at(v).MarshalText() // check has seen it
			return strconv.AppendQuote(b, string(text))
		},
		take: func(v *T, raw json.RawMessage) error {
			text, quoted := unquote(raw)
			if !quoted {
				return fmt.Errorf("%s is no text; write the name in quotes", brief(raw))
			}
			return unprefixed(at(v).UnmarshalText([]byte(text)))
		},
		check: func(v *T) error {
			_, err := at(v).MarshalText()
			return unprefixed(err)
		},
	}
}

// jsonField reads and writes any JSON value, in canonical form.
func jsonField[T any](name string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{
		name: name,
		zero: func(v *T) bool { return len(bytes.TrimSpace(*at(v))) == 0 },
		put:  func(b []byte, v *T) []byte { return append(b, Canonical(*at(v))...) },
		take: func(v *T, raw json.RawMessage) error {
			if err := uniqueNames(raw); err != nil {
				return err
			}
			*at(v) = Canonical(raw)
			return nil
		},
	}
}

// uniqueNames reports a name that stands twice in one object of the value: one
// reader would see the first, another the last.
func uniqueNames(raw json.RawMessage) error {
	type level struct {
		names map[string]bool // nil: a list
		next  bool            // a name comes next
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	levels := []level{{}}
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end: raw has been found to be JSON
		}
		top := &levels[len(levels)-1]
		name, text := token.(string)
		switch {
		case text && top.next && top.names[name]:
			return fmt.Errorf("the name %q stands there twice in one object; delete one", name)
		case text && top.next:
			top.names[name], top.next = true, false
			continue
		case token == json.Delim('{'):
			levels = append(levels, level{make(map[string]bool), true})
			continue
		case token == json.Delim('['):
			levels = append(levels, level{})
			continue
		case token == json.Delim('}'), token == json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
		top = &levels[len(levels)-1]
		top.next = top.names != nil
	}
}

// unprefixed drops the package's name, which a FileError's text begins with.
func unprefixed(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "trace: "))
}

func schemaField() field[header] {
	f := numberField("schema", func(h *header) *int { return &h.schema }, 0)
	number := f.take
	f.take = func(h *header, raw json.RawMessage) error {
		if err := number(h, raw); err != nil {
			return err
		}
		if h.schema != Schema {
			return fmt.Errorf("the file has version %d and this package reads version %d; use the version of rehearse that wrote it", h.schema, Schema)
		}
		return nil
	}
	return f
}

func startField() field[header] {
	return field[header]{
		name: "start",
		put: func(b []byte, h *header) []byte {
			return strconv.AppendQuote(b, h.start.Format(time.RFC3339Nano))
		},
		take: func(h *header, raw json.RawMessage) error {
			text, quoted := unquote(raw)
			start, err := time.Parse(time.RFC3339Nano, text)
			if y := start.UTC().Year(); err != nil || !quoted || y < 0 || y > 9999 {
				return fmt.Errorf(`%s is no instant; write it as RFC 3339 does, such as "2026-01-31T12:00:00Z"`, brief(raw))
			}
			h.start = start.UTC()
			return nil
		},
	}
}

// unquote returns the text of a JSON string.
func unquote(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// brief is a JSON value that is short enough for an error.
func brief(raw json.RawMessage) string {
	const enough = 60
	if len(raw) > enough {
		return strings.ToValidUTF8(string(raw[:enough]), "") + "…"
	}
	return string(raw)
}

// strictly reads a value whose names are all known.
func strictly(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s (%s); write it as this package does", brief(raw), strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
