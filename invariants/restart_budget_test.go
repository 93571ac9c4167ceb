package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// budgeted is kept with so much time, which goes on over a restart.
func budgeted(d time.Duration) Policy {
	return with(kept(), func(p *Policy) { p.Budget, p.Retry = d, append(p.Retry, throttle) })
}

// anew is kept with so much time from each restart on.
func anew(d time.Duration) Policy {
	return with(budgeted(d), func(p *Policy) { p.RestartBudget = BudgetBeginsAnew })
}

func TestWhatARestartDoesToTheBudget(t *testing.T) {
	// The process dies four seconds into a wait of ten, and is down for an hour.
	long := func() *tracetest.Script {
		return pay(begin()).Answer(transient).After(4 * sec).Crash(0).After(3600 * sec).Restart()
	}
	again := func() *tracetest.Script { return pay(long()).Answer(transient) } // the next wait is 20s
	cuts := with(anew(13*sec), func(p *Policy) { p.BudgetCuts = true })
	cutLate := func(left time.Duration) *tracetest.Script {
		return begin().Until(13*sec).Key("k1").Call("bank", `{"n":7}`).Answer(transient).After(4*sec).Crash(0).After(3600*sec).Restart().
			Until(3604*sec+left).Key("k1").Call("bank", `{"n":7}`)
	}
	// The process dies as it is told to wait for 20s, and comes back after six.
	hinted := func(write int) *tracetest.Script {
		return pay(begin()).Hint(throttle, 20*sec).Crash(write).After(6 * sec).Restart()
	}
	tools := Policy{ID: "all/v1", MaxAttempts: 1, Key: "k", Restart: RestartResumes, Tools: map[string]Policy{"bank": anew(13 * sec)}}
	for _, c := range []struct {
		name string
		p    Policy
		tr   *tracetest.Script
		rule string // the first that is broken; empty: none
		text string
	}{
		{"it goes on, and is over", budgeted(13 * sec), long().FailFor(trace.ReasonBudget), "", ""},
		{"it goes on, and is over, and more is asked", budgeted(13 * sec), pay(long()).Answer(ok).End(), "within-budget", "was called 59m51s after the budget of 13s was spent"},
		{"it begins anew", anew(13 * sec), pay(long()).Answer(ok).End(), "", ""},
		{"it begins anew, and nothing is asked", anew(13 * sec), long().FailFor(trace.ReasonBudget), "survives-restart", "given up by the restart"},
		{"it begins anew, and is over once more", anew(13 * sec), again().FailFor(trace.ReasonBudget), "", ""},
		{"it begins anew, and more is asked when it is over", anew(13 * sec), pay(again().After(20 * sec)).Answer(ok).End(), "within-budget", "was called 7s after the budget of 13s was spent"},
		{"it begins anew twice", anew(13 * sec), pay(again().After(4 * sec).Crash(0).After(11 * sec).Restart().After(5 * sec)).Answer(ok).End(), "", ""},
		{"it begins anew, and the wait fits in no more", anew(13 * sec), again().After(4 * sec).Crash(0).After(sec).Restart().FailFor(trace.ReasonBudget), "", ""},
		{"what is left of a wait does not fit", anew(5 * sec), pay(begin()).Answer(transient).Crash(0).After(sec).Restart().FailFor(trace.ReasonBudget), "", ""},
		{"it begins anew, and what is left of the wait fits", anew(9 * sec), pay(pay(begin()).Answer(transient).Crash(0).After(5 * sec).Restart().After(5 * sec)).Answer(ok).End(), "", ""},
		{"it was decided before the crash that it is over", anew(15 * sec), hinted(2).FailFor(trace.ReasonBudget), "", ""},
		{"it was decided before the crash, and goes on", anew(15 * sec), pay(hinted(2).After(14 * sec)).Answer(ok).End(), "", ""},
		{"it fitted before the crash, and is given up", anew(25 * sec), hinted(2).FailFor(trace.ReasonBudget), "survives-restart", "given up by the restart"},
		{"it ended between two crashes, and goes on", anew(5 * sec), pay(pay(begin()).Answer(transient).Crash(0).After(sec).Restart().Crash(3).After(5 * sec).Restart().After(4 * sec)).Answer(ok).End(), "", ""},
		{"not begun before the restart", anew(13 * sec), pay(pay(crashes(begin(), 1)).Answer(transient).After(10 * sec)).Answer(ok).End(), "", ""},
		{"not begun before the restart, and given up", anew(13 * sec), pay(begin().Crash(0).After(3600 * sec).Restart()).Answer(transient).FailFor(trace.ReasonBudget), "conforms", "was given up after attempt 1"},
		{"lost in flight, and again", anew(13 * sec), pay(pay(begin()).After(sec).Crash(0).After(3600 * sec).Restart()).Answer(ok).End(), "", ""},
		{"that of one tool begins anew", tools, pay(long()).Answer(ok).End(), "", ""},
		{"that of one tool begins anew, and nothing is asked", tools, long().FailFor(trace.ReasonBudget), "survives-restart", "given up by the restart"},
		{"that of one tool begins anew, and is over", tools, pay(again().After(20 * sec)).Answer(ok).End(), "within-budget", "was called 7s after the budget of 13s was spent"},
		{"an attempt is given what is left of it", cuts, cutLate(13 * sec).Answer(ok).End(), "", ""},
		{"an attempt is given more than what is left of it", cuts, cutLate(14 * sec).Answer(ok).End(), "within-budget", "was given more time than the 13s that were left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.p.Validate())
			found := Find(c.tr.Trace(), c.p.Invariants()...)
			if c.rule == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Equal(t, c.rule, found[0].Invariant)
			require.Contains(t, found[0].Text, c.text)
		})
	}
}
