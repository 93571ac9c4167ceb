package faultsim

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// epoch is the date at which trials begin. A bubble begins at 2000-01-01, an
// epoch so small that it hides bugs in the reading of dates.
var epoch = time.Date(2026, time.March, 14, 9, 26, 53, 0, time.UTC)

// A trial plays one schedule on a fresh subject, in a bubble of its own.
type trial struct {
	a       *Adapter
	s       *Schedule
	rec     *trace.Recorder
	stage   *Stage
	storage *trace.Trace // whose storage may be written over; nil: none
	content []byte       // the policy's content
	longest time.Duration
	idle    bool // build the subject and run nothing

	err  error // the schedule cannot be played, or Subject panicked
	leak string
}

// run plays the trial. It must be called outside a bubble.
func (x *trial) run(t *testing.T) (*trace.Trace, error) {
	x.rec = &trace.Recorder{Clear: true, Key: x.a.Policy.Key, Policy: x.content}
	if x.storage != nil {
		x.rec.Recycle(x.storage)
	}
	x.stage = newStage(&x.a.Policy, x.rec)
	x.longest = x.horizon()
	x.bubble(t)
	tr := x.rec.Seal()
	x.addLeak(tr)
	if x.err == nil && len(x.stage.misuse) > 0 {
		x.err = x.stage.misuse[0]
	}
	return tr, x.err
}

// bubble runs the phases in virtual time. What is still blocked when they are
// over makes the bubble panic, which is a finding and not the end of the test.
func (x *trial) bubble(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			x.leak = fmt.Sprint(p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		time.Sleep(epoch.Sub(time.Now()))
		x.phases()
	})
}

func (x *trial) phases() {
	action, err := x.build()
	if err == nil {
		err = x.stage.fits(x.s)
	}
	if err != nil {
		x.err = err
		x.close()
		return
	}
	if x.idle {
		x.close()
		return
	}
	x.act(action)
	time.Sleep(x.longest) // settle: whatever was left behind comes to light
	synctest.Wait()
	x.stage.unclosed()
	x.close()
}

// build makes the subject.
func (x *trial) build() (action Action, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("faultsim: Subject of %q panicked: %v\n%s", x.a.Name, p, debug.Stack())
		}
	}()
	if action = x.a.Subject(x.stage); action == nil {
		return nil, fmt.Errorf("faultsim: Subject of %q returned no action", x.a.Name)
	}
	return action, nil
}

// act runs the schedule's actions.
func (x *trial) act(action Action) {
	plans := x.s.plans()
	if !x.s.AtOnce {
		for i := range plans {
			x.wait(x.start(action, &plans[i]))
		}
		return
	}
	running := make([]*running, len(plans))
	for i := range plans {
		running[i] = x.start(action, &plans[i])
		time.Sleep(time.Nanosecond) // so that the order of beginning is data
	}
	for _, r := range running {
		x.wait(r)
	}
}

// A running action.
type running struct {
	act  *act
	done chan struct{}
}

// start begins one action in a goroutine of its own, so that an action that
// never returns does not end the trial.
func (x *trial) start(action Action, plan *Plan) *running {
	ctx, cancel := caller(plan)
	a := &act{plan: plan, cancel: cancel}
	ctx, a.op = x.rec.Begin(ctx, x.a.Name)
	x.stage.mu.Lock()
	x.stage.acts = append(x.stage.acts, a)
	if plan.Cancel > 0 {
		a.cancelAfter(x.stage, plan.Cancel)
	}
	x.stage.mu.Unlock()
	if plan.Cancel < 0 {
		a.op.Cancel()
		cancel()
	}
	r := &running{act: a, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer x.recovered(a)
		out, err := action(ctx)
		x.end(a, out, err)
	}()
	return r
}

// caller is the context that the action is called with.
func caller(plan *Plan) (context.Context, context.CancelFunc) {
	if plan.Deadline > 0 {
		return context.WithTimeout(context.Background(), plan.Deadline)
	}
	return context.WithCancel(context.Background())
}

