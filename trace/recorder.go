package trace

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// A Recorder writes down what happens. The zero value is ready to use: it
// reads real time, and keeps no argument, result, key or error text in clear.
//
// The fields must not be changed once recording has begun, and Keep must not
// call the recorder. All methods may be called by several goroutines at once.
type Recorder struct {
	// Clock tells the time. Nil is real time, which in a synctest bubble is
	// virtual. Code that runs on a clock.Mock hands the mock in. A clock that
	// is set back stands still in the trace until it has caught up.
	Clock clock.Clock

	// Key names the field of the arguments that holds the idempotency key, a
	// dotted path such as "meta.idempotency_key". Empty: arguments hold none.
	// Over HTTP it is a path in the body, and the header Idempotency-Key is
	// read as well.
	Key string

	// Credential says where a call carries its credential, such as a token: the
	// dotted path of a field of the arguments, or over HTTP the name of a
	// header, whose scheme ("Bearer") is left out. It is taken out of what is
	// compared as arguments, and recorded apart, so that a retry with a refreshed
	// one is no changed argument and still seen. Empty: credentials are not
	// looked at.
	Credential string

	// Definition says which version of the tool's definition, such as the schema
	// of its arguments, the program has when it calls: it is recorded with the
	// call, in clear, so that a failure after a change of the schema can be
	// reproduced. It is called before each call, by the goroutine that makes it; a
	// panic of it says nothing. Nil, or an empty answer: not known.
	Definition func(tool string) string

	// Keep is the allow-list: the fields of arguments and results that stay in
	// clear, by dotted path, with all that is inside them; [KeepError],
	// [KeepKey], [KeepCredential], [KeepCallID] and [KeepPath] stand for what is no field. All
	// other values become digests that still compare equal. Nil keeps none.
	// What the programmer chose stays in clear: names of actions, tools, layers and
	// fields, and error codes. A panic of Keep keeps nothing.
	Keep func(field string) bool

	// Clear keeps everything as it is, which suits tests with made-up data.
	Clear bool

	// DigestKey is the secret of the digests. Nil: a fresh random one, so that
	// digests compare within one recorder only.
	DigestKey []byte

	// Classify maps a tool's error to what it means. Nil is [Classify]. A panic
	// of it, or of the error's own methods, leaves the error [Unknown].
	Classify func(error) Outcome

	// Policy is the content of the policy in force, copied into the trace.
	Policy json.RawMessage

	// Beside is the content of what is declared beside the policy, such as
	// a breaker or a cache, copied into the trace.
	Beside json.RawMessage

	mu     sync.Mutex
	begun  bool
	sealed bool
	serves bool // a call has been served: see Serve
	start  time.Time
	latest time.Duration
	events []Event
	calls  int
	ops    []*Op
	names  map[string]int // names in use, and the highest number behind each; nil up to one action
	redact *redactor
	raw    []byte          // the latest arguments as they came …
	canon  json.RawMessage // … and what they became: a retry sends the same
	key    string          // … and the key that was in them
	cred   string          // … and the credential
	clear  string          // the latest key as it came …
	hidden string          // … and as the trace shows it
}

// Trace returns what has been recorded so far. Recording goes on.
func (r *Recorder) Trace() *Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace(append([]Event(nil), r.events...))
}

// Seal returns what has been recorded and ends the recording: later events
// are dropped. It hands over its storage instead of copying it.
func (r *Recorder) Seal() *Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = true
	tr := r.trace(r.events)
	r.events = nil
	return tr
}

// trace drops the clock's monotonic reading and zone, which no file can hold.
func (r *Recorder) trace(events []Event) *Trace {
	return &Trace{Schema: Schema, Policy: r.Policy, Beside: r.Beside, Start: r.start.Round(0).UTC(), Events: events}
}

// Recycle lets the recorder write into the storage of a trace that nobody
// reads any more. It does nothing once recording has begun.
func (r *Recorder) Recycle(t *Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == 0 && t != nil {
		clear(t.Events)
		r.events, t.Events = t.Events[:0], nil
	}
}

const firstEvents = 16 // room for the events of a usual trial, at about 340 bytes each

// next returns a zero event at the end of the trace, to be filled in at once:
// an Event is too large to be passed around.
func (r *Recorder) next() *Event {
	if r.sealed {
		return new(Event)
	}
	n := len(r.events)
	if n == cap(r.events) {
		// Doubling to the end: append's 1.25 would copy each event four times.
		grown := make([]Event, n, max(firstEvents, 2*n))
		copy(grown, r.events)
		r.events = grown
	}
	r.events = r.events[:n+1]
	return &r.events[n]
}

// now is the time since the start, which is the time of the first event. It
// never goes back.
func (r *Recorder) now() time.Duration {
	if !r.begun {
		r.begun, r.start = true, r.wall()
		return 0
	}
	if r.Clock == nil {
		r.latest = max(r.latest, time.Since(r.start)) // reads no wall clock: half the price of Now
	} else {
		r.latest = max(r.latest, r.Clock.Now().Sub(r.start))
	}
	return r.latest
}

// wall is the time of day.
func (r *Recorder) wall() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock.Now()
}

// deadline is the instant at which ctx ends; 0: it has no deadline. A deadline
// at the very start reads as one nanosecond before it, since 0 says none.
func (r *Recorder) deadline(ctx context.Context) time.Duration {
	d, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	if at := d.Sub(r.start); at != 0 {
		return at
	}
	return -1
}

// definition asks for the version of the tool's definition.
func (r *Recorder) definition(tool string) (version string) {
	defer func() {
		if recover() != nil {
			version = "" // what observes must not change what happens
		}
	}()
	return r.Definition(tool)
}

// hide redacts a canonical value.
func (r *Recorder) hide(raw json.RawMessage) json.RawMessage {
	if r.Clear || len(raw) == 0 {
		return raw
	}
	return r.redactor().redact(raw)
}

// hideText redacts a text that is no field.
func (r *Recorder) hideText(field, text string) string {
	if r.Clear || text == "" {
		return text
	}
	return r.redactor().text(field, text)
}

// hideKey redacts an idempotency key: programs build it from what they must
// not show, such as an account and an amount. Retries send the same, so the
// latest is remembered.
func (r *Recorder) hideKey(key string) string {
	if r.Clear || key == "" {
		return key
	}
	if r.clear != key {
		r.clear, r.hidden = key, key
		if d := r.redactor(); r.Key == "" || !d.keep(r.Key) {
			r.hidden = d.text(KeepKey, key)
		}
	}
	return r.hidden
}

func (r *Recorder) redactor() *redactor {
	if r.redact == nil {
		r.redact = newRedactor(r.Keep, r.DigestKey)
	}
	return r.redact
}

// textOf is the error's text, never empty where there is an error. It is read
// before the recorder is locked, and a panic in it stays here: what observes
// must not change what happens.
func textOf(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = "(an error whose text panicked)"
		}
	}()
	if text = err.Error(); text == "" {
		text = "(an error without text)"
	}
	return text
}
