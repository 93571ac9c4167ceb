package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Comparison says what counts when two traces are compared. The zero value
// compares all that happened and when.
type Comparison struct {
	// Untimed leaves out when things happened and how long they took (At, Wait,
	// Deadline, hints), and how errors read, which may tell times. What each action
	// does of each tool is then compared by itself, since what is done at once comes
	// in another order where the times differ. It is for code whose jitter cannot be
	// repeated.
	Untimed bool
}

// A Difference is the first event in which two traces differ.
type Difference struct {
	N             int    // number of the event in canonical order, from 1
	A, B          int    // index of the event in each trace's Events; -1: the trace has none left
	Field         string // the field of [Event] that differs, such as "At"; empty: one trace has no such event
	First, Second string // what each trace has there, as its timeline shows it
}

// String tells the difference in one line.
func (d *Difference) String() string {
	text := fmt.Sprintf("event %d differs", d.N)
	if d.Field != "" {
		text += " in " + d.Field
	}
	return fmt.Sprintf("%s: %s in one run, %s in another", text, d.First, d.Second)
}

// Diff compares two traces by the zero [Comparison].
func Diff(a, b *Trace) *Difference { return Comparison{}.Diff(a, b) }

// Diff returns the first difference between what two traces tell; nil: there is
// none. The events are compared in canonical order: what happened at one instant may
// come in any order where it is of different actions, of different tools of one, or
// of different calls that a model asked for; all else keeps its order. Numbers of
// calls and sessions, which follow from that order, are counted anew. Of idempotency
// keys, credentials and ids of calls it counts which events share one, and not how it
// reads, since programs draw them at random; a long one is known again in arguments,
// results and texts.
//
// Neither Start nor what is declared (Policy, Beside) is compared. The traces are
// only read; nil is one without events.
func (c Comparison) Diff(a, b *Trace) *Difference {
	a, b = cmp.Or(a, &Trace{}), cmp.Or(b, &Trace{})
	if verbatim(a, b) {
		return nil
	}
	first, second := c.canonical(a), c.canonical(b)
	for n := range max(len(first), len(second)) {
		switch {
		case n >= len(first):
			return difference(n, "", a, -1, b, second[n].index)
		case n >= len(second):
			return difference(n, "", a, first[n].index, b, -1)
		}
		if field := differing(&first[n], &second[n]); field != "" {
			return difference(n, field, a, first[n].index, b, second[n].index)
		}
	}
	return nil
}

// verbatim reports whether the traces tell the same in the same words, as most runs of
// one schedule do: it takes a tenth of the time.
func verbatim(a, b *Trace) bool {
	if len(a.Events) != len(b.Events) {
		return false
	}
	for i := range a.Events {
		if !alike(reflect.ValueOf(&a.Events[i]).Elem(), reflect.ValueOf(&b.Events[i]).Elem()) {
			return false
		}
	}
	return true
}

func difference(n int, field string, a *Trace, i int, b *Trace, k int) *Difference {
	return &Difference{N: n + 1, A: i, B: k, Field: field, First: a.line(i), Second: b.line(k)}
}

// line is an event as the timeline shows it, in one line.
func (t *Trace) line(i int) string {
	if i < 0 {
		return "nothing"
	}
	r := t.rows()[i]
	return strings.Join(slices.DeleteFunc([]string{span(r.at), r.action, r.who, r.verb, r.detail}, func(s string) bool { return s == "" }), " ")
}

// A placed event is one in canonical order, and where it stands in its trace.
type placed struct {
	Event
	index int
	talk  string // prompt and reply
}

// canonical returns the events in the order, and with the names, in which they are
// compared.
func (c Comparison) canonical(t *Trace) []placed {
	events := make([]placed, len(t.Events))
	asks := map[int]int{} // call → the number of what a model asked for
	for i, e := range t.Events {
		events[i] = placed{Event: e, index: i}
		asks[e.Call] = max(asks[e.Call], e.Ask)
	}
	slices.SortStableFunc(events, func(x, y placed) int {
		if !c.Untimed && x.At != y.At {
			return cmp.Compare(x.At, y.At)
		}
		return cmp.Or(strings.Compare(x.Action, y.Action), strings.Compare(x.Tool, y.Tool), cmp.Compare(asks[x.Call], asks[y.Call]))
	})
	names := naming{calls: map[int]int{}, sessions: map[int]int{}, secrets: map[string]string{}}
	for i := range events {
		names.rename(&events[i].Event)
	}
	hide := names.hider()
	for i := range events {
		events[i].reword(hide)
		if c.Untimed {
			untime(&events[i].Event)
		}
	}
	return events
}

