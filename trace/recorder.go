package trace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// A Recorder writes down what happens. The zero value is ready to use: it
// reads real time, and keeps no argument, result or error text in clear.
//
// The fields must not be changed once recording has begun. All methods may be
// called by several goroutines at once.
type Recorder struct {
	// Clock tells the time. Nil is real time, which in a synctest bubble is
	// virtual. Code that runs on a clock.Mock hands the mock in.
	Clock clock.Clock

	// Key names the field of the arguments that holds the idempotency key, a
	// dotted path such as "meta.idempotency_key". Empty: arguments hold none.
	// Over HTTP the header Idempotency-Key is read as well.
	Key string

	// Keep is the allow-list: the fields of arguments and results that stay in
	// clear, by dotted path; an error's text has the path "error". All other
	// values become digests that still compare equal. Nil keeps none.
	Keep func(field string) bool

	// Clear keeps everything as it is, which suits tests with made-up data.
	Clear bool

	// DigestKey is the secret of the digests. Nil: a fresh random one, so that
	// digests compare within one recorder only.
	DigestKey []byte

	// Classify maps a tool's error to what it means. Nil is [Classify].
	Classify func(error) Outcome

	// Policy is the content of the policy in force, copied into the trace.
	Policy json.RawMessage

	mu     sync.Mutex
	begun  bool
	sealed bool
	start  time.Time
	events []Event
	calls  int
	ops    []*Op
	redact *redactor
	raw    []byte          // the latest arguments as they came …
	canon  json.RawMessage // … and what they became: a retry sends the same
	key    string
}

// An Op is an action that is being recorded: the handle that Begin returns.
type Op struct {
	r      *Recorder
	number int
	name   string
	open   bool
	lanes  []opLane
}

// An opLane counts an action's attempts at one tool.
type opLane struct {
	tool string
	role Role
	n    int
	args json.RawMessage
	key  string
}

type opKey struct{}

// Begin records that an action begins and returns a context that carries it.
// Actions of the same name get a number behind it: "pay", "pay#2".
func (r *Recorder) Begin(ctx context.Context, name string) (context.Context, *Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	o := &Op{r: r, number: len(r.ops) + 1, name: r.unused(name), open: true}
	r.ops = append(r.ops, o)
	r.add(Event{At: now, Kind: KindBegin, Action: o.name, Deadline: r.deadline(ctx)})
	return context.WithValue(ctx, opKey{}, o), o
}

// unused returns the name, with a number behind it where it is taken.
func (r *Recorder) unused(name string) string {
	n := 1
	for _, o := range r.ops {
		if o.name == name || (len(o.name) > len(name) && o.name[:len(name)] == name && o.name[len(name)] == '#') {
			n++
		}
	}
	if n == 1 {
		return name
	}
	return name + "#" + strconv.Itoa(n)
}

// Number is the action's place in the order of beginning, from 1.
func (o *Op) Number() int { return o.number }

// Name is the action's name in the trace.
func (o *Op) Name() string { return o.name }

// An Ending is what an action returned to its caller.
type Ending struct {
	Reason Reason          // what the program said; zero: nothing beyond Err
	Result json.RawMessage // canonical or not; nil: none
	Err    error           // nil: the action claims success
	Want   json.RawMessage // the result that the evidence calls for; nil: not known
	Cause  int             // the call whose error Err keeps; -1: of none; 0: not looked at
	Count  int             // the attempts that Err tells of; 0: it does not say
}

// End records that the action returned.
func (o *Op) End(e Ending) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.open = false
	o.r.add(Event{
		At: o.r.now(), Kind: KindEnd, Action: o.name, Reason: e.Reason,
		Result: o.r.hide(Canonical(e.Result)), Want: o.r.hide(Canonical(e.Want)), Error: o.r.errorText(e.Err), Cause: e.Cause, Count: e.Count,
	})
}

// Cancel records that the caller cancels the action. Call it before the
// cancel itself, so that the order of events is the order of causes.
func (o *Op) Cancel() { o.note(Event{Kind: KindCancel}) }

// Publish records a terminal that the program published for the action, such
// as a row in its store or a message to its user.
func (o *Op) Publish(reason Reason) { o.note(Event{Kind: KindPublish, Reason: reason}) }

