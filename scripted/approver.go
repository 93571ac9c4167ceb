package scripted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// An Approver is a double of whoever gives leave for calls of tools: a person, or
// a service. Its script is a strict queue, as that of a [Tool]. Steps are added by
// [Approver.Grant], [Approver.Deny], [Approver.Fail], [Approver.Hang] and
// [Approver.Do], and the step that was added last is changed by [Approver.ID],
// [Approver.Expires], [Approver.Hint], [Approver.Times], [Approver.Any],
// [Approver.After] and [Approver.Deaf].
//
// One who answers only when the program has been started again is Hang, which the
// end of the first process's context ends, and behind it Grant.
//
// Write the script before the first call. The calls may come from several
// goroutines at once. Only NewApprover makes an Approver.
type Approver struct {
	desk[leave]
	ids   int
	asked []trace.ToolCall
}

// A leave is what a step of an approver does.
type leave struct {
	outcome trace.Outcome // of err
	err     error
	given   trace.Approval
	lives   time.Duration // from the answer to the end of the leave
	ends    bool          // it has such an end
	do      trace.ApproveFunc
	answers bool // it is Grant or Deny
}

// NewApprover returns an approver without steps, of the name "approver"; see
// [Approver.Named]. It writes down its calls in clear in a recorder of its own, as
// calls of [trace.RoleApproval] with the arguments {"tool":…,"arguments":…} and the
// result {"approved":…}; see [Approver.Into].
func NewApprover(t TB) *Approver {
	t.Helper()
	v := &Approver{}
	v.desk = desk[leave]{
		name: "approver", role: trace.RoleApproval, made: double.Caller(0), t: t, rec: &trace.Recorder{Clear: true},
	}
	v.door = double.NewDoor(t, v.finish)
	return v
}

// Named gives the approver another name, which tells it from others in a trace.
func (v *Approver) Named(name string) *Approver {
	v.name = name
	return v
}

// Into lets the approver write into r, which other doubles may share. The clock of
// r is then the approver's too.
func (v *Approver) Into(r *trace.Recorder) *Approver {
	v.t.Helper()
	v.into(r, double.Caller(0))
	return v
}

// Clock lets latencies and the ends of leaves run on c. Nil is the recorder's
// clock, which by default is real time and virtual in a synctest bubble.
func (v *Approver) Clock(c clock.Clock) *Approver {
	v.clock = c
	return v
}

// AllowUnused lets steps stay unused without a report.
func (v *Approver) AllowUnused() *Approver {
	v.spare = true
	return v
}

// Grant adds a step that gives leave. It gets an id: approval_1, approval_2 and so
// on, over all that the approver gives; see [Approver.ID].
func (v *Approver) Grant() *Approver {
	v.t.Helper()
	v.add("Grant", double.Caller(0), leave{given: trace.Approval{Granted: true}, answers: true}, double.Timing{})
	return v
}

// Deny adds a step that gives no leave. It is an answer and no failure; the trace
// has it as declined.
func (v *Approver) Deny(reason string) *Approver {
	v.t.Helper()
	v.add("Deny", double.Caller(0), leave{given: trace.Approval{Reason: reason}, answers: true}, double.Timing{})
	return v
}

// Fail adds a step that fails with err, so that nobody knows whether there is
// leave, and says how a caller should read that. Hint, code and advice are read off
// err by [trace.Classify].
func (v *Approver) Fail(class trace.Class, err error) *Approver {
	v.t.Helper()
	at := double.Caller(0)
	outcome, err := v.fails("Fail", at, class, err, false, "Grant")
	v.add("Fail", at, leave{outcome: outcome, err: err}, double.Timing{})
	return v
}

// Hang adds a step that answers with the context's error once the context ends,
// and never where it does not. With [Approver.Deaf] it never answers: its
// goroutine stays behind.
func (v *Approver) Hang() *Approver {
	v.t.Helper()
	v.add("Hang", double.Caller(0), leave{}, double.Timing{Hang: true})
	return v
}

// Do adds a step that f answers. f runs in the caller's goroutine, so it must not
// call FailNow or Fatal; [Approver.Deaf] changes nothing for the context that f
// gets.
func (v *Approver) Do(f trace.ApproveFunc) *Approver {
	v.t.Helper()
	at := double.Caller(0)
	if f == nil {
		v.misuse("Do(nil)", at, "there is no function to call; give one")
		f = func(context.Context, trace.ToolCall) (trace.Approval, error) {
			return trace.Approval{}, errors.New("scripted: Do(nil)")
		}
	}
	v.add("Do", at, leave{do: f}, double.Timing{})
	return v
}

