package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// A StepMatcher is one step of a trajectory: a tool, and what its arguments have
// to be. Make it with [Step]; its methods return changed copies. Arguments are
// compared in canonical form, as they are recorded: without the idempotency key
// and the credential. A trace of a recorder that keeps no values in clear can be
// compared by tools only.
type StepMatcher struct {
	tool    string
	text    json.RawMessage // the wanted arguments, canonical; nil: they are not compared
	want    any             // the same, decoded
	partial bool            // fields that want does not have are free
	only    []string        // the dotted fields that count; none: all
	where   func(args json.RawMessage) error
	problem string // the first thing that is wrong with it; empty: nothing
}

// Step is a call of the tool, whatever its arguments are.
func Step(tool string) StepMatcher { return StepMatcher{tool: tool} }

// Args wants exactly these arguments: JSON as a string, []byte or
// json.RawMessage, or any other value as encoding/json writes it. nil is null,
// and no arguments.
func (s StepMatcher) Args(want any) StepMatcher { return s.wants("Args", want) }

// Partial wants the fields of an object and leaves others free, in objects within
// it too. A list has to have as many elements, and each is compared in this way.
// The object is given as for [StepMatcher.Args].
func (s StepMatcher) Partial(want any) StepMatcher {
	s = s.wants("Partial", want)
	if _, object := s.want.(map[string]any); !object {
		s.blame("Partial is %s, which has no fields: hand in an object, or say Args", short(s.text))
	}
	s.partial = true
	return s
}

// Only leaves every field of [StepMatcher.Args] free but those with the dotted
// paths, such as "guest.name": so a recorded call can be a step. A path leads
// through objects, not into lists, and a field that Args does not have is an error.
func (s StepMatcher) Only(fields ...string) StepMatcher {
	switch {
	case s.text == nil || s.partial:
		s.blame("Only chooses among the fields of Args: say Args before it")
	case len(fields) == 0:
		s.blame("Only names no field: name one, or leave Args out where none counts")
	}
	for _, field := range fields {
		if _, found := fieldAt(s.want, field); !found && s.text != nil {
			s.blame("Only names the field %q, which Args does not have: name one that is there", field)
		}
	}
	s.only = slices.Concat(s.only, fields)
	return s
}

// Where wants check to return no error for the arguments, in canonical JSON, null
// where there are none. It is called with what Args or Partial have let pass, more
// than once and by several goroutines where the invariant is; its error is shown.
func (s StepMatcher) Where(check func(args json.RawMessage) error) StepMatcher {
	switch {
	case check == nil:
		s.blame("Where has no function: hand in one that says what is wrong with the arguments")
	case s.where != nil:
		s.blame("Where is said twice: put both into one function")
	}
	s.where = check
	return s
}

// blame keeps the first thing that is wrong.
func (s *StepMatcher) blame(format string, args ...any) {
	if s.problem == "" {
		s.problem = fmt.Sprintf(format, args...)
	}
}

// wants reads the arguments that a method was handed.
func (s StepMatcher) wants(method string, want any) StepMatcher {
	if s.text != nil {
		s.blame("%s comes after other arguments were given: say one of Args and Partial, once", method)
	}
	text, err := jsonOf(want)
	if err != nil {
		s.blame(`%s is no JSON (%v): hand in a text such as {"city":"Pune"}, or a value that encoding/json can write`, method, err)
		text = json.RawMessage("null")
	}
	s.text, s.want = text, decoded(text)
	return s
}

// jsonOf is JSON as it is, and another value as JSON, in canonical form.
func jsonOf(v any) (json.RawMessage, error) {
	var text []byte
	switch v := v.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	case json.RawMessage:
		text = v
	default:
		var err error
		if text, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	var valid json.RawMessage
	if err := json.Unmarshal(text, &valid); err != nil {
		return nil, err
	}
	return trace.Canonical(text), nil
}

// String is the step as a line shows it.
func (s StepMatcher) String() string {
	text := s.tool
	switch {
	case len(s.only) > 0:
		var fields []string
		for _, field := range s.only {
			value, _ := fieldAt(s.want, field)
			fields = append(fields, field+" "+encoded(value))
		}
		text += " " + strings.Join(fields, ", ") + " …"
	case s.partial:
		text += " " + string(s.text) + " …"
	case s.text != nil:
		text += " " + string(s.text)
	}
	if s.where != nil {
		text += " where …"
	}
	return text
}
