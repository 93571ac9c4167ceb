package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A desk is what a tool, a route and a model have in common: a script, the way to
// the test, and where calls are written down. A is an answer of the script.
type desk[A any] struct {
	name   string
	made   double.Pos // where the tool or route was made
	id     string     // tells its reports from those of others at the same door
	t      TB
	door   *double.Door
	rec    *trace.Recorder
	clock  clock.Clock // nil: that of rec
	role   trace.Role
	fields double.Fields
	ledger *Ledger // nil: none
	spare  bool    // unused steps are allowed

	mu     sync.Mutex // never held while anything waits
	script double.Script[A]
	broken bool // a bad line has been reported: what follows from it is not
}

// waits is the clock on which latencies run; nil is real time.
func (d *desk[A]) waits() clock.Clock {
	if d.clock != nil {
		return d.clock
	}
	return d.rec.Clock
}

func (d *desk[A]) into(r *trace.Recorder, at double.Pos) {
	d.t.Helper()
	if r == nil {
		d.misuse("Into(nil)", at, "there is no recorder; give one, or leave Into out")
		return
	}
	d.rec = r
}

// misuse reports a bad line of the script: what it is, and what to do.
func (d *desk[A]) misuse(what string, at double.Pos, advice string) {
	d.t.Helper()
	d.mu.Lock()
	d.broken = true
	d.mu.Unlock()
	d.door.Report(d.id+"misuse", "scripted: %s: %s at %s: %s", d.name, what, at, advice)
}

// add appends a step.
func (d *desk[A]) add(name string, at double.Pos, answer A, timing double.Timing) {
	d.t.Helper()
	d.mu.Lock()
	last := d.script.Last()
	d.script.Add(name, at, answer).Timing = timing
	d.mu.Unlock()
	if last != nil && last.Times == double.Any {
		d.misuse(name, at, fmt.Sprintf("it is never reached, since %s at %s answers any number of calls; put it before, or give that one Times", last.Name, last.Pos))
	}
}

// modify changes the step that was written last, unless change returns advice.
func (d *desk[A]) modify(name string, at double.Pos, change func(*double.Step[A]) (advice string)) {
	d.t.Helper()
	d.mu.Lock()
	step := d.script.Last()
	advice := "there is no step before it; write the step first"
	if step != nil {
		name += " on " + step.Name
		advice = change(step)
	}
	d.mu.Unlock()
	if advice != "" {
		d.misuse(name, at, advice)
	}
}

func (d *desk[A]) times(n int, at double.Pos) {
	d.t.Helper()
	d.modify(fmt.Sprintf("Times(%d)", n), at, func(s *double.Step[A]) string {
		if n < 1 {
			return "a step answers at least once; give 1 or more, or leave the step out"
		}
		s.Times = n
		return ""
	})
}

func (d *desk[A]) any(at double.Pos) {
	d.t.Helper()
	d.modify("Any", at, func(s *double.Step[A]) string {
		s.Times = double.Any
		return ""
	})
}

func (d *desk[A]) after(latency time.Duration, at double.Pos) {
	d.t.Helper()
	d.modify(fmt.Sprintf("After(%v)", latency), at, func(s *double.Step[A]) string {
		switch {
		case latency < 0:
			return "an answer cannot come before its call; give a latency of 0 or more"
		case s.Timing.Hang:
			return "a hang ends with the context and not after a time; leave After out, or use a step that answers"
		}
		s.Timing.Latency = latency
		return ""
	})
}

func (d *desk[A]) deaf(at double.Pos) {
	d.t.Helper()
	d.modify("Deaf", at, func(s *double.Step[A]) string {
		s.Timing.Deaf = true
		return ""
	})
}

// fails returns how a step reads that fails with err, and the error that it has.
func (d *desk[A]) fails(name string, at double.Pos, class trace.Class, err error, done bool, success string) (trace.Outcome, error) {
	d.t.Helper()
	advice := unfitClass(class, done, success)
	switch {
	case err == nil:
		d.misuse(fmt.Sprintf("%s(%s, nil)", name, className(class)), at, "a nil error is a success; give an error, or use "+success)
		err = errors.New("scripted: a failure without an error")
	case advice != "":
		d.misuse(fmt.Sprintf("%s(%s, …)", name, className(class)), at, advice)
	}
	outcome := trace.Classify(err)
	outcome.Class = class
	return outcome, err
}

// classify reads the error of a step's function.
func (d *desk[A]) classify(err error) trace.Outcome {
	if _, ours := errors.AsType[*Conflict](err); ours || err == nil || d.rec.Classify == nil {
		return trace.Classify(err)
	}
	return d.rec.Classify(err)
}

// setHint lets a failure ask for a wait, unless it returns advice.
func setHint(o *trace.Outcome, wait time.Duration) (advice string) {
	if wait < 0 {
		return "nobody asks for a wait in the past; give 0 or more"
	}
	o.Hint = wait
	return ""
}

// An arrival is a call that has been written down.
type arrival[A any] struct {
	trace.Pending
	step *double.Step[A] // nil: the script is used up
	call int             // number of the call at this desk, from 1
	args json.RawMessage
}

