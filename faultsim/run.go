package faultsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// frozenAfter is the real time after which a trial whose virtual clock stands
// still is given up. A trial takes microseconds.
var frozenAfter = 10 * time.Second // a variable for tests

// frozenClock is the name of that finding.
const frozenClock = "frozen-clock"

// A Result is a trial and its judgement.
type Result struct {
	Trace    *trace.Trace         // nil where there is none to judge
	Findings []invariants.Finding // without those that the adapter accepts
	Accepted []invariants.Finding // those that it accepts
	Err      error                // the schedule could not be played; see [UnfitError]

	// Unmet says which tools the schedule plans faults for that the trial never
	// called, where no rule was broken; empty: there are none. See [Run].
	Unmet string
}

// An UnfitError says that a schedule does not fit the adapter's stage: it
// speaks of a tool that is not there, or of a failure that the tool cannot show.
type UnfitError struct {
	Text string

	action  int // from 1; 0: it is not about one attempt
	tool    string
	attempt int // 0: about the tool as such
}

func (e *UnfitError) Error() string { return e.Text }

// Trial plays one schedule on a fresh subject in virtual time and judges the
// trace by all that the policy implies. It reports nothing through t; [Run] is
// the door for tests. It must be called outside a synctest bubble.
func Trial(t *testing.T, a Adapter, s Schedule) Result {
	if err := a.validate(); err != nil {
		return Result{Err: err}
	}
	x := newTrial(&a, &s, a.content(), nil)
	x.rec.Beside = a.Contract().Content()
	tr, err := watched(t, x)
	if err != nil {
		return Result{Err: err}
	}
	r := Result{Trace: tr}
	r.Findings, r.Accepted = a.judge(tr)
	if names := x.uncalled(); len(names) > 0 && len(r.Findings) == 0 {
		r.Unmet = x.unmet(names)
	}
	return r
}

// Tools returns the names of the tools that the adapter's Subject puts on the
// stage, the main one first, and a function that tells whether the main tool
// can answer as a fault plans.
func Tools(t *testing.T, a Adapter) (names []string, can func(Fault) bool, err error) {
	if err := a.validate(); err != nil {
		return nil, nil, err
	}
	tools, err := inspect(t, &a)
	if err != nil {
		return nil, nil, err
	}
	if len(tools) == 0 { // the tool under test asks no other
		return nil, func(f Fault) bool { return f.plain() }, nil
	}
	return namesOf(tools), func(f Fault) bool { return tools[0].can(&f) }, nil
}

// inspect builds the subject once to learn which tools it puts on the stage.
func inspect(t *testing.T, a *Adapter) ([]*tool, error) {
	x := newTrial(a, &Schedule{}, a.content(), nil)
	x.idle = true
	if _, err := watched(t, x); err != nil {
		return nil, err
	}
	if len(x.stage.tools) == 0 && a.served == nil {
		return nil, fmt.Errorf("faultsim: Subject of %q put no tool on the stage: build the code on faultsim.Tool or Stage.Client", a.Name)
	}
	for _, t := range x.stage.tools {
		t.stage = &x.stage
	}
	return x.stage.tools, a.canRetry(x.stage.tools)
}

// canRetry reports a policy whose retries no schedule could ever cause: every
// check of it would pass for ever. The timeout of an attempt needs no error of
// the tool's, since any tool can hang.
func (a *Adapter) canRetry(tools []*tool) error {
	if err := causeless(&a.Policy, a.Name, tools); err != nil || len(a.Policy.Tools) == 0 {
		return err
	}
	for _, t := range tools[1:] {
		if own, ok := a.Policy.Tools[t.name]; ok {
			if err := causeless(&own, a.Name, []*tool{t}); err != nil {
				return err
			}
		}
	}
	return nil
}

// causeless reports a policy whose retries none of the tools can cause. Tools
// with a policy of their own do not count.
func causeless(p *invariants.Policy, name string, tools []*tool) error {
	if len(p.Retry) == 0 || p.Most() == 1 || p.Attempt > 0 && p.Retries(trace.Timeout) {
		return nil
	}
	for _, c := range p.Retry {
		f := Fail(c)
		if slices.ContainsFunc(tools, func(t *tool) bool { return p.Of(t.name) == p && t.can(&f) }) {
			return nil
		}
	}
	return fmt.Errorf("faultsim: the policy of %q retries %v, and no tool on the stage can fail so: say in its Errors, or in the Failures of its Route, how such a failure looks", name, p.Retry)
}

