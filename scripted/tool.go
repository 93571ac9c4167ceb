package scripted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Tool is a double of a tool that is a Go function. Its script is a strict
// queue: each call takes the next step, a call after the last step is
// reported, and so is a step that no call has taken by the end of the test.
// Steps are added by [Tool.Return], [Tool.Fail], [Tool.Lose], [Tool.Hang],
// [Tool.Panic] and [Tool.Do], and the step that was added last is changed by
// [Tool.Times], [Tool.Any], [Tool.After], [Tool.Deaf], [Tool.Done],
// [Tool.Means] and [Tool.Hint].
//
// Write the script before the first call. The calls may come from several
// goroutines at once. Only NewTool makes a Tool.
type Tool[In, Out any] struct {
	desk[answer[In, Out]]
	args []In
}

// An answer is what a step of a tool does.
type answer[In, Out any] struct {
	outcome trace.Outcome
	out     Out
	err     error
	do      trace.Func[In, Out] // nil: out and err are the answer
	panics  bool
	value   any  // of the panic
	done    bool // the effect happens when the call arrives
}

// NewTool returns a tool without steps. It writes down its calls, arguments
// and results in clear in a recorder of its own; see [Tool.Into].
func NewTool[In, Out any](t TB, name string) *Tool[In, Out] {
	t.Helper()
	tool := &Tool[In, Out]{}
	tool.desk = desk[answer[In, Out]]{
		name: name, made: double.Caller(0), t: t, rec: &trace.Recorder{Clear: true},
	}
	tool.door = double.NewDoor(t, tool.finish)
	return tool
}

// Into lets the tool write into r, which several doubles may share. The clock
// of r is then the tool's too.
func (t *Tool[In, Out]) Into(r *trace.Recorder) *Tool[In, Out] {
	t.t.Helper()
	t.into(r, double.Caller(0))
	return t
}

// Clock lets latencies run on c. Nil is the recorder's clock, which by default
// is real time and virtual in a synctest bubble.
func (t *Tool[In, Out]) Clock(c clock.Clock) *Tool[In, Out] {
	t.clock = c
	return t
}

// Ledger lets the tool's effects be counted by l, and be deduplicated where l
// does that. An effect is an answer of Return (unless it means something other
// than ok), a Do without an error, and every step that is Done or Lost. A tool
// of another role than [trace.RoleAttempt] is not counted.
func (t *Tool[In, Out]) Ledger(l *Ledger) *Tool[In, Out] {
	t.ledger = l
	return t
}

// Key names the field of the arguments that holds the idempotency key: the
// dotted path of its JSON names, "meta.idempotency_key". The key is taken out
// of the arguments that are compared between attempts.
func (t *Tool[In, Out]) Key(path string) *Tool[In, Out] {
	t.fields.Key = path
	return t
}

// Volatile names fields, by dotted paths, that differ between attempts by
// nature, such as timestamps and signatures: they are not compared.
func (t *Tool[In, Out]) Volatile(paths ...string) *Tool[In, Out] {
	t.fields.Volatile = append(t.fields.Volatile, paths...)
	return t
}

// As says what the calls are for. Only calls of [trace.RoleAttempt], which is
// what they are by default, count as attempts.
func (t *Tool[In, Out]) As(role trace.Role) *Tool[In, Out] {
	t.role = role
	return t
}

// AllowUnused lets steps stay unused without a report.
func (t *Tool[In, Out]) AllowUnused() *Tool[In, Out] {
	t.spare = true
	return t
}

// Return adds a step that answers out. The caller gets a copy.
func (t *Tool[In, Out]) Return(out Out) *Tool[In, Out] {
	t.t.Helper()
	return t.step("Return", double.Caller(0), answer[In, Out]{
		out: double.Clone(out), outcome: trace.Outcome{Class: trace.OK},
	})
}

// Fail adds a step that fails with err, and says how a caller should read that.
// Hint, code and advice are read off err by [trace.Classify].
func (t *Tool[In, Out]) Fail(class trace.Class, err error) *Tool[In, Out] {
	t.t.Helper()
	return t.failing("Fail", double.Caller(0), class, err, false)
}

// Lose adds a step in which the tool does what it is asked and the reply is
// lost: the effect happens when the call arrives, whatever becomes of its
// context, and the caller gets err, which reads as class: [trace.Reset] or
// [trace.Timeout] as a rule.
func (t *Tool[In, Out]) Lose(class trace.Class, err error) *Tool[In, Out] {
	t.t.Helper()
	return t.failing("Lose", double.Caller(0), class, err, true)
}

// Hang adds a step that answers with the context's error once the context
// ends, and never where it does not. With [Tool.Deaf] it never answers: its
// goroutine stays behind.
func (t *Tool[In, Out]) Hang() *Tool[In, Out] {
	t.t.Helper()
	t.add("Hang", double.Caller(0), answer[In, Out]{}, double.Timing{Hang: true})
	return t
}

