package trace

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// An Op is an action that is being recorded: the handle that Begin returns.
type Op struct {
	r         *Recorder
	number    int
	implied   bool // nobody declared it: calls came before any action
	name      string
	open      bool
	served    string          // the caller's key of a served call; empty: none
	cancelled bool            // a cancel has been recorded
	life      int             // how often its process has died
	again     *Op             // that it does again, at somebody's word; nil: none
	watch     context.Context // the caller's context, while Do runs; nil: cancels are told by Cancel
	does      bool            // Do runs it
	errs      []seenError     // of its latest attempts, while Do runs
	lanes     []opLane
	asks      []ask     // what models have asked for in it
	layers    entries   // how often each outermost layer was entered
	first     [1]opLane // storage of the first of them
	ctx       opContext
}

// An opContext is a context that carries an action.
type opContext struct {
	context.Context
	op *Op
}

func (c *opContext) Value(key any) any {
	if key == (opKey{}) {
		return c.op
	}
	return c.Context.Value(key)
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
	return r.open(ctx, name, nil)
}

func (r *Recorder) open(ctx context.Context, name string, again *Op) (context.Context, *Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, _ := r.begin(ctx, name, again)
	return &o.ctx, o
}

// begin is open for whoever holds r.mu; it returns the event as well.
func (r *Recorder) begin(ctx context.Context, name string, again *Op) (*Op, *Event) {
	if len(r.ops) == 1 && r.ops[0].implied {
		r.ops[0].open = false // actions are declared from now on
	}
	at := r.now()
	o := &Op{r: r, number: len(r.ops) + 1, name: r.unused(name), open: true, again: again}
	r.ops = append(r.ops, o)
	e := r.next()
	e.At, e.Kind, e.Action, e.Deadline = at, KindBegin, o.name, r.deadline(ctx)
	if again != nil {
		e.Count = again.number
	}
	o.ctx = opContext{ctx, o}
	return o, e
}

// BeginAgain records that an action that has ended is begun again at somebody's
// word, such as an operator's: it is the same intention, and an action of its own
// with attempts, clock and end of its own.
func (r *Recorder) BeginAgain(ctx context.Context, of *Op) (context.Context, *Op) {
	return r.open(ctx, of.root().name, of)
}

// root is the action that was begun first of those that do the same.
func (o *Op) root() *Op {
	for o.again != nil {
		o = o.again
	}
	return o
}

// unused returns the name, with a number behind it where it is taken.
func (r *Recorder) unused(name string) string {
	if len(r.ops) == 0 {
		return name
	}
	if r.names == nil {
		r.names = map[string]int{r.ops[0].name: 1}
	}
	free, n := name, r.names[name]
	for n > 0 && r.names[free] > 0 {
		n++
		free = name + "#" + strconv.Itoa(n)
	}
	r.names[name] = max(n, 1)
	r.names[free] = max(r.names[free], 1)
	return free
}

// A seenError is the error of an attempt as the program saw it; nil: it saw none
// that it could keep, as with an HTTP status, or the end of its own context.
type seenError struct {
	call int
	err  error
}

// saw remembers the error of an attempt, for cause.
func (o *Op) saw(call int, err error) {
	const most = 32 // earlier ones are not told apart from none
	n := len(o.errs)
	switch {
	case !o.does, n > 0 && o.errs[n-1].call == call: // what comes after an interrupt is late
	case n == most:
		copy(o.errs, o.errs[1:])
		o.errs[n-1] = seenError{call, err}
	default:
		o.errs = append(o.errs, seenError{call, err})
	}
}

// cause is the call whose error err keeps: it wraps it, or has its text.
func (o *Op) cause(err error) (call int) {
	o.r.mu.Lock()
	errs := append([]seenError(nil), o.errs...)
	o.does, o.errs = false, nil
	o.r.mu.Unlock()
	if err == nil || len(errs) == 0 || errs[len(errs)-1].err == nil {
		return 0
	}
	defer func() {
		if recover() != nil {
			call = 0 // an error that cannot be looked at
		}
	}()
	for i := len(errs) - 1; i >= 0; i-- {
		if e := errs[i].err; e != nil && keeps(err, e) {
			return errs[i].call
		}
	}
	return -1
}

