package faultsim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// frozenAfter is the real time after which a trial whose virtual clock stands
// still is given up. A trial takes microseconds.
const frozenAfter = 10 * time.Second

// frozenClock is the name of that finding.
const frozenClock = "frozen-clock"

// A Result is a trial and its judgement.
type Result struct {
	Trace    *trace.Trace         // nil where there is none to judge
	Findings []invariants.Finding // without those that the adapter accepts
	Accepted []invariants.Finding // those that it accepts
	Err      error                // the schedule could not be played; see [UnfitError]
}

// An UnfitError says that a schedule does not fit the adapter's stage: it
// speaks of a tool that is not there, or of a failure that the tool cannot show.
type UnfitError struct{ Text string }

func (e *UnfitError) Error() string { return e.Text }

// Trial plays one schedule on a fresh subject in virtual time and judges the
// trace by all that the policy implies. It reports nothing through t; [Run] is
// the door for tests. It must be called outside a synctest bubble.
func Trial(t *testing.T, a Adapter, s Schedule) Result {
	if err := a.validate(); err != nil {
		return Result{Err: err}
	}
	x := &trial{a: &a, s: &s, content: a.content()}
	tr, err := watched(t, x)
	if err != nil {
		return Result{Err: err}
	}
	r := Result{Trace: tr}
	r.Findings, r.Accepted = a.judge(tr)
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
	for _, tool := range tools {
		names = append(names, tool.name)
	}
	return names, func(f Fault) bool { return tools[0].can(&f) }, nil
}

// inspect builds the subject once to learn which tools it puts on the stage.
func inspect(t *testing.T, a *Adapter) ([]*tool, error) {
	x := &trial{a: a, s: &Schedule{}, content: a.content(), idle: true}
	if _, err := watched(t, x); err != nil {
		return nil, err
	}
	if len(x.stage.tools) == 0 {
		return nil, fmt.Errorf("faultsim: Subject of %q put no tool on the stage: build the code on faultsim.Tool or Stage.Client", a.Name)
	}
	return x.stage.tools, nil
}

// Run plays one schedule on a fresh subject in virtual time, judges the trace
// by all that the policy implies, and reports findings through t. It returns
// the trace for further checks, and ends the test where there is none.
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
func (a *Adapter) content() []byte { return contractOf(&a.Policy).content }

// A FrozenError says that virtual time stood still in a trial, which cannot be
// ended then: its goroutines stay behind.
type FrozenError struct{ Report string }

func (e *FrozenError) Error() string { return e.Report }

// watched runs the trial in a goroutine that can be given up, since a bubble
// whose clock stands still cannot be ended.
func watched(t *testing.T, x *trial) (*trace.Trace, error) {
	type outcome struct {
		tr  *trace.Trace
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		tr, err := x.run(t)
		done <- outcome{tr, err}
	}()
	limit := time.NewTimer(frozenAfter)
	defer limit.Stop()
	select {
	case o := <-done:
		return o.tr, o.err
	case <-limit.C:
		return nil, &FrozenError{frozenReport(x)}
	}
}

// frozenReport says why virtual time may stand still, what was recorded until
// then, and which goroutines hold it up.
func frozenReport(x *trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, frozenClock+": virtual time has stood still for %v of real time\n", frozenAfter)
	b.WriteString("    advice: a goroutine of the code under test waits for something that the bubble does not know: a sync.Mutex that another goroutine holds while it waits, a real network connection, a channel or timer made outside, or a loop without end\n")
	for _, g := range holdups() {
		b.WriteString("    " + strings.ReplaceAll(g, "\n", "\n    ") + "\n")
	}
	b.WriteString(x.rec.Trace().Timeline())
	return b.String()
}

// holdups returns the stacks of the goroutines in a bubble that are not
// durably blocked, which are the ones that virtual time waits for.
func holdups() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		head, _, _ := strings.Cut(g, "\n")
		if strings.Contains(head, "synctest bubble") && !strings.Contains(head, "(durable)") && !strings.Contains(head, "synctest.Run") {
			lines := strings.Split(g, "\n")
			found = append(found, strings.Join(lines[:min(len(lines), 9)], "\n"))
		}
	}
	return found
}

// indent shows a block under a title.
func indent(title, text string) string {
	return title + ":\n    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
