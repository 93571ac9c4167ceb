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

// Run plays one schedule on a fresh subject in virtual time, judges the trace
// by all that the policy implies, and reports findings through t. It returns
// the trace for further checks.
//
// Run must be called outside a synctest bubble.
func Run(t *testing.T, a Adapter, s Schedule) *trace.Trace {
	t.Helper()
	if err := a.validate(); err != nil {
		t.Fatalf("%v", err)
	}
	tr := play(t, &a, &s)
	if found := a.judge(tr); len(found) > 0 {
		t.Errorf("%s\n%s", strings.TrimRight(invariants.Report(tr, found), "\n"), indent("schedule", s.String()))
	}
	return tr
}

// play runs one trial under the watchdog and ends the test where there is no
// trace to judge.
func play(t *testing.T, a *Adapter, s *Schedule) *trace.Trace {
	t.Helper()
	x := &trial{a: a, s: s, content: a.content()}
	tr, err, frozen := watched(t, x)
	if frozen != "" {
		t.Fatalf("%s\n%s", frozen, indent("schedule", s.String()))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, indent("schedule", s.String()))
	}
	return tr
}

// judge returns the findings that the adapter does not accept.
func (a *Adapter) judge(tr *trace.Trace) []invariants.Finding {
	found := invariants.Find(tr, a.invariants()...)
	kept := found[:0]
	for _, f := range found {
		if _, ok := a.Accept[f.Invariant]; !ok {
			kept = append(kept, f)
		}
	}
	return kept
}

// content is the policy's content for traces.
func (a *Adapter) content() []byte { return trace.Canonical(trace.Marshal(a.Policy)) }

// watched runs the trial in a goroutine that can be given up, since a bubble
// whose clock stands still cannot be ended.
func watched(t *testing.T, x *trial) (tr *trace.Trace, err error, frozen string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tr, err = x.run(t)
	}()
	limit := time.NewTimer(frozenAfter)
	defer limit.Stop()
	select {
	case <-done:
		return tr, err, ""
	case <-limit.C:
		return nil, nil, frozenReport(x)
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
