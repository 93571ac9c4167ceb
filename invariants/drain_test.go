package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// drained is kept with a word on attempts that a drain cuts off.
func drained(d DrainedAttempt) Policy { return with(kept(), func(p *Policy) { p.Drain = d }) }

// warned is a process that is told to stop, with half a minute for it.
func warned(s *tracetest.Script) *tracetest.Script { return s.Drain(30 * sec) }

// handsBack is a process that stops a second later, and is up after another.
func handsBack(s *tracetest.Script) *tracetest.Script {
	return s.After(sec).HandBack().After(sec).Restart()
}

// cutOff is an attempt that a drain cuts off, and that is given back.
func cutOff(s *tracetest.Script) *tracetest.Script {
	return handsBack(warned(pay(s).After(sec)).Answer(trace.Cancelled))
}

func TestWhatADrainDoesToAnAttempt(t *testing.T) {
	counts, free, either := drained(DrainCounts), drained(DrainFree), drained(DrainUndeclared)
	unsafe := with(free, func(p *Policy) { p.Key, p.Retry = "", []trace.Class{throttle} })
	asking := with(free, func(p *Policy) { p.Reconcile = true })
	paid := with(free, func(p *Policy) { p.Price, p.Spend = 1, 3 })
	memory := with(kept(), func(p *Policy) { p.Restart = RestartInterrupts })
	undeclared := with(kept(), func(p *Policy) { p.Restart = "" })
	jitter := with(free, func(p *Policy) { p.Backoff.Jitter = DecorrelatedJitter })
	tools := with(kept(), func(p *Policy) { p.MaxAttempts, p.Tools = 1, map[string]Policy{"bank": free} })
	for _, c := range []struct {
		name string
		p    Policy
		tr   *tracetest.Script
		rule string // the first that is broken; empty: none
		text string
	}{
		{"the answer comes in the grace", counts, warned(pay(begin()).After(sec)).After(sec).Answer(ok).End(), "", ""},
		{"the answer comes in the grace, and is told by the next process", counts, handsBack(warned(pay(begin()).After(sec)).After(sec).Answer(ok)).End(), "", ""},
		{"the answer comes in the grace, and is lost", counts, pay(warned(pay(begin()).After(sec)).Answer(ok).HandBack().Restart()).Answer(ok).End(), "survives-restart", "which had answered before it"},
		{"the last failure comes in the grace", with(counts, func(p *Policy) { p.MaxAttempts = 1 }), warned(pay(begin()).After(sec)).After(sec).Answer(transient).Fail("busy"), "", ""},
		{"a refusal comes in the grace", counts, warned(pay(begin()).After(sec)).After(sec).Answer(forbidden).FailFor(trace.ReasonRefused), "", ""},
		{"a failure comes in the grace, and the wait goes on", counts, pay(handsBack(warned(pay(begin()).After(sec)).After(sec).Answer(transient)).After(8 * sec)).Answer(ok).End(), "", ""},
		{"a failure comes in the grace, and the wait is forgotten", counts, pay(handsBack(warned(pay(begin()).After(sec)).After(sec).Answer(transient))).Answer(ok).End(), "survives-restart", "the earliest is 10s"},
		{"cut off and made again at once", counts, pay(cutOff(begin())).Answer(ok).End(), "", ""},
		{"cut off and made again after a wait", counts, pay(cutOff(begin()).After(10 * sec)).Answer(ok).End(), "", ""},
		{"cut off, free, and made again after a wait", free, pay(cutOff(begin()).After(10 * sec)).Answer(ok).End(), "", ""},
		{"cut off and made again too late", free, pay(cutOff(begin()).After(11 * sec)).Answer(ok).End(), "survives-restart", "the latest is 10s"},
		{"cut off, and made again with another key", free, cutOff(begin()).Key("k2").Call("bank", `{"n":7}`).Answer(ok).End(), "survives-restart", "called with key"},
		{"cut off while the tool works on", counts, pay(handsBack(warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled))).Answer(ok).End(), "", ""},
		{"left under way and handed back", counts, pay(handsBack(warned(pay(begin()).After(sec)))).Answer(ok).End(), "", ""},
		{"handed back, and nobody goes on", free, cutOff(begin()).Fail("no such job"), "survives-restart", "given up by the restart"},

		{"counted, and three are made", counts, pay(cutOff(cutOff(begin()))).Answer(transient).Fail("busy"), "", ""},
		{"counted, and four are made", counts, pay(cutOff(cutOff(cutOff(begin())))).Answer(ok).End(), "drain-counted", "4 attempts of bank, at most 3 are allowed: attempt 1, which a drain cut off, counts"},
		{"counted, and given up after the third", counts, cutOff(cutOff(cutOff(begin()))).FailFor(trace.ReasonExhausted), "", ""},
		{"free, and four are made", free, pay(cutOff(cutOff(cutOff(begin())))).Answer(ok).End(), "", ""},
		{"free, and three are made behind it", free, pay(pay(pay(cutOff(begin())).Answer(transient).After(10 * sec)).Answer(transient).After(20 * sec)).Answer(transient).Fail("busy"), "", ""},
		{"free, and four are made behind it", free, pay(pay(pay(pay(cutOff(begin())).Answer(transient).After(10 * sec)).Answer(transient).After(20 * sec)).Answer(transient).After(40 * sec)).Answer(ok).End(), "survives-restart", "4 attempts of bank over 1 restart, at most 3"},
		{"free, and given up after the third", free, cutOff(cutOff(cutOff(begin()))).Fail("busy"), "drain-counted", "given up after 3 attempts of bank, at most 3 are allowed: attempt 1, which a drain cut off, is free"},
		{"free, and counted by the wait", free, pay(pay(cutOff(begin())).Answer(transient).After(20 * sec)).Answer(ok).End(), "waits-in-window", "the latest is 10s"},
		{"either, and four are made", either, pay(cutOff(cutOff(cutOff(begin())))).Answer(ok).End(), "", ""},
		{"either, and given up after the third", either, cutOff(cutOff(cutOff(begin()))).FailFor(trace.ReasonExhausted), "", ""},
		{"either, and the wait is counted", either, pay(pay(cutOff(begin())).Answer(transient).After(20 * sec)).Answer(ok).End(), "", ""},
		{"either, and five failures are too many", either, pay(pay(pay(pay(cutOff(begin())).Answer(transient).After(10 * sec)).Answer(transient).After(20 * sec)).Answer(transient).After(40 * sec)).Answer(ok).End(), "survives-restart", "4 attempts of bank"},
		{"free and asked of the tool: it costs", paid, pay(cutOff(cutOff(cutOff(begin())))).Answer(ok).End(), "within-spend", "attempt 4 of bank"},
		{"free, and the failure behind it cannot be paid for", paid, pay(cutOff(cutOff(begin()))).Answer(transient).FailFor(trace.ReasonBudget), "", ""},
		{"free under jitter that grows from the wait before", jitter, pay(cutOff(pay(begin()).Answer(transient).After(25 * sec)).After(70 * sec)).Answer(ok).End(), "", ""},
		{"the policy of one tool says it", tools, pay(cutOff(cutOff(cutOff(begin())))).Answer(ok).End(), "", ""},
		{"the policy of one tool says it, and it is given up", tools, cutOff(cutOff(cutOff(begin()))).Fail("busy"), "drain-counted", "is free"},

		{"not safe, and left as unknown by the next process", unsafe, cutOffPlainly().FailFor(trace.ReasonOutcomeUnknown), "", ""},
		{"not safe, and left as unknown at once", unsafe, warned(begin().Call("bank", `{"n":7}`).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonOutcomeUnknown), "", ""},
		{"not safe, and made again", unsafe, cutOffPlainly().Call("bank", `{"n":7}`).Answer(ok).End(), "conforms", "may have done its work"},
		{"made again without asking", asking, pay(cutOff(begin())).Answer(ok).End(), "reconciled-first", "after cancelled"},
		{"asked, and made again", asking, pay(cutOff(begin()).Reconcile("status").Answer(ok)).Answer(ok).End(), "", ""},
		{"asked in the grace, and done", asking, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).Reconcile("status").Answer(ok).End(), "", ""},

		{"handed back in the wait", counts, pay(handsBack(warned(pay(begin()).Answer(transient).After(4 * sec))).After(4 * sec)).Answer(ok).End(), "", ""},
		{"another attempt in the grace", counts, pay(warned(pay(begin()).Answer(transient).After(4 * sec)).After(6 * sec)).Answer(ok).End(), "no-attempt-while-draining", "bank was called 6s after the process had been told to stop"},
		{"another attempt at the instant of the signal", counts, pay(warned(pay(begin()).Answer(transient).After(10 * sec))).Answer(ok).End(), "", ""},
		{"another attempt in place of the one that was cut off", counts, pay(warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).After(sec)).Answer(ok).End(), "no-attempt-while-draining", "1s after"},
		{"an attempt of the next process", counts, pay(handsBack(warned(pay(begin()).Answer(transient).After(4 * sec))).After(4 * sec)).Answer(ok).End(), "", ""},

		{"ended as cancelled in its middle", counts, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonCancelled), "drain-hands-back", "the action was ended by the drain, which cut attempt 1 of bank off"},
		{"ended without a word in its middle", free, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).Fail("context canceled"), "drain-hands-back", "the action was ended by the drain"},
		{"ended in the wait", counts, warned(pay(begin()).Answer(transient).After(4 * sec)).Fail("busy"), "drain-hands-back", "after attempt 1 of bank, and more were allowed"},
		{"not safe, and ended as cancelled", unsafe, warned(begin().Call("bank", `{"n":7}`).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonCancelled), "drain-hands-back", "and ends as cancelled"},
		{"the last one, and ended as cancelled", with(counts, func(p *Policy) { p.MaxAttempts = 1 }), warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonCancelled), "drain-hands-back", "and ends as cancelled"},
		{"ended by the drain of a second process", counts, warned(crashes(pay(begin()).Answer(transient).After(sec), 0).After(sec)).Fail("busy"), "drain-hands-back", "the action was ended by the drain"},
		{"a success that is called a failure", counts, warned(pay(begin()).After(sec)).After(sec).Answer(ok).Fail("draining"), "honest-ending", "bank answered"},
		{"a tool that ignores it answers, and that is the end", counts, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).After(sec).Answer(ok).End(), "", ""},
		{"a tool that ignores it answers, and that is told later", counts, handsBack(warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).After(sec).Answer(ok)).End(), "", ""},

		{"killed under the attempt", counts, pay(crashes(warned(pay(begin()).After(sec)).After(30*sec), 0)).Answer(ok).End(), "", ""},
		{"killed under the third attempt, which counts", free, crashes(warned(pay(cutOff(pay(pay(begin()).Answer(transient).After(10*sec)).Answer(transient).After(20*sec))).After(sec)).After(30*sec), 0).FailFor(trace.ReasonExhausted), "", ""},
		{"killed before it was handed back, and counted", drained(DrainFree), crashes(warned(pay(cutOffTwice()).After(sec)).Interrupt(trace.Cancelled).After(30*sec), 0).FailFor(trace.ReasonExhausted), "", ""},
		{"killed before it was handed back, and not counted", drained(DrainFree), pay(crashes(warned(pay(cutOffTwice()).After(sec)).Interrupt(trace.Cancelled).After(30*sec), 0)).Answer(ok).End(), "", ""},

		{"in memory, and ended as interrupted", memory, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonInterrupted), "", ""},
		{"in memory, and ended as interrupted in the wait", memory, warned(pay(begin()).Answer(transient).After(4 * sec)).FailFor(trace.ReasonInterrupted), "", ""},
		{"in memory, and ended as interrupted in the grace", memory, warned(pay(begin()).Answer(transient).After(4 * sec)).After(30 * sec).FailFor(trace.ReasonInterrupted), "", ""},
		{"in memory, and ended as interrupted by the next process", memory, cutOff(begin()).FailFor(trace.ReasonInterrupted), "", ""},
		{"in memory, and ended as cancelled", memory, warned(pay(begin()).After(sec)).Interrupt(trace.Cancelled).FailFor(trace.ReasonCancelled), "drain-hands-back", "and ends as cancelled"},
		{"in memory, and ended as exhausted in the wait", memory, warned(pay(begin()).Answer(transient).After(4 * sec)).FailFor(trace.ReasonExhausted), "drain-hands-back", "and ends as exhausted"},
		{"in memory, and ended without a word", memory, warned(pay(begin()).Answer(transient).After(4 * sec)).Fail("busy"), "drain-hands-back", `ends with "busy", which does not tell of it`},
		{"in memory, and gone on with", memory, pay(cutOff(begin())).Answer(ok).End(), "interrupted-auditable", "bank was called after the restart"},
		{"nothing is promised", undeclared, pay(cutOff(begin())).Answer(ok).End(), "", ""},
		{"nothing is promised, and it ends", undeclared, warned(pay(begin()).After(sec)).Answer(ok).End(), "", ""},
		{"the trace ends in the grace", counts, warned(pay(begin()).After(sec)), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.p.Validate())
			tr := c.tr.Trace()
			found := Find(tr, c.p.Invariants()...)
			if c.rule == "" {
				require.Empty(t, found, tr.Timeline())
				return
			}
			require.NotEmpty(t, found, tr.Timeline())
			require.Equal(t, c.rule, found[0].Invariant, "%v", found)
			require.Contains(t, found[0].Text, c.text)
		})
	}
}