// keeps reports whether the error wraps the cause or has its text. At a cause that
// cannot be compared, because a field holds a list, errors.Is panics.
func keeps(err, cause error) bool {
	return reflect.ValueOf(cause).Comparable() && errors.Is(err, cause) || strings.Contains(err.Error(), cause.Error())
}

// Number is the action's place in the order of beginning, from 1.
func (o *Op) Number() int { return o.number }

// Name is the action's name in the trace.
func (o *Op) Name() string { return o.name }

// An Ending is what an action returned to its caller.
type Ending struct {
	Reason Reason          // what the program said; zero: nothing beyond Err
	Result json.RawMessage // canonical or not; nil: none
	Want   json.RawMessage // the result that the evidence calls for; nil: not known
	Err    error           // nil: the action claims success
	Cause  int             // the call whose error Err keeps; -1: of none; 0: not looked at
	Count  int             // the attempts that Err tells of; 0: it does not say
	Code   string          // of a call that was served: how it was refused; see [Recorder.Serve]
}

// End records that the action returned.
func (o *Op) End(end Ending) {
	text := textOf(end.Err)
	result, want := Canonical(end.Result), Canonical(end.Want)
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.notice()
	o.open, o.watch = false, nil
	at := o.r.now()
	e := o.r.next()
	e.At, e.Kind, e.Action, e.Reason = at, KindEnd, o.name, end.Reason
	e.Result, e.Want = o.r.hide(result), o.r.hide(want)
	e.Error, e.Cause, e.Count = o.r.hideText(KeepError, text), end.Cause, end.Count
	e.Outcome.Code = end.Code
}

// close ends an action that does not return.
func (o *Op) close() {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.open, o.watch = false, nil
}

// Cancel records that the caller cancels the action. Call it before the
// cancel itself, so that the order of events is the order of causes. [Do] does
// it on its own.
func (o *Op) Cancel() {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.cancel()
}

func (o *Op) cancel() {
	at := o.r.now()
	e := o.r.next()
	e.At, e.Kind, e.Action = at, KindCancel, o.name
	o.cancelled = true
}

// notice records the cancel of a watched context before whatever came of it.
func (o *Op) notice() {
	if o.watch != nil && !o.cancelled && o.watch.Err() == context.Canceled {
		o.cancel()
	}
}

// Publish records a terminal that the program published for the action, such
// as a row in its store or a message to its user.
func (o *Op) Publish(reason Reason) { o.note(KindPublish, reason, "") }

// Publish records a terminal that the program published for the action that
// ctx carries, or else for the only open one.
func (r *Recorder) Publish(ctx context.Context, reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.owner(ctx, "", "", nil); o != nil {
		o.put(KindPublish, reason, "")
		return
	}
	at := r.now()
	e := r.next()
	e.At, e.Kind, e.Reason, e.Ambiguous = at, KindPublish, reason, true
}

// Trouble records a hang, leak, panic or spin of the action.
func (o *Op) Trouble(kind Kind, text string) { o.note(kind, 0, text) }

func (o *Op) note(kind Kind, reason Reason, text string) {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.put(kind, reason, text)
}

func (o *Op) put(kind Kind, reason Reason, text string) *Event {
	o.notice()
	at := o.r.now()
	e := o.r.next()
	e.At, e.Kind, e.Action, e.Reason = at, kind, o.name, reason
	e.Error = o.r.hideText(KeepError, text)
	return e
}

// ActionName is the name of the action that ctx carries, the same over all
// restarts of its process, and where it is done again at somebody's word; empty:
// it carries none. An adapter can hand it to
// code that takes the id of a request from its caller.
func ActionName(ctx context.Context) string {
	if o, ok := ctx.Value(opKey{}).(*Op); ok {
		return o.root().name
	}
	return ""
}
