package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Call is the tool: a [trace.Func] to hand to the code under test. A call
// beyond the script gets an [*Error] with [ErrExtraCall]. A call whose context
// has ended before it arrives takes its step and gets the context's error,
// unless the step is Deaf.
func (t *Tool[In, Out]) Call(ctx context.Context, in In) (Out, error) {
	var none Out
	args, key := t.fields.Take(trace.Marshal(in))
	a := t.arrive(ctx, trace.Call{Args: args, Key: key}, func() { t.args = append(t.args, double.Clone(in)) })
	if a.step == nil {
		t.t.Helper()
		return none, t.extra(a, t.arguments(args))
	}
	say := &a.step.Answer
	if say.done {
		t.early(a, say)
	}
	if class := a.step.Timing.Play(ctx, t.waits(), a.Pending); class != 0 {
		a.Answer(trace.Outcome{Class: class}, nil, ctx.Err())
		return none, ctx.Err()
	}
	if say.panics {
		a.Answer(trace.Outcome{Class: trace.Unknown}, nil, fmt.Errorf("panic: %v", say.value))
		panic(say.value)
	}
	return t.reply(ctx, in, a, say)
}

// early lets the effect happen at the arrival of the call.
func (t *Tool[In, Out]) early(a arrival[answer[In, Out]], say *answer[In, Out]) {
	if say.succeeds() {
		t.happens(a, say)
	} else if err := t.lose(a); err != nil {
		say.refuse(err)
	}
}

// succeeds tells whether a says that the tool did what it was asked.
func (a *answer[In, Out]) succeeds() bool {
	return a.do == nil && a.err == nil && a.outcome.Class == trace.OK
}

// refuse makes the ledger's conflict the answer.
func (a *answer[In, Out]) refuse(conflict error) {
	a.err, a.outcome = conflict, trace.Classify(conflict)
}

// happens lets the effect of a value happen; the ledger may know an earlier one.
func (t *Tool[In, Out]) happens(a arrival[answer[In, Out]], say *answer[In, Out]) {
	result, err := t.happen(a, say.out)
	if err != nil {
		say.refuse(err)
		return
	}
	say.out, _ = result.(Out)
}

// reply gives the answer that is due now.
func (t *Tool[In, Out]) reply(ctx context.Context, in In, a arrival[answer[In, Out]], say *answer[In, Out]) (Out, error) {
	switch {
	case say.do != nil:
		t.run(ctx, in, a, say)
	case t.counts() && !say.done && say.succeeds():
		t.happens(a, say)
	}
	if say.err != nil {
		a.Answer(say.outcome, nil, say.err)
		return say.out, say.err
	}
	out := say.out
	if say.do == nil || t.counts() { // what a function returns is its own
		out = double.Clone(out)
	}
	a.Answer(say.outcome, trace.Marshal(out), nil)
	return out, nil
}

// run answers with what the step's function returns, or with what the ledger
// knows.
func (t *Tool[In, Out]) run(ctx context.Context, in In, a arrival[answer[In, Out]], say *answer[In, Out]) {
	returned := false
	defer a.guard(&returned)
	if !t.counts() {
		say.out, say.err = say.do(ctx, in)
	} else {
		var result any
		result, say.err = t.perform(a, func() (any, error) {
			out, err := say.do(ctx, in)
			return double.Clone(out), err
		})
		say.out, _ = result.(Out)
	}
	returned = true
	say.outcome = t.classify(say.err)
}

// CallJSON is the tool for code that hands over arguments as JSON, as a model
// writes them. Arguments that do not fit In, or have fields that In has not,
// are reported and get an [*Error] with [ErrArguments]; they take no step. A
// tool that takes anything has In json.RawMessage.
func (t *Tool[In, Out]) CallJSON(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	var in In
	if err := decode(args, &in); err != nil {
		t.t.Helper()
		return nil, t.unfit(ctx, args, in, err)
	}
	out, err := t.Call(ctx, in)
	if err != nil {
		return nil, err
	}
	return trace.Marshal(out), nil
}

func decode(args json.RawMessage, in any) error {
	if len(args) == 0 {
		return nil // a call without arguments
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// unfit reports arguments of the wrong type.
func (t *Tool[In, Out]) unfit(ctx context.Context, args json.RawMessage, in In, cause error) error {
	t.t.Helper()
	rest, key := t.fields.Take(args)
	p := t.rec.Call(ctx, trace.Call{Tool: t.name, Role: t.role, Args: rest, Key: key})
	text := fmt.Sprintf("scripted: %s: the arguments are no %T, which the tool made at %s takes: %v", t.name, in, t.made, cause)
	t.door.Report(t.id+"type", "%s%s\n\tLet the caller send what the tool takes, or change the tool's type.", text, t.arguments(args))
	err := &Error{Tool: t.name, Text: text, Err: ErrArguments}
	p.Answer(err.Outcome(), nil, err)
	return err
}