// cutOffPlainly is cutOff without a key.
func cutOffPlainly() *tracetest.Script {
	return handsBack(warned(begin().Call("bank", `{"n":7}`).After(sec)).Interrupt(trace.Cancelled))
}

// cutOffTwice is the wait for the third attempt.
func cutOffTwice() *tracetest.Script {
	return pay(pay(begin()).Answer(transient).After(10 * sec)).Answer(transient).After(20 * sec)
}

func TestAnErrorMayTellOfWhatADrainCutOffOrNot(t *testing.T) {
	for count, honest := range map[int]bool{2: false, 3: true, 4: true, 5: false} {
		s := pay(pay(pay(cutOff(begin())).Answer(transient).After(10 * sec)).Answer(transient).After(20 * sec)).Answer(transient)
		found := Find(s.Ending(trace.Event{Error: "busy", Count: count}).Trace(), drained(DrainFree).Invariants()...)
		require.Equal(t, honest, len(found) == 0, "%d: %v", count, found)
	}
}

func TestRulesOfADrainSayNothingWithoutOne(t *testing.T) {
	for _, inv := range []Invariant{NoAttemptWhileDraining(), DrainHandsBack(drained(DrainFree)), DrainCounted(drained(DrainFree))} {
		require.Zero(t, inv.Check(inWait().End().Trace()).Applied, inv.Name)
	}
	require.Zero(t, DrainCounted(drained("")).Check(pay(cutOff(begin())).Answer(ok).End().Trace()).Applied)
	endless := with(drained(DrainFree), func(p *Policy) { p.MaxAttempts, p.Budget = Unlimited, 100*time.Second })
	require.Zero(t, DrainCounted(endless).Check(pay(cutOff(begin())).Answer(ok).End().Trace()).Applied)
}
