package faultsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// epoch is the date at which trials begin. A bubble begins at 2000-01-01, an
// epoch so small that it hides bugs in the reading of dates.
var epoch = time.Date(2026, time.March, 14, 9, 26, 53, 0, time.UTC)

// toEpoch is the time from a bubble's begin to it.
var toEpoch = epoch.Sub(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC))

// A trial plays one schedule on a fresh subject, in a bubble of its own. What
// it needs is one allocation, since there are many trials.
type trial struct {
	a       *Adapter
	s       *Schedule
	idle    bool // build the subject and run nothing
	drawn   bool // the schedule was drawn for this stage, so it fits
	detail  bool // say where what is left behind is blocked
	longest time.Duration

	rec   trace.Recorder
	stage Stage
	first act     // storage of the first action
	few   [1]*act // storage of the list of actions

	done   bool         // the phases went through to their end
	closed bool         // the last phase has begun
	relief relief       // of an action that hangs
	err    error        // the schedule cannot be played, or Subject failed
	leak   string       // the bubble's complaint
	bubble atomic.Value // the number of its bubble, in detail: a string
}

// newTrial makes a trial. storage is a trace that nobody reads any more, whose
// storage may be written over; nil: none.
func newTrial(a *Adapter, s *Schedule, content []byte, storage *trace.Trace) *trial {
	x := &trial{a: a, s: s}
	x.rec.Clear, x.rec.Key, x.rec.Policy = true, a.Policy.Key, content
	if storage != nil {
		x.rec.Recycle(storage)
	}
	x.stage.start(&a.Policy, &x.rec)
	x.stage.acts, x.stage.serial = x.few[:0], a.Serial
	x.longest = x.horizon()
	return x
}

// run plays the trial. It must be called outside a bubble.
func (x *trial) run(t *testing.T) (*trace.Trace, error) {
	x.inBubble(t)
	tr := x.rec.Seal()
	if strings.Contains(x.leak, "within a synctest bubble") {
		return tr, errors.New("faultsim: a trial makes its own bubble of virtual time: call Run, Check and their like outside synctest.Test")
	}
	if strings.Contains(x.leak, "deadlock") && x.err == nil && !x.built() {
		_, where, _ := strings.Cut(x.leak, "\n: ")
		return tr, fmt.Errorf("faultsim: Subject of %q never returned, it is blocked: %s: build the code there, and wait in the action", x.a.Name, cmp.Or(where, "at an unknown place"))
	}
	x.addLeak(tr)
	if len(x.stage.misuse) > 0 {
		x.err = x.stage.misuse[0]
	}
	return tr, x.err
}

// inBubble runs the phases in virtual time. What is still blocked when they
// are over makes the bubble panic, which is a finding and not the end of the test.
func (x *trial) inBubble(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			x.leak = fmt.Sprint(p)
			if x.detail {
				x.leak += leftovers(x.number())
			}
		}
	}()
	synctest.Test(t, x.phases)
}

// grow makes the stack of a new goroutine as large as a trial needs while there
// is little on it to copy. Without it the stack grows several times, deep in
// the code under test.
//
//go:noinline
func grow() byte {
	var space [5 << 10]byte
	return space[len(os.Args)&1023]
}

// number is the number of the trial's bubble; empty: not known.
func (x *trial) number() string {
	n, _ := x.bubble.Load().(string)
	return n
}

// phases: build, act, settle, close.
func (x *trial) phases(t *testing.T) {
	defer x.unwind(t)
	if x.detail {
		x.bubble.Store(bubbleNumber())
	}
	time.Sleep(toEpoch)
	grow()
	action, err := x.build()
	if err == nil && !x.drawn {
		err = x.stage.fits(x.s)
	}
	switch {
	case err != nil:
		x.err = err
		x.close()
	case x.idle:
		x.close()
	default:
		x.act(action)
	}
	x.done = true
}

// unwind brings the phases to their end where user code has ended this
// goroutine with runtime.Goexit, which is what t.FailNow does. The bubble's
// own t is skipped, because the end of its goroutine would end the test binary.
func (x *trial) unwind(t *testing.T) {
	if x.done {
		return
	}
	if !x.closed {
		x.finish()
	}
	t.SkipNow()
}

// build makes the subject.
func (x *trial) build() (action Action, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("faultsim: Subject of %q panicked: %v\n%s", x.a.Name, p, debug.Stack())
		} else if !x.built() {
			x.err = fmt.Errorf("faultsim: Subject of %q ended its goroutine (t.FailNow, t.Fatal or runtime.Goexit): check what it needs before the trial, and panic where it cannot be built", x.a.Name)
		}
	}()
	action = x.a.Subject(&x.stage)
	x.stage.mu.Lock()
	x.stage.built = true
	x.stage.mu.Unlock()
	if action == nil {
		return nil, fmt.Errorf("faultsim: Subject of %q returned no action: return the function that runs one", x.a.Name)
	}
	return action, nil
}

