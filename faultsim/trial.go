package faultsim

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
	brief   bool // all the same, do not: nobody reads this trial's report
	longest time.Duration

	rec   trace.Recorder
	house house   // what the stages of all lives have in common
	stage Stage   // of the first life
	first act     // storage of the first action
	few   [1]*act // storage of the list of actions

	done   bool         // the phases went through to their end
	closed bool         // the last phase has begun
	relief relief       // of an action that hangs
	err    error        // the schedule cannot be played, or Subject failed
	leak   string       // the bubble's complaint
	bubble atomic.Value // the number of its bubble, in detail: a string
	claim  claim        // on the random numbers of the process
}

// newTrial makes a trial. storage is a trace that nobody reads any more, whose
// storage may be written over; nil: none.
func newTrial(a *Adapter, s *Schedule, content []byte, storage *trace.Trace) *trial {
	x := &trial{a: a, s: s}
	x.rec.Clear, x.rec.Key, x.rec.Policy = true, keyOf(&a.Policy), content
	x.rec.Credential = a.Policy.Refresh.Credential
	if storage != nil {
		x.rec.Recycle(storage)
	}
	x.stage.house, x.house.again, x.house.drainable = &x.house, a.Again != nil, a.HandedBack != nil
	x.stage.start(&a.Policy, &x.rec)
	x.stage.acts, x.stage.serial = x.few[:0], a.Serial
	x.stage.climate.s, x.stage.declared, x.stage.loop = s, a.Sinks, a.Loop
	x.stage.reason = a.Reason
	if a.served != nil {
		x.stage.served, x.stage.name = a.served, a.Name
	}
	x.longest = x.horizon()
	return x
}

// run plays the trial. It must be called outside a bubble.
func (x *trial) run(t *testing.T) (*trace.Trace, error) {
	x.inBubble(t)
	tr := x.rec.Seal()
	if strings.Contains(x.leak, "within a synctest bubble") {
		return tr, errNested
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

var errNested = errors.New("faultsim: a trial makes its own bubble of virtual time: call Run, Check and their like outside synctest.Test, and outside the code under test")

// inBubble runs the phases in virtual time. What is still blocked when they
// are over makes the bubble panic, which is a finding and not the end of the test.
func (x *trial) inBubble(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			x.leak = fmt.Sprint(p)
			if x.detail && !x.brief {
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
		go func() { x.bubble.Store(bubbleNumber()) }() // a short stack is written down faster
	}
	time.Sleep(toEpoch)
	grow()
	x.claim.seed(t, x.s.Seed)
	if x.a.Resume != nil { // its channel belongs to the bubble
		x.house.life = newLife()
		x.stage.life = x.house.life
	}
	action, err := x.build(&x.stage, "Subject", x.a.Subject)
	if err == nil {
		err = x.stage.holds(x.a)
	}
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

// holds reports what the adapter declares of a stage that has it not; nil: it has
// all of it.
func (s *Stage) holds(a *Adapter) error {
	if err := s.guards(a.guards()); err != nil {
		return err
	}
	if a.Allowance != nil {
		if err := s.bounds(a.Allowance); err != nil {
			return err
		}
	}
	if len(a.Policy.Tools) > 0 {
		if err := s.governs(a.Policy.Tools); err != nil {
			return err
		}
	}
	if len(a.Allowed) > 0 {
		if err := s.forbids(a.Allowed); err != nil {
			return err
		}
	}
	return cmp.Or(s.loops(), s.sinksBuilt(), s.definitionsFit(), s.sessionsFit(a.Session != nil), s.caches(a.Cache))
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

// build makes the subject on the stage, with the adapter's Subject or its Resume.
func (x *trial) build(s *Stage, what string, subject func(*Stage) Action) (action Action, err error) {
	defer func() {
		if p := recover(); p == errNoStage {
			err = fmt.Errorf("faultsim: %s of %q: %w", what, x.a.Name, errNoStage)
		} else if p != nil {
			err = fmt.Errorf("faultsim: %s of %q panicked: %v\n%s", what, x.a.Name, p, debug.Stack())
		} else if !x.built() {
			x.err = fmt.Errorf("faultsim: %s of %q ended its goroutine (t.FailNow, t.Fatal or runtime.Goexit): check what it needs before the trial, and panic where it cannot be built", what, x.a.Name)
		}
	}()
	action = subject(s)
	x.stage.mu.Lock()
	x.stage.built = true
	x.stage.mu.Unlock()
	if action == nil {
		return nil, fmt.Errorf("faultsim: %s of %q returned no action: return the function that runs one", what, x.a.Name)
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
	if x.house.crowd != nil {
		x.house.crowd.act(action)
		return
	}
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

// close stops what the stage was told to stop, and ends the callers' contexts.
func (x *trial) close() {
	x.closed = true
	x.stage.mu.Lock()
	closers, acts := x.stage.closers, x.stage.acts
	x.stage.mu.Unlock()
	for _, a := range acts {
		a.cancel()
	}
	x.stage.release()
	if x.house.life != nil {
		x.house.life.tell()
	}
	for _, f := range slices.Backward(closers) {
		x.closeOne(f)
	}
	if x.house.released != nil {
		time.Sleep(x.longest) // what crashed processes have left has time to end
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

// addLeak turns the bubble's complaint into an event. It comes after the
// bubble is gone, so it bears the time of the last event.
func (x *trial) addLeak(tr *trace.Trace) {
	if x.leak == "" || x.house.released != nil && strings.Contains(x.leak, "deadlock") {
		return // a crash leaves goroutines behind that wait for what is gone
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