// Panic adds a step that panics with value in the caller's goroutine. It is
// written down as an answer of class unknown.
func (t *Tool[In, Out]) Panic(value any) *Tool[In, Out] {
	t.t.Helper()
	return t.step("Panic", double.Caller(0), answer[In, Out]{panics: true, value: value})
}

// Do adds a step that calls f with the caller's own arguments. Its error is
// read by the recorder's Classify, or by [trace.Classify]. f runs in the
// caller's goroutine, so it must not call FailNow or Fatal; [Tool.Deaf]
// changes nothing for the context that f gets.
func (t *Tool[In, Out]) Do(f trace.Func[In, Out]) *Tool[In, Out] {
	t.t.Helper()
	at := double.Caller(0)
	if f == nil {
		t.misuse("Do(nil)", at, "there is no function to call; give one")
		f = func(context.Context, In) (out Out, err error) { return out, errors.New("scripted: Do(nil)") }
	}
	return t.step("Do", at, answer[In, Out]{do: f})
}

func (t *Tool[In, Out]) step(name string, at double.Pos, a answer[In, Out]) *Tool[In, Out] {
	t.t.Helper()
	t.add(name, at, a, double.Timing{})
	return t
}

func (t *Tool[In, Out]) failing(name string, at double.Pos, class trace.Class, err error, done bool) *Tool[In, Out] {
	t.t.Helper()
	outcome, err := t.fails(name, at, class, err, done, "Return")
	return t.step(name, at, answer[In, Out]{outcome: outcome, err: err, done: done})
}

// Times lets the step before it answer n calls in a row, n ≥ 1.
func (t *Tool[In, Out]) Times(n int) *Tool[In, Out] {
	t.t.Helper()
	t.times(n, double.Caller(0))
	return t
}

// Any lets the step before it answer every further call, none included. It
// is the last step.
func (t *Tool[In, Out]) Any() *Tool[In, Out] {
	t.t.Helper()
	t.any(double.Caller(0))
	return t
}

// After lets the answer of the step before it come after a latency. Where the
// context ends first, the answer is its error, at that instant; where both
// fall on the same instant, either may win.
func (t *Tool[In, Out]) After(latency time.Duration) *Tool[In, Out] {
	t.t.Helper()
	t.after(latency, double.Caller(0))
	return t
}

// Deaf lets the step before it ignore the context: it answers at its own
// time, however late. The end of the context is written down when it comes.
func (t *Tool[In, Out]) Deaf() *Tool[In, Out] {
	t.t.Helper()
	t.deaf(double.Caller(0))
	return t
}

// Done lets the effect of the step before it happen when the call arrives,
// whatever it answers and whenever: a Hang that is Done did what was asked.
func (t *Tool[In, Out]) Done() *Tool[In, Out] {
	t.t.Helper()
	t.modify("Done", double.Caller(0), func(s *double.Step[answer[In, Out]]) string {
		if s.Answer.do != nil {
			return "a function has its effect when it returns; leave Done out"
		}
		s.Answer.done = true
		return ""
	})
	return t
}

// Means says how a caller should read the answer of the step before it, where
// that is not what its kind says: Return(no).Means(trace.Declined).
func (t *Tool[In, Out]) Means(class trace.Class) *Tool[In, Out] {
	t.t.Helper()
	t.modify(fmt.Sprintf("Means(%s)", className(class)), double.Caller(0), func(s *double.Step[answer[In, Out]]) string {
		switch {
		case class != trace.OK && !failure(class):
			return "give a class of package trace"
		case s.Answer.outcome.Class == 0:
			return "this step says by itself how it reads; leave Means out"
		case class == trace.OK && s.Answer.err != nil:
			return "an error is no success; use Return"
		}
		s.Answer.outcome.Class = class
		return ""
	})
	return t
}

// Hint says which wait the answer of the step before it asks for, for tools
// whose errors carry one. It changes only what is written down.
func (t *Tool[In, Out]) Hint(wait time.Duration) *Tool[In, Out] {
	t.t.Helper()
	t.modify(fmt.Sprintf("Hint(%v)", wait), double.Caller(0), func(s *double.Step[answer[In, Out]]) string {
		if s.Answer.err == nil && wait >= 0 {
			return "only a failure asks for a wait; put it after Fail or Lose"
		}
		return setHint(&s.Answer.outcome, wait)
	})
	return t
}

// Args returns the arguments of all calls as they were when they arrived, in
// order.
func (t *Tool[In, Out]) Args() []In {
	t.mu.Lock()
	defer t.mu.Unlock()
	return double.Clone(t.args)
}

// Calls is how often the tool was called.
func (t *Tool[In, Out]) Calls() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.script.Calls()
}

// Trace returns what has been written down so far.
func (t *Tool[In, Out]) Trace() *trace.Trace { return t.rec.Trace() }
