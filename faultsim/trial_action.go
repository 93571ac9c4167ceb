package faultsim

import (
	"context"
	"fmt"
	"reflect"

	"github.com/rehearse-go/rehearse/trace"
)

// begin begins one action of the schedule.
func (x *trial) begin(plan *Plan) (context.Context, *act) {
	a := &x.first
	if a.plan != nil {
		a = new(act)
	}
	ctx, cancel := caller(plan)
	a.plan, a.cancel = plan, cancel
	switch n := len(x.stage.acts); {
	case x.a.served != nil:
		ctx, a.op = x.a.served.begin(ctx, &x.rec, x.a.Name, plan)
	case plan.Again && n > 0:
		ctx, a.op = x.rec.BeginAgain(ctx, x.stage.acts[n-1].op)
	default:
		ctx, a.op = x.rec.Begin(ctx, x.a.Name)
	}
	x.stage.mu.Lock()
	x.stage.acts = append(x.stage.acts, a)
	x.stage.begins()
	if plan.Cancel > 0 {
		a.cancelAfter(&x.stage, plan.Cancel)
	}
	x.stage.mu.Unlock()
	if plan.Cancel < 0 {
		a.op.Cancel()
		cancel()
	}
	return ctx, a
}

// caller is the context that the action is called with.
func caller(plan *Plan) (context.Context, context.CancelFunc) {
	if plan.Deadline > 0 {
		return context.WithTimeout(context.Background(), plan.Deadline)
	}
	return context.WithCancel(context.Background())
}

// call runs the action and records how it ended, unless the life in which it
// runs is over by then; nil: it ends with the trial only.
func (x *trial) call(ctx context.Context, l *life, a *act, action Action) {
	returned := false
	defer func() {
		p := recover()
		if returned && p == nil || !x.over(a, l) {
			return
		}
		switch {
		case p != nil:
			a.op.Trouble(trace.KindPanic, fmt.Sprintf("the action panicked: %v at %s", p, panicSite()))
		default:
			a.op.Trouble(trace.KindPanic, "the action ended its goroutine without returning: runtime.Goexit, which is what t.FailNow and t.Fatal call")
		}
	}()
	out, err := x.perform(ctx, a, action)
	returned = true
	x.end(l, a, out, err)
}

// perform runs the action, or has it sabotaged.
func (x *trial) perform(ctx context.Context, a *act, action Action) (any, error) {
	if v := x.house.saboteur; v != nil {
		return v.perform(&x.stage, ctx, a, action)
	}
	return action(ctx)
}

// end records what the action returned.
func (x *trial) end(l *life, a *act, out any, err error) {
	x.stage.leaves(a)
	if x.handsBack(l, a, err) || !x.over(a, l) {
		return
	}
	e := trace.Ending{Err: err}
	if v := x.a.served; v != nil {
		if e.Code = x.refusal(err); err == nil {
			e.Result = trace.Marshal(out)
		}
		a.op.End(e)
		return
	}
	seen := x.observe(out, err)
	if x.house.saboteur != nil {
		seen = x.house.saboteur.handsOn(a, seen)
	}
	if seen != nil {
		a.op.Observe(seen)
	}
	if err == nil && seen != nil {
		e.Err = errHandedOn
	} else if err == nil {
		x.answers(a, out, &e)
	} else {
		if x.a.Reason != nil {
			e.Reason = x.reason(err)
		}
		if x.a.Attempts != nil {
			e.Count = x.attempts(err)
		}
	}
	a.tells(func() {
		e.Cause = x.stage.cause(a, err, x.a.Wraps)
		a.op.End(e)
	})
}

// answers records the result of an action that returned no error. What a loop says to
// its user may well be that it could not do what was asked for: its words tell.
func (x *trial) answers(a *act, out any, e *trace.Ending) {
	e.Result = trace.Marshal(out)
	if x.a.Loop == nil {
		e.Reason = trace.ReasonSuccess
	}
	if x.a.Degraded != nil {
		if r := x.degraded(out); r != 0 {
			e.Reason = r
			return
		}
	}
	e.Want = x.want(a, out)
}

// over marks the action as ended: its planned cancels no longer happen. The
// context stays alive, because a caller may well not cancel it. False: the life
// in which it ran was over before.
func (x *trial) over(a *act, l *life) bool {
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	if l != nil && l.dead.Load() {
		return false
	}
	a.ended = true
	if a.dog != nil {
		a.dog.Stop()
	}
	for _, t := range a.timers {
		t.Stop()
	}
	return true
}

// want is the result that the evidence calls for; nil: not known.
func (x *trial) want(a *act, out any) []byte {
	x.stage.mu.Lock()
	result, emptied := a.result, a.emptied
	x.stage.mu.Unlock()
	if x.a.Loop != nil && x.a.Want == nil {
		return nil // what a loop says to its user is no tool's answer
	}
	if x.a.Want != nil && emptied {
		return nil // it speaks of answers that hold something
	}
	if x.a.Want != nil {
		return trace.Marshal(x.a.Want)
	}
	if result.of != nil && result.of == reflect.TypeOf(out) {
		return result.raw
	}
	return nil
}