// arrive writes the call down and takes its step. note runs in the same order
// as the calls are numbered, and must not wait.
func (d *desk[A]) arrive(ctx context.Context, c trace.Call, note func()) arrival[A] {
	d.mu.Lock()
	defer d.mu.Unlock()
	note()
	c.Tool, c.Role = d.name, d.role
	a := arrival[A]{args: c.Args, Pending: d.rec.Call(ctx, c)}
	a.step, a.call = d.script.Take()
	return a
}

// unreturned is the answer of a step's function that panicked or ended its
// goroutine.
var unreturned = errors.New("scripted: the step's function did not return")

// guard is deferred around a step's function: the call has an answer in the
// trace even where the function does not return.
func (a *arrival[A]) guard(returned *bool) {
	if !*returned {
		a.Answer(trace.Outcome{Class: trace.Unknown}, nil, unreturned)
	}
}

// extra reports a call for which there is no step and returns its error. what is a
// line that shows what it came with; see arguments.
func (d *desk[A]) extra(a arrival[A], what string) error {
	d.t.Helper()
	d.mu.Lock()
	text := fmt.Sprintf("scripted: %s: call %d is one too many: %s", d.name, a.call, d.scope())
	broken := d.broken
	d.mu.Unlock()
	if !broken {
		d.door.Report(d.id+"extra", "%s%s\n\tAdd the step that answers it, or %s.", text, what, stop(a.call))
	}
	err := &Error{Tool: d.name, Call: a.call, Text: text, Err: ErrExtraCall}
	a.Answer(err.Outcome(), nil, err)
	return err
}

func stop(call int) string {
	if call == 1 {
		return "do not make the call"
	}
	return fmt.Sprintf("stop the caller after call %d", call-1)
}

// scope describes the script's length and where it ends. d.mu is held.
func (d *desk[A]) scope() string {
	last := d.script.Last()
	if last == nil {
		return "the script is empty, made at " + d.made.String()
	}
	return fmt.Sprintf("the script answers %s and ends with %s at %s", plural(d.script.Len(), "call"), last.Name, last.Pos)
}

// arguments is a line that shows them, where the recorder shows them too.
func (d *desk[A]) arguments(args json.RawMessage) string { return d.shown("arguments", string(args)) }

// shown is a line of a report with a text of the caller's, where the recorder
// shows it too.
func (d *desk[A]) shown(what, text string) string {
	const most = 300
	if !d.rec.Clear || text == "" {
		return ""
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return "\n\t" + what + ": " + text
}

// finish reports the steps that no call has used.
func (d *desk[A]) finish() {
	d.t.Helper()
	d.mu.Lock()
	lines, n := d.script.Unused()
	total, calls := d.script.Len(), d.script.Calls()
	quiet := d.spare || d.broken
	d.mu.Unlock()
	if n > 0 && !quiet {
		d.door.Report(d.id+"unused", "scripted: %s: %d of %s not used; it was called %s:%s\n\tMake the calls, drop the steps, or allow it with AllowUnused.",
			d.name, n, plural(total, "answer"), plural(calls, "time"), lines)
	}
}

// counts tells whether a ledger counts the effects. Fetching credentials and
// asking what became of an attempt are no work of the action.
func (d *desk[A]) counts() bool { return d.ledger != nil && d.role == trace.RoleAttempt }

// happen lets the tool have its effect, whose result is there, and returns the
// result that counts: with a ledger that knows the key, the earlier one.
func (d *desk[A]) happen(a arrival[A], result any) (any, error) {
	if !d.counts() {
		a.Effect()
		return result, nil
	}
	result, first, err := d.ledger.Put(d.effect(a), result)
	if first {
		a.Effect()
	}
	return result, err
}

// lose lets the tool have its effect, whose result nobody learns.
func (d *desk[A]) lose(a arrival[A]) error {
	if !d.counts() {
		a.Effect()
		return nil
	}
	first, err := d.ledger.Lose(d.effect(a))
	if first {
		a.Effect()
	}
	return err
}

// perform lets the tool have its effect by calling do, and returns the result
// that counts. There is a ledger.
func (d *desk[A]) perform(a arrival[A], do func() (any, error)) (any, error) {
	result, first, err := d.ledger.Apply(d.effect(a), do)
	if first {
		a.Effect()
	}
	return result, err
}

func (d *desk[A]) effect(a arrival[A]) Effect {
	return Effect{Tool: d.name, Key: a.Key(), Action: a.Action(), Args: a.args}
}

// unfitClass is advice on a class that a failure cannot have; done says that
// the effect happens all the same, success which step to use in its place.
func unfitClass(class trace.Class, done bool, success string) string {
	switch {
	case !failure(class):
		return "a failure needs a class that says what failed, such as trace.Transient; for a success use " + success
	case done && class == trace.NotConnected:
		return "a call that was never sent has no effect; use trace.Reset or trace.Timeout"
	}
	return ""
}

// failure tells whether class is of the list and no success.
func failure(class trace.Class) bool { return class > trace.OK && class <= trace.Unknown }

func className(class trace.Class) string {
	if class == 0 {
		return "no class"
	}
	return class.String()
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