// Run plays one schedule on a fresh subject in virtual time, judges the trace
// by all that the policy implies, and reports findings through t. It returns
// the trace for further checks, and ends the test where there is none. A schedule
// that plans faults for a tool which the trial never calls fails too: it would pass
// whatever they are.
//
// Run must be called outside a synctest bubble.
func Run(t *testing.T, a Adapter, s Schedule) *trace.Trace {
	t.Helper()
	r := Trial(t, a, s)
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, indent("schedule", s.String()))
	}
	if len(r.Findings) > 0 {
		t.Errorf("%s\n%s", strings.TrimRight(invariants.Report(r.Trace, r.Findings), "\n"), indent("schedule", s.String()))
	}
	if r.Unmet != "" {
		t.Errorf("vacuous: %s: %s\n%s", a.Name, r.Unmet, indent("schedule", s.String()))
	}
	return r.Trace
}

// judge returns the findings, apart from those that the adapter accepts.
func (a *Adapter) judge(tr *trace.Trace) (found, accepted []invariants.Finding) {
	for _, f := range invariants.Find(tr, a.invariants()...) {
		if _, ok := a.Accept[f.Invariant]; ok {
			accepted = append(accepted, f)
		} else {
			found = append(found, f)
		}
	}
	return found, accepted
}

// content is the policy's content for traces.
func (a *Adapter) content() []byte {
	if a.served != nil {
		return a.served.content
	}
	return contractOf(&a.Policy).content
}

// A FrozenError says that virtual time stood still in a trial, which cannot be
// ended then: its goroutines stay behind.
type FrozenError struct{ Report string }

func (e *FrozenError) Error() string { return e.Report }

// watched runs the trial in a goroutine that can be given up, since a bubble
// whose clock stands still cannot be ended. It finds out where what is left
// behind is blocked, which takes longer than a trial.
func watched(t *testing.T, x *trial) (*trace.Trace, error) {
	x.detail = true
	return abandonable(t, x)
}

// abandonable is watched without the places of what is left behind.
func abandonable(t *testing.T, x *trial) (*trace.Trace, error) {
	type outcome struct {
		tr  *trace.Trace
		err error
	}
	if nested() {
		return nil, errNested
	}
	x.claim.take(x.seeds())
	defer x.claim.drop()
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errEnded}
		defer func() { done <- o }()
		defer x.claim.ends()
		o.tr, o.err = x.run(t)
	}()
	for beat := x.pulse(); ; {
		limit := time.NewTimer(frozenAfter)
		select {
		case o := <-done:
			limit.Stop()
			if x.claim.seeded {
				scatter(t)
			}
			return o.tr, o.err
		case <-limit.C:
			if now := x.pulse(); now != beat {
				beat = now // a fleet takes its time
				continue
			}
			x.claim.giveUp()
			return nil, &FrozenError{frozenReport(x)}
		}
	}
}

// pulse moves while a fleet does; a trial of one process takes microseconds, and
// has none.
func (x *trial) pulse() int64 {
	if x.house.crowd == nil {
		return 0
	}
	return x.house.crowd.pulse.Load()
}

// errEnded is the error of a trial whose goroutine has been ended. The bubble
// ends it where the race detector has found something in the trial.
var errEnded = errors.New("faultsim: the trial was ended by its test: see what the race detector or the code under test has reported")

// frozenReport says why virtual time stands still, what was recorded until
// then, and which goroutines hold it up.
func frozenReport(x *trial) string {
	held := holdups(x.number())
	cause := "no goroutine shows why"
	if len(held) > 0 {
		cause = held[0].cause
	}
	var b strings.Builder
	fmt.Fprintf(&b, frozenClock+": %s: virtual time has stood still for %v of real time: %s\n", x.a.Name, frozenAfter, cause)
	b.WriteString("    advice: in a bubble of virtual time, wait only for what the bubble knows: timers, contexts, channels and WaitGroups made in Subject or later. Not for a sync.Mutex whose holder waits, a real network connection, or a channel from outside\n")
	for _, h := range held[:min(len(held), 4)] {
		b.WriteString("    " + strings.ReplaceAll(h.stack, "\n", "\n    ") + "\n")
	}
	b.WriteString("\n" + x.rec.Trace().Timeline())
	return strings.TrimRight(b.String(), "\n")
}

// indent shows a block under a title.
func indent(title, text string) string {
	return title + ":\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