// built reports whether Subject has returned.
func (x *trial) built() bool {
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	return x.stage.built
}

// act runs the schedule's actions, and the phases after them.
func (x *trial) act(action Action) {
	plans := x.s.plans()
	if x.s.AtOnce && len(plans) > 1 {
		x.together(action, plans)
		x.finish()
		return
	}
	x.inTurn(action, plans)
}

// finish is settle and close: whatever was left behind comes to light. When
// the sleep ends, everything else in the bubble is blocked.
func (x *trial) finish() {
	time.Sleep(x.longest)
	x.stage.unclosed()
	x.close()
}

// inTurn runs the actions one after another in this goroutine, and the phases
// after them. An action that never returns never gives the goroutine back:
// then its watchdog goes on in its place.
func (x *trial) inTurn(action Action, plans []Plan) {
	for i := range plans {
		if i > 0 {
			evenOut()
		}
		plans[i].pause()
		ctx, a := x.begin(&plans[i])
		a.dog = time.AfterFunc(x.longest, func() {
			if x.hangs(a) {
				x.takeOver(action, plans[i+1:])
			}
		})
		x.call(ctx, a, action)
		if a.hung {
			x.relief.wait(&x.stage)
			return
		}
	}
	x.finish()
}

// pause waits for as long as the plan says, before its action begins.
func (p *Plan) pause() {
	if p.After > 0 {
		time.Sleep(p.After)
	}
}

// evenOut sleeps to the next ten nanoseconds: an action that ends with the
// caller's cancel or deadline ends beside them, and the next one's instants
// would no longer be apart from its answers. See odd.
func evenOut() {
	if beside := time.Since(epoch) % 10; beside > 0 {
		time.Sleep(10 - beside)
	}
}

// takeOver goes on in place of a goroutine whose action hangs.
func (x *trial) takeOver(action Action, rest []Plan) {
	defer x.relief.over(&x.stage)
	defer func() {
		if !x.closed { // the next action has ended this goroutine
			x.finish()
		}
	}()
	synctest.Wait() // virtual time orders nothing in the eyes of the race detector
	x.inTurn(action, rest)
}

// A relief lets a goroutine wait until its watchdog has finished the trial.
// It costs nothing where no action hangs.
type relief struct {
	finished bool
	waiting  chan struct{}
}

func (r *relief) over(s *Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.finished = true
	if r.waiting != nil {
		close(r.waiting)
		r.waiting = nil
	}
}

func (r *relief) wait(s *Stage) {
	s.mu.Lock()
	if r.finished {
		s.mu.Unlock()
		return
	}
	if r.waiting == nil {
		r.waiting = make(chan struct{})
	}
	c := r.waiting
	s.mu.Unlock()
	<-c
}

// apart is the time between the beginnings of actions at once, so that their
// order is data. See odd for the number.
const apart = 3 * time.Nanosecond

// together runs the actions at once, each in a goroutine of its own.
func (x *trial) together(action Action, plans []Plan) {
	type running struct {
		a    *act
		done chan struct{}
	}
	all := make([]running, len(plans))
	for i := range plans {
		plans[i].pause()
		ctx, a := x.begin(&plans[i])
		all[i] = running{a, make(chan struct{})}
		go func() {
			defer close(all[i].done)
			x.call(ctx, a, action)
		}()
		time.Sleep(apart)
	}
	limit := time.NewTimer(x.longest)
	defer limit.Stop()
	for _, r := range all {
		select {
		case <-r.done:
		case <-limit.C:
			for _, r := range all {
				x.hangs(r.a)
			}
			return
		}
	}
}

// hangs records that the action hangs, unless it has just ended.
func (x *trial) hangs(a *act) bool {
	x.stage.mu.Lock()
	hangs := !a.ended
	if hangs {
		a.hung = true
	}
	x.stage.mu.Unlock()
	if hangs && !x.stage.spins(a) { // the call that ended a spin never answers
		a.op.Trouble(trace.KindHang, fmt.Sprintf("the action has not returned after %v", x.longest.Truncate(time.Second)))
	}
	return hangs
}