// untime takes the times out of an event.
func untime(e *Event) {
	e.At, e.Wait = 0, 0
	e.Deadline = min(e.Deadline, 1) // that there is one is no time
	e.Outcome.Hint, e.Outcome.Slack = min(e.Outcome.Hint, 1), 0
	if e.Error != "" {
		e.Error = "an error"
	}
}

// A naming gives calls, sessions and secrets names by the order in which they
// appear.
type naming struct {
	calls, sessions map[int]int
	secrets         map[string]string
}

// longSecret is the length from which a key is looked for in texts: a shorter one
// could be a word of them.
const longSecret = 8

func (n *naming) rename(e *Event) {
	e.Call = number(n.calls, e.Call)
	e.Session = number(n.sessions, e.Session)
	if e.Cause > 0 {
		e.Cause = number(n.calls, e.Cause)
	}
	e.Key, e.Credential, e.CallID = n.secret("key", e.Key), n.secret("credential", e.Credential), n.secret("id", e.CallID)
}

// reword hides keys where they stand in other fields.
func (p *placed) reword(hide *strings.Replacer) {
	e := &p.Event
	if e.Prompt != nil || e.Reply != nil {
		p.talk = talkOf(e)
		e.Prompt, e.Reply = nil, nil
	}
	if hide != nil {
		e.Args, e.Result, e.Want = hidden(hide, e.Args), hidden(hide, e.Result), hidden(hide, e.Want)
		e.Error, p.talk = hide.Replace(e.Error), hide.Replace(p.talk)
	}
}

// talkOf is what a model was shown and what it said, as text.
func talkOf(e *Event) string {
	text, err := json.Marshal(struct {
		Prompt *Prompt
		Reply  *Reply
	}{e.Prompt, e.Reply})
	if err != nil { // neither has anything that JSON cannot write
		return err.Error()
	}
	return string(text)
}

func number(known map[int]int, n int) int {
	if n == 0 {
		return 0
	}
	if known[n] == 0 {
		known[n] = len(known) + 1
	}
	return known[n]
}

func (n *naming) secret(what, s string) string {
	if s == "" {
		return ""
	}
	if n.secrets[s] == "" {
		n.secrets[s] = fmt.Sprintf("%s-%d", what, len(n.secrets)+1)
	}
	return n.secrets[s]
}

// hider replaces the long secrets by their names; nil: there are none.
func (n *naming) hider() *strings.Replacer {
	var pairs []string
	for _, s := range slices.Sorted(maps.Keys(n.secrets)) {
		if len(s) >= longSecret {
			pairs = append(pairs, s, n.secrets[s])
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

func hidden(hide *strings.Replacer, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	return json.RawMessage(hide.Replace(string(raw)))
}

// differing names the first field in which two events differ; "": none. A kind or
// an action that differs says most, and goes first.
func differing(a, b *placed) string {
	switch {
	case a.Kind != b.Kind:
		return "Kind"
	case a.Action != b.Action:
		return "Action"
	case a.Tool != b.Tool:
		return "Tool"
	}
	x, y := reflect.ValueOf(&a.Event).Elem(), reflect.ValueOf(&b.Event).Elem()
	for i := range x.NumField() {
		if !alike(x.Field(i), y.Field(i)) {
			return x.Type().Field(i).Name
		}
	}
	switch {
	case a.talk == b.talk:
		return ""
	case a.Kind == KindCall:
		return "Prompt"
	}
	return "Reply"
}

// alike compares two values of one type, such as a field of two events. An empty text
// is as good as none.
func alike(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Uint8:
		return x.Uint() == y.Uint()
	case reflect.String:
		return x.String() == y.String()
	case reflect.Struct:
		for i := range x.NumField() {
			if !alike(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if x.Type().Elem().Kind() == reflect.Uint8 {
			return bytes.Equal(x.Bytes(), y.Bytes())
		}
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}
