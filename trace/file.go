package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// A FileError says where a trace file cannot be read, or which event cannot be
// written. Its text also says how to mend it.
type FileError struct {
	Line  int    // from 1; the header is line 1, event i is line i+2
	Field string // the field that is at fault; empty: the whole line
	Good  int    // events before it that are good
	Err   error  // what is wrong, and the fix
}

// Error is one line.
func (e *FileError) Error() string {
	field := ""
	if e.Field != "" {
		field = fmt.Sprintf(", field %q", e.Field)
	}
	return fmt.Sprintf("trace: line %d%s: %v (%s before it)", e.Line, field, e.Err, plural(e.Good, "good event"))
}

// Unwrap returns what is wrong with the line.
func (e *FileError) Unwrap() error { return e.Err }

// ErrTruncated is wrapped by the error for a file whose end is missing.
var ErrTruncated = errors.New("the file is cut off")

// fileKind is what the header says the file is.
const fileKind = "trace"

// A header is the first line of a file.
type header struct {
	kind   string
	schema int
	start  time.Time
	policy json.RawMessage
	beside json.RawMessage
}

// WriteTo writes the trace as JSON Lines: a header with the version of the
// format, then one line an event, as [Read] reads it. Fields that are zero are
// left out, apart from an event's at; durations are spelled as Go prints them.
// It returns the number of bytes written. Nothing is written where an event
// could not be read back; the error is then a *FileError, and w's own otherwise.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	out := &counter{w: w}
	b := bufio.NewWriterSize(out, 1<<16)
	h := header{fileKind, Schema, t.Start.UTC(), t.Policy, t.Beside}
	line := append(headerFields.put(nil, &h), '\n')
	_, _ = b.Write(line) // a bufio.Writer keeps its error until Flush
	for i := range t.Events {
		line = append(eventFields.put(line[:0], &t.Events[i]), '\n')
		_, _ = b.Write(line)
	}
	err := b.Flush()
	return out.n, err
}

// A counter counts the bytes that w took.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// check reports the first thing that Read would refuse.
func (t *Trace) check() error {
	if t.Schema != 0 && t.Schema != Schema {
		return &FileError{Line: 1, Field: "schema", Err: fmt.Errorf("this package writes version %d, not %d; read the trace with the version that made it", Schema, t.Schema)}
	}
	if y := t.Start.UTC().Year(); y < 0 || y > 9999 {
		return &FileError{Line: 1, Field: "start", Err: fmt.Errorf("the year %d has no RFC 3339 form; set a start between the years 0 and 9999", y)}
	}
	var order order
	for i := range t.Events {
		e := &t.Events[i]
		err := eventFields.check(e)
		if err == nil {
			err = order.next(e)
		}
		if err != nil {
			return &FileError{Line: i + 2, Field: err.field, Good: i, Err: err.err}
		}
	}
	return nil
}

// Read reads a trace that WriteTo wrote. It is strict: whatever it does not
// know or cannot believe is an error of type *FileError, which names the line,
// the field and the fix, and no half of a trace is returned with it. An error
// of r itself is returned as it is.
func Read(r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	line, err := readLine(in)
	if err == io.EOF {
		return nil, &FileError{Line: 1, Err: fmt.Errorf("%w: it is empty; a trace begins with the header %s", ErrTruncated, headerExample)}
	}
	var h header
	if err = readFields(headerFields, line, err, &h, 1); err != nil {
		return nil, err
	}
	t := &Trace{Schema: h.schema, Start: h.start, Policy: h.policy, Beside: h.beside}
	if err := t.readEvents(in); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Trace) readEvents(in *bufio.Reader) error {
	var order order
	for n := 2; ; n++ {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		var e Event
		if err = readFields(eventFields, line, err, &e, n); err != nil {
			return err
		}
		if wrong := order.next(&e); wrong != nil {
			return &FileError{Line: n, Field: wrong.field, Good: n - 2, Err: wrong.err}
		}
		t.Events = append(t.Events, e)
	}
}

// readLine returns the next line without its end; io.EOF: there is none left.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case err == io.EOF && len(line) > 0:
		return nil, fmt.Errorf("%w: its last line has no newline; delete the line to read what came before it, or add the newline if the line is whole", ErrTruncated)
	}
	return nil, err
}

// readFields reads line n into v. The error of reading the line is passed
// through, so that a cut-off line gets its number.
func readFields[T any](fields fields[T], line []byte, err error, v *T, n int) error {
	good := max(n-2, 0)
	switch {
	case errors.Is(err, ErrTruncated):
		return &FileError{Line: n, Good: good, Err: err}
	case err != nil:
		return fmt.Errorf("trace: line %d: %w", n, err)
	case !utf8.Valid(line):
		return &FileError{Line: n, Good: good, Err: errors.New("it is not UTF-8; write the text with \\u escapes")}
	}
	if wrong := fields.take(line, v); wrong != nil {
		return &FileError{Line: n, Field: wrong.field, Good: good, Err: wrong.err}
	}
	return nil
}

// An order checks what one event alone cannot show.
type order struct {
	at    time.Duration
	calls map[int]bool // call → whether it has been answered
}

func (o *order) next(e *Event) *fieldError {
	if e.At < o.at {
		return wrong("at", "%v is before the event above, at %v; put the events in the order in which they happened", e.At, o.at)
	}
	if e.Kind == 0 {
		return wrong("kind", "an event needs one; set one of the Kind constants")
	}
	o.at = e.At
	answered, begun := o.calls[e.Call]
	switch e.Kind {
	case KindCall:
		if e.Call <= 0 || begun {
			return wrong("call", "%d is no fresh number of a call; number the calls from 1", e.Call)
		}
		if o.calls == nil {
			o.calls = make(map[int]bool)
		}
		o.calls[e.Call] = false
	case KindAnswer, KindInterrupt:
		if !begun {
			return wrong("call", "no call %d has begun; put its call event before its %v", e.Call, e.Kind)
		}
		if answered {
			return wrong("call", "call %d has been answered already; give each call one answer", e.Call)
		}
		o.calls[e.Call] = e.Kind == KindAnswer
	case KindEffect:
		if e.Call != 0 && !begun {
			return wrong("call", "no call %d has begun; put its call event before its effect", e.Call)
		}
	}
	return nil
}