// begin begins one action of the schedule.
func (x *trial) begin(plan *Plan) (context.Context, *act) {
	a := &x.first
	if a.plan != nil {
		a = new(act)
	}
	ctx, cancel := caller(plan)
	a.plan, a.cancel = plan, cancel
	ctx, a.op = x.rec.Begin(ctx, x.a.Name)
	x.stage.mu.Lock()
	x.stage.acts = append(x.stage.acts, a)
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

// call runs the action and records how it ended.
func (x *trial) call(ctx context.Context, a *act, action Action) {
	returned := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			x.over(a)
			a.op.Trouble(trace.KindPanic, fmt.Sprintf("the action panicked: %v at %s", p, panicSite()))
		case !returned:
			x.over(a)
			a.op.Trouble(trace.KindPanic, "the action ended its goroutine without returning: runtime.Goexit, which is what t.FailNow and t.Fatal call")
		}
	}()
	out, err := action(ctx)
	returned = true
	x.end(a, out, err)
}

// end records what the action returned.
func (x *trial) end(a *act, out any, err error) {
	x.stage.leaves(a)
	x.over(a)
	e := trace.Ending{Err: err}
	seen := x.observe(out, err)
	if seen != nil {
		a.op.Observe(seen)
	}
	if err == nil && seen != nil {
		e.Err = errHandedOn
	} else if err == nil {
		e.Reason, e.Result, e.Want = trace.ReasonSuccess, trace.Marshal(out), x.want(a, out)
	} else {
		if x.a.Reason != nil {
			e.Reason = x.a.Reason(err)
		}
		if x.a.Attempts != nil {
			e.Count = x.a.Attempts(err)
		}
		e.Cause = x.stage.cause(a, err)
	}
	a.op.End(e)
}

// over marks the action as ended: its planned cancels no longer happen. The
// context stays alive, because a caller may well not cancel it.
func (x *trial) over(a *act) {
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	a.ended = true
	if a.dog != nil {
		a.dog.Stop()
	}
	for _, t := range a.timers {
		t.Stop()
	}
}

// want is the result that the evidence calls for; nil: not known.
func (x *trial) want(a *act, out any) []byte {
	if x.a.Want != nil {
		return trace.Marshal(x.a.Want)
	}
	x.stage.mu.Lock()
	result := a.result
	x.stage.mu.Unlock()
	if result.of != nil && result.of == reflect.TypeOf(out) {
		return result.raw
	}
	return nil
}

// close stops what the stage was told to stop, and ends the callers' contexts.
func (x *trial) close() {
	x.closed = true
	x.stage.mu.Lock()
	closers, acts := x.stage.closers, x.stage.acts
	x.stage.mu.Unlock()
	for _, a := range acts {
		a.cancel()
	}
	for _, f := range slices.Backward(closers) {
		x.closeOne(f)
	}
}

func (x *trial) closeOne(f func()) {
	defer func() {
		if p := recover(); p != nil && x.err == nil {
			x.err = fmt.Errorf("faultsim: a function given to Stage.Close panicked: %v at %s", p, panicSite())
		}
	}()
	f()
}

// horizon is how long the policy, with the schedule's hints and latencies,
// could still cause work: twice the longest trial, and a minute. The odd
// nanoseconds keep its end apart from whatever a program may plan.
func (x *trial) horizon() time.Duration {
	p := &x.a.Policy
	attempts := p.MaxAttempts
	if attempts < 1 {
		attempts = 1
	}
	sum := time.Duration(0)
	add := func(d time.Duration) {
		sum = min(sum+min(d, longestTime), 10*longestTime)
	}
	for n := 1; n <= attempts && n < 64; n++ {
		_, hi := p.Backoff.Window(n, sum)
		add(hi)
		add(p.Attempt)
	}
	if x.s.AtOnce {
		one := sum
		for range len(x.s.Actions) - drawnAtOnce { // they may wait for each other
			add(one)
		}
	}
	add(p.Budget)
	for i := range x.s.Actions {
		plan := &x.s.Actions[i]
		add(plan.After)
		add(plan.Deadline)
		add(max(plan.Cancel, 0))
		for _, faults := range plan.Faults {
			for i := range faults {
				add(faults[i].Latency)
				add(faults[i].Hint)
				add(faults[i].Work)
			}
		}
	}
	return 2*sum + time.Minute + 977
}

// addLeak turns the bubble's complaint into an event. It comes after the
// bubble is gone, so it bears the time of the last event.
func (x *trial) addLeak(tr *trace.Trace) {
	if x.leak == "" {
		return
	}
	_, where, _ := strings.Cut(x.leak, "\n")
	e := trace.Event{Kind: trace.KindLeak, Error: "something is still running after the action has returned" + where}
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