// Trouble records a hang, leak, panic or spin of the action.
func (o *Op) Trouble(kind Kind, text string) { o.note(Event{Kind: kind, Error: text}) }

func (o *Op) note(e Event) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	e.At, e.Action = o.r.now(), o.name
	o.r.add(e)
}

// A Call is one physical execution asked of a tool, as it arrives.
type Call struct {
	Tool string
	Role Role            // zero: an attempt
	ID   string          // the id that the model or the protocol gave it; empty: none
	Args json.RawMessage // any JSON; kept in canonical form and never aliased
	Key  string          // the idempotency key, where it is not in Args
}

// A Pending call has begun and has not been answered.
type Pending struct {
	r      *Recorder
	op     *Op
	number int
	n      int
	action string
	tool   string
	key    string
	lost   bool
}

// Call records that a tool is reached and decides which action the attempt
// belongs to: the one that the context carries; else the one that used the
// same key; else the only open one; else the one that sent equal arguments to
// the tool; else the only one there is. A call that could belong to several is
// marked as ambiguous and judged by no invariant.
func (r *Recorder) Call(ctx context.Context, c Call) Pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	args, key := r.args(c)
	e := Event{
		At: r.now(), Kind: KindCall, Role: c.Role, Tool: c.Tool, CallID: c.ID, Key: key,
		Args: args, Deadline: r.deadline(ctx),
	}
	r.calls++
	e.Call = r.calls
	p := Pending{r: r, number: e.Call, tool: c.Tool, key: key}
	if o := r.owner(ctx, &c, key, args); o != nil {
		p.op, p.action = o, o.name
		p.n = o.count(&c, key, args)
	} else {
		p.lost, e.Ambiguous = true, true
	}
	e.Action = p.action
	r.add(e)
	return p
}

// args returns the canonical, redacted arguments and the key.
func (r *Recorder) args(c Call) (json.RawMessage, string) {
	if len(c.Args) == 0 {
		return nil, c.Key
	}
	if r.raw == nil || string(r.raw) != string(c.Args) {
		r.raw = append(r.raw[:0], c.Args...)
		canon, key := takeKey(Canonical(c.Args), r.Key)
		r.canon, r.key = r.hide(canon), key
	}
	if c.Key != "" {
		return r.canon, c.Key
	}
	return r.canon, r.key
}

// owner applies the rule of attribution. Nil: ambiguous.
func (r *Recorder) owner(ctx context.Context, c *Call, key string, args json.RawMessage) *Op {
	if o, ok := ctx.Value(opKey{}).(*Op); ok && o.r == r {
		return o
	}
	switch len(r.ops) {
	case 0: // nobody declared an action: there is one, without a name
		o := &Op{r: r, number: 1, open: true}
		r.ops = append(r.ops, o)
		return o
	case 1:
		return r.ops[0]
	}
	if key != "" {
		if o := r.only(func(o *Op) bool { return o.sent(c.Tool, func(l *opLane) bool { return l.key == key }) }); o != nil {
			return o
		}
	}
	if o := r.only(func(o *Op) bool { return o.open }); o != nil {
		return o
	}
	same := func(l *opLane) bool { return SameArgs(l.args, args) }
	any := func(*opLane) bool { return true }
	if slices.ContainsFunc(r.ops, func(o *Op) bool { return o.open && !o.sent(c.Tool, any) }) {
		return nil // it may as well be the first call of an action that has made none
	}
	if o := r.only(func(o *Op) bool { return o.open && o.sent(c.Tool, same) }); o != nil {
		return o
	}
	return r.only(func(o *Op) bool { return o.sent(c.Tool, same) })
}

// only returns the one action that matches; nil where none or several do.
func (r *Recorder) only(match func(*Op) bool) *Op {
	var found *Op
	for _, o := range r.ops {
		if match(o) {
			if found != nil {
				return nil
			}
			found = o
		}
	}
	return found
}

// sent reports whether the action has called the tool in a way that matches.
func (o *Op) sent(tool string, match func(*opLane) bool) bool {
	for i := range o.lanes {
		if o.lanes[i].tool == tool && match(&o.lanes[i]) {
			return true
		}
	}
	return false
}

