package faultsim

import (
	"context"
	"fmt"
	"reflect"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Tool puts a function double on the stage. The function that it returns
// behaves as the schedule plans: fake does the tool's work and makes its
// answer (nil: the zero answer), and errs says how failures look. Actions can
// run at once, so fake must be safe for that.
//
// With a key in the policy the tool is an honest one: a second call with the
// same key gets the stored answer and has no second effect. Calls that find
// no planned fault are answered at once.
func Tool[In, Out any](s *Stage, name string, fake trace.Func[In, Out], errs Errors) trace.Func[In, Out] {
	t := &tool{name: name, skills: errs}
	s.register(t)
	s.misused(errs.misfit(name, reflect.TypeFor[Out]()))
	if s.saboteur != nil {
		return between(s, t, func(ctx context.Context, in In) (Out, trace.Outcome, error) {
			c := call[In, Out]{s: s, t: t, fake: fake, errs: errs, ctx: ctx, in: in}
			return c.run()
		})
	}
	return func(ctx context.Context, in In) (Out, error) {
		c := call[In, Out]{s: s, t: t, fake: fake, errs: errs, ctx: ctx, in: in}
		out, _, err := c.run()
		return out, err
	}
}

// A call is one call of a function double.
type call[In, Out any] struct {
	s    *Stage
	t    *tool
	fake trace.Func[In, Out]
	errs Errors
	ctx  context.Context
	in   In
	p    trace.Pending
	own  error // the tool's own error, where the fault packs it
}

func (c *call[In, Out]) run() (out Out, o trace.Outcome, err error) {
	if c.ctx == nil {
		return out, o, c.s.misused(fmt.Errorf("faultsim: %s was called with a nil context: hand the caller's context on", c.t.name))
	}
	if c.s.gone() {
		return out, o, c.s.buried()
	}
	over, err := c.s.sessionOf(c.ctx, c.t.name)
	if err != nil {
		return out, o, err
	}
	c.p = c.s.reached(c.ctx, trace.Call{Tool: c.t.name, Args: double.JSON(c.in), Definition: c.s.known(c.t.name), Session: over.id()})
	f, a := c.s.arrive(c.t, c.p)
	if over == nil {
		out, o, err = c.answer(&f)
	} else {
		out, o, err = c.overSession(over, a, &f)
	}
	if c.s.gone() { // the tool has worked on, and nobody hears of it
		var none Out
		return none, o, c.s.buried()
	}
	var result []byte
	if err == nil {
		result = double.JSON(out)
	}
	e := callError{call: c.p.Number(), err: err}
	if err == nil && o.Failed() {
		e.err, e.status = errAsValue, true
	}
	a.tells(func() {
		if c.own != nil {
			// Whoever takes the packing off has kept the error as well.
			c.s.answered(a, answer{}, callError{call: c.p.Number(), err: c.own})
		}
		c.s.answered(a, answer{reflect.TypeFor[Out](), result, f.Empty}, e)
		c.p.Answer(o, result, err)
	})
	return out, o, err
}

// cut is the answer to a call whose context has ended. Whoever says why it did,
// by the context's cause, has kept the error as well.
func (c *call[In, Out]) cut(ended trace.Class) (none Out, o trace.Outcome, err error) {
	if err = c.ctx.Err(); context.Cause(c.ctx) != err {
		c.own = context.Cause(c.ctx)
	}
	return none, trace.Outcome{Class: ended}, err
}

// answer plays the fault.
func (c *call[In, Out]) answer(f *Fault) (out Out, o trace.Outcome, err error) {
	if ended := c.s.enter(c.t, f, c.ctx); ended != 0 {
		return c.cut(ended)
	}
	defer c.s.leave(c.t)
	if r := c.s.reception(c.t); r != nil {
		v, ended := r.visit(c.ctx, c.s.place(c.p), f)
		if ended != 0 {
			if v.worksOn(f) {
				c.workBehind(v, f)
			}
			return c.cut(ended)
		}
	} else {
		c.s.gathers(f)
	}
	worked := false
	var late *labour[Out]
	switch {
	case f.Work > 0:
		late = c.workLater(f)
	case f.Done:
		out, err = c.deliver(f.Twice)
		worked = true
	}
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang, Deaf: f.Deaf}
	if ended := timing.Play(c.ctx, nil, c.p); ended != 0 {
		return c.cut(ended)
	}
	if f.class() != trace.OK {
		return c.failure(f)
	}
	if f.Empty {
		out, _ = valued[Out](c.errs, f)
		return out, trace.Outcome{Class: trace.OK}, nil
	}
	switch {
	case late != nil:
		<-late.done
		out, err = late.out, late.err
	case !worked:
		out, err = c.deliver(f.Twice)
	}
	if err != nil {
		return out, trace.Classify(err), err
	}
	return out, trace.Outcome{Class: trace.OK}, nil
}

// failure is the failing answer.
func (c *call[In, Out]) failure(f *Fault) (out Out, o trace.Outcome, err error) {
	if v, ok := valued[Out](c.errs, f); ok {
		return v, trace.Outcome{Class: f.Class}, nil
	}
	err = c.s.rendered(c.t.name, c.errs, f)
	if f.packed() {
		c.own, err = err, f.pack(c.t.name, err)
	}
	return out, trace.Outcome{Class: f.Class, Hint: f.Hint, Advice: f.Advice}, err
}

// work does what the tool is for, once for each key.
func (c *call[In, Out]) work() (out Out, err error) {
	key := c.p.Key()
	if !c.s.keyed(c.t, key) {
		return c.workAnew()
	}
	stored, err := c.s.once(ledgerKey{c.t.name, key}, func() (any, error) { return c.workAnew() })
	out, _ = stored.(Out)
	return out, err
}

func (c *call[In, Out]) workAnew() (out Out, err error) {
	if c.fake != nil {
		out, err = c.faked()
	}
	if err == nil {
		c.p.Effect()
	}
	return out, err
}