func (x *trial) recovered(a *act) {
	if p := recover(); p != nil {
		x.over(a)
		a.op.Trouble(trace.KindPanic, fmt.Sprintf("the action panicked: %v at %s", p, panicSite()))
	}
}

// wait waits until the action has returned, or long enough to say that it hangs.
func (x *trial) wait(r *running) {
	limit := time.NewTimer(x.longest)
	defer limit.Stop()
	select {
	case <-r.done:
	case <-limit.C:
		if x.stage.spins(r.act) {
			return // the call that ended the spin never answers
		}
		r.act.op.Trouble(trace.KindHang, fmt.Sprintf("the action has not returned after %v", x.longest))
	}
}

// end records what the action returned.
func (x *trial) end(a *act, out any, err error) {
	x.stage.leaves(a)
	x.over(a)
	e := trace.Ending{Err: err}
	if err == nil {
		e.Reason, e.Result, e.Want = trace.ReasonSuccess, trace.Marshal(out), x.want(a, out)
	} else {
		if x.a.Reason != nil {
			e.Reason = x.a.Reason(err)
		}
		if x.a.Attempts != nil {
			e.Count = x.a.Attempts(err)
		}
		x.stage.mu.Lock() // an attempt that was left behind may answer now
		e.Cause = a.cause(err)
		x.stage.mu.Unlock()
	}
	a.op.End(e)
}

// over marks the action as ended: its planned cancels no longer happen. The
// context stays alive, because a caller may well not cancel it.
func (x *trial) over(a *act) {
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	a.ended = true
	for _, t := range a.timers {
		t.Stop()
	}
}

// want is the result that the evidence calls for; nil: not known.
func (x *trial) want(a *act, out any) []byte {
	x.stage.mu.Lock()
	result := a.result
	x.stage.mu.Unlock()
	switch {
	case x.a.Want != nil:
		return trace.Marshal(x.a.Want)
	case result != nil && reflect.TypeOf(result) == reflect.TypeOf(out):
		return trace.Marshal(result)
	}
	return nil
}

// close stops what the stage was told to stop, and ends the callers' contexts.
func (x *trial) close() {
	x.stage.mu.Lock()
	closers, acts := x.stage.closers, x.stage.acts
	x.stage.mu.Unlock()
	for _, a := range acts {
		a.cancel()
	}
	for _, f := range slices.Backward(closers) {
		f()
	}
	synctest.Wait()
}

// horizon is how long the policy, with the schedule's hints and latencies,
// could still cause work: twice the longest trial, and a minute.
func (x *trial) horizon() time.Duration {
	p := &x.a.Policy
	attempts := p.MaxAttempts
	if attempts < 1 {
		attempts = 1
	}
	sum := time.Duration(0)
	add := func(d time.Duration) {
		if sum += min(d, 365*24*time.Hour); sum > 365*24*time.Hour {
			sum = 365 * 24 * time.Hour
		}
	}
	for n := 1; n <= attempts && n < 64; n++ {
		_, hi := p.Backoff.Window(n, sum)
		add(hi)
		add(p.Attempt)
	}
	add(p.Budget)
	for _, plan := range x.s.plans() {
		add(plan.Deadline)
		add(plan.Cancel)
		for _, faults := range plan.Faults {
			for i := range faults {
				add(faults[i].Latency)
				add(faults[i].Hint)
			}
		}
	}
	return 2*sum + time.Minute
}

// addLeak turns the bubble's complaint into an event. It comes after the
// bubble is gone, so it bears the time of the last event.
func (x *trial) addLeak(tr *trace.Trace) {
	if x.leak == "" {
		return
	}
	e := trace.Event{Kind: trace.KindLeak, Error: "something is still running after the action has returned"}
	for i := range tr.Events {
		switch ev := &tr.Events[i]; ev.Kind {
		case trace.KindHang, trace.KindSpin:
			return // the action itself is what is left
		case trace.KindBegin:
			e.Action = ev.Action
		}
		e.At = max(e.At, tr.Events[i].At)
	}
	if !strings.Contains(x.leak, "deadlock") {
		e.Kind, e.Error = trace.KindPanic, "the trial panicked: "+x.leak
	}
	tr.Events = append(tr.Events, e)
}