// count returns the number of this call among the action's calls of the tool
// in the same role.
func (o *Op) count(c *Call, key string, args json.RawMessage) int {
	for i := range o.lanes {
		if l := &o.lanes[i]; l.tool == c.Tool && l.role == c.Role {
			l.n, l.args, l.key = l.n+1, args, key
			return l.n
		}
	}
	o.lanes = append(o.lanes, opLane{c.Tool, c.Role, 1, args, key})
	return 1
}

// Action is the number of the call's action, from 1; 0 where it is ambiguous.
func (p Pending) Action() int {
	if p.op == nil {
		return 0
	}
	return p.op.number
}

// Attempt is the number of the call among its action's calls of this tool,
// from 1; 0 where the action is ambiguous.
func (p Pending) Attempt() int { return p.n }

// Number is the number of the call over the whole trace, from 1.
func (p Pending) Number() int { return p.number }

// Key is the idempotency key that the call carried; empty: none.
func (p Pending) Key() string { return p.key }

// Interrupt records that the call's context ended while the tool was at work.
// It is needed only where the tool does not answer at once when that happens.
func (p Pending) Interrupt(o Outcome) { p.record(KindInterrupt, o, nil, nil) }

// Effect records that the tool did what it was asked.
func (p Pending) Effect() { p.record(KindEffect, Outcome{}, nil, nil) }

// Answer records the tool's answer: its result, or its error.
func (p Pending) Answer(o Outcome, result json.RawMessage, err error) {
	p.record(KindAnswer, o, result, err)
}

func (p Pending) record(kind Kind, o Outcome, result json.RawMessage, err error) {
	r := p.r
	r.mu.Lock()
	defer r.mu.Unlock()
	e := Event{
		At: r.now(), Kind: kind, Call: p.number, Action: p.action, Tool: p.tool,
		Outcome: o, Ambiguous: p.lost,
	}
	if kind == KindEffect {
		e.Key = p.key
	}
	if len(result) > 0 {
		e.Result = r.hide(Canonical(result))
	}
	if err != nil {
		e.Error = r.errorText(err)
	}
	r.add(e)
}

// Wait records that the program asks its sleeper for a wait of d.
func (r *Recorder) Wait(ctx context.Context, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := Event{At: r.now(), Kind: KindWait, Wait: d}
	if o := r.owner(ctx, &Call{}, "", nil); o != nil {
		e.Action = o.name
	} else {
		e.Ambiguous = true
	}
	r.add(e)
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

func (r *Recorder) trace(events []Event) *Trace {
	return &Trace{Schema: Schema, Policy: r.Policy, Start: r.start, Events: events}
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

func (r *Recorder) add(e Event) {
	if !r.sealed {
		r.events = append(r.events, e)
	}
}

// now is the time since the start, which is the time of the first event.
func (r *Recorder) now() time.Duration {
	var t time.Time
	if r.Clock == nil {
		t = time.Now()
	} else {
		t = r.Clock.Now()
	}
	if !r.begun {
		r.begun, r.start = true, t
	}
	return t.Sub(r.start)
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

// hide redacts a canonical value.
func (r *Recorder) hide(raw json.RawMessage) json.RawMessage {
	if r.Clear || len(raw) == 0 {
		return raw
	}
	return r.redactor().redact(raw)
}

func (r *Recorder) errorText(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if text == "" {
		text = "(an error without text)"
	}
	if r.Clear {
		return text
	}
	return r.redactor().text("error", text)
}

func (r *Recorder) redactor() *redactor {
	if r.redact == nil {
		r.redact = &redactor{keep: r.Keep, key: r.DigestKey}
		if r.redact.keep == nil {
			r.redact.keep = func(string) bool { return false }
		}
		if len(r.redact.key) == 0 {
			r.redact.key = make([]byte, 32)
			_, _ = rand.Read(r.redact.key) // never fails: crypto/rand crashes the program instead
		}
	}
	return r.redact
}

// Publish records a terminal that the program published for the action that
// ctx carries, or for the only open one.
func (r *Recorder) Publish(ctx context.Context, reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := Event{At: r.now(), Kind: KindPublish, Reason: reason}
	if o := r.owner(ctx, &Call{}, "", nil); o != nil {
		e.Action = o.name
	} else {
		e.Ambiguous = true
	}
	r.add(e)
}