// ID gives the leave of the step before it this id, which another may have too.
func (v *Approver) ID(id string) *Approver {
	v.t.Helper()
	return v.changes(fmt.Sprintf("ID(%q)", id), double.Caller(0), func(l *leave) string {
		l.given.ID = id
		return ""
	})
}

// Expires lets the leave of the step before it end so long after it was given: 0 is
// a leave that is worth nothing when it comes. Without it a leave stays.
func (v *Approver) Expires(after time.Duration) *Approver {
	v.t.Helper()
	return v.changes(fmt.Sprintf("Expires(%v)", after), double.Caller(0), func(l *leave) string {
		switch {
		case after < 0:
			return "no leave ends before it is given; give 0 or more"
		case !l.given.Granted:
			return "what is not given does not end; put it behind Grant"
		}
		l.lives, l.ends = after, true
		return ""
	})
}

// Hint says which wait the failure before it asks for. It changes only what is
// written down.
func (v *Approver) Hint(wait time.Duration) *Approver {
	v.t.Helper()
	v.modify(fmt.Sprintf("Hint(%v)", wait), double.Caller(0), func(s *double.Step[leave]) string {
		if s.Answer.err == nil && wait >= 0 {
			return "only a failure asks for a wait; put it behind Fail"
		}
		return setHint(&s.Answer.outcome, wait)
	})
	return v
}

// Times lets the step before it answer n calls in a row, n ≥ 1.
func (v *Approver) Times(n int) *Approver {
	v.t.Helper()
	v.times(n, double.Caller(0))
	return v
}

// Any lets the step before it answer every further call, none included. It is the
// last step.
func (v *Approver) Any() *Approver {
	v.t.Helper()
	v.any(double.Caller(0))
	return v
}

// After lets the answer of the step before it come after a latency, as one of a
// person does. Where the context ends first, the answer is its error, at that
// instant; where both fall on the same instant, either may win.
func (v *Approver) After(latency time.Duration) *Approver {
	v.t.Helper()
	v.after(latency, double.Caller(0))
	return v
}

// Deaf lets the step before it ignore the context: it answers at its own time,
// however late. The end of the context is written down when it comes.
func (v *Approver) Deaf() *Approver {
	v.t.Helper()
	v.deaf(double.Caller(0))
	return v
}

func (v *Approver) changes(name string, at double.Pos, change func(*leave) (advice string)) *Approver {
	v.t.Helper()
	v.modify(name, at, func(s *double.Step[leave]) string {
		if !s.Answer.answers {
			return "only an answer has it; put it behind Grant or Deny"
		}
		return change(&s.Answer)
	})
	return v
}

// Ask is the approver: a [trace.ApproveFunc] to hand to the code under test. A call
// beyond the script gets no leave and an [*Error] with [ErrExtraCall].
func (v *Approver) Ask(ctx context.Context, of trace.ToolCall) (trace.Approval, error) {
	a := v.arrive(ctx, trace.ApprovalCall(v.name, of), func() { v.asked = append(v.asked, of) })
	if a.step == nil {
		v.t.Helper()
		return trace.Approval{}, v.extra(a, v.arguments(a.args))
	}
	say := &a.step.Answer
	if class := a.step.Timing.Play(ctx, v.waits(), a.Pending); class != 0 {
		a.Answer(trace.Outcome{Class: class}, nil, ctx.Err())
		return trace.Approval{}, ctx.Err()
	}
	v.decide(ctx, of, a, say)
	if say.err != nil {
		a.Answer(say.outcome, nil, say.err)
		return trace.Approval{}, say.err
	}
	a.Approve(say.given)
	return say.given, nil
}

// decide makes the answer that is due now.
func (v *Approver) decide(ctx context.Context, of trace.ToolCall, a arrival[leave], say *leave) {
	switch {
	case say.do != nil:
		returned := false
		defer a.guard(&returned)
		say.given, say.err = say.do(ctx, of)
		returned = true
		say.outcome = v.classify(say.err)
	case say.err == nil:
		say.given.ID = v.number(say.given)
		if say.ends {
			say.given.Expires = double.Now(v.waits()).Add(say.lives)
		}
	}
}

// number is the id of a leave.
func (v *Approver) number(given trace.Approval) string {
	if given.ID != "" || !given.Granted {
		return given.ID
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ids++
	return "approval_" + strconv.Itoa(v.ids)
}

// Asked returns the calls that leave was asked for, in order.
func (v *Approver) Asked() []trace.ToolCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.asked)
}

// Trace returns what has been written down so far.
func (v *Approver) Trace() *trace.Trace { return v.rec.Trace() }
