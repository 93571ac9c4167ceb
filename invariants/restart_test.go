package invariants_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// kept is a write whose retries are persisted.
func kept() Policy {
	return Policy{ID: "job/v1", MaxAttempts: 3, Retry: []trace.Class{transient, timeout}, Key: "k",
		Backoff: Backoff{Base: 10 * sec}, Restart: RestartResumes}
}

// pay calls the bank with the key and arguments of the job.
func pay(s *tracetest.Script) *tracetest.Script { return s.Key("k1").Call("bank", `{"n":7}`) }

// down is a crash, at a durable write or at none, and a restart a second later.
func crashes(s *tracetest.Script, write int) *tracetest.Script {
	return s.Crash(write).After(sec).Restart()
}

// inWait is a job whose process dies four seconds into the wait.
func inWait() *tracetest.Script { return crashes(pay(begin()).Answer(transient).After(4*sec), 0) }

// inFlight is a job whose process dies under its first attempt.
func inFlight() *tracetest.Script { return crashes(pay(begin()).After(sec), 0) }

// lease is inFlight with an attempt that has half a minute.
func lease() *tracetest.Script { return crashes(pay(begin().Until(30*sec)).After(sec), 0) }

func TestARestartChangesNothing(t *testing.T) {
	unsafe := with(kept(), func(p *Policy) { p.Key, p.Retry = "", []trace.Class{throttle} })
	asking := with(kept(), func(p *Policy) { p.Reconcile = true })
	budget := with(kept(), func(p *Policy) { p.Budget = 13 * sec })
	leased := with(kept(), func(p *Policy) { p.Attempt = 30 * sec })
	once := with(kept(), func(p *Policy) { p.MaxAttempts = 1 })
	undeclared := with(kept(), func(p *Policy) { p.Restart = "" })
	slow := with(kept(), func(p *Policy) {
		p.MaxAttempts, p.Backoff.Base, p.Tools = 2, 60*sec, map[string]Policy{"bank": kept()}
	})
	plain := func(s *tracetest.Script) *tracetest.Script { return s.Call("bank", `{"n":7}`) }
	for _, c := range []struct {
		name string
		p    Policy
		tr   *tracetest.Script
		rule string // the first that is broken; empty: none
		text string
	}{
		{"the wait goes on to its own instant", kept(), pay(inWait().After(5 * sec)).Answer(ok).End(), "", ""},
		{"the wait was over before the restart", kept(), pay(begin()).Answer(transient).After(4*sec).Crash(0).After(sec*3600).Restart().Key("k1").Call("bank", `{"n":7}`).Answer(ok).End(), "", ""},
		{"the wait of a tool with a policy of its own goes on", slow, pay(inWait().After(5 * sec)).Answer(ok).End(), "", ""},
		{"the wait of a tool with a policy of its own is forgotten", slow, pay(inWait()).Answer(ok).End(), "survives-restart", "the earliest is 10s"},
		{"a tool with a policy of its own is called as often as that says", slow, pay(pay(inWait().After(5 * sec)).Answer(transient).After(20 * sec)).Answer(ok).End(), "", ""},
		{"the wait is forgotten", kept(), pay(inWait()).Answer(ok).End(), "survives-restart", "came 5s after the answer before it, the earliest is 10s"},
		{"the wait begins anew", kept(), pay(inWait().After(10 * sec)).Answer(ok).End(), "survives-restart", "came 15s after the answer before it, the latest is 10s"},
		{"another key", kept(), inWait().After(5*sec).Key("k2").Call("bank", `{"n":7}`).Answer(ok).End(), "survives-restart", `called with key "k2", before it with key "k1"`},
		{"other arguments", kept(), inWait().After(5*sec).Key("k1").Call("bank", `{"n":8}`).Answer(ok).End(), "survives-restart", `called with {"n":8}, before it with {"n":7}`},
		{"given up", kept(), inWait().Fail("no such job"), "survives-restart", "given up by the restart, after attempt 1 of bank"},
		{"counted anew", kept(), pay(pay(pay(inFlight()).Answer(transient).After(20 * sec)).Answer(transient).After(40 * sec)).Answer(transient).Fail("busy"), "survives-restart", "4 attempts of bank over 1 restart, at most 3"},
		{"counted over two restarts", kept(), pay(crashes(pay(inFlight()), 0).After(sec)).Answer(transient).Fail("busy"), "", ""},
		{"done, written down and done again", kept(), pay(crashes(pay(begin()).Answer(ok).After(sec), 0)).Answer(ok).End(), "survives-restart", "which had answered before it"},
		{"done, and lost before it was written down", kept(), pay(crashes(pay(begin()).Answer(ok), 2)).Answer(ok).End(), "", ""},
		{"done, and reported after the restart", kept(), crashes(pay(begin()).Answer(ok), 2).End(), "", ""},
		{"lost in flight, and again at once", kept(), pay(inFlight()).Answer(ok).End(), "", ""},
		{"lost in flight, and again after a wait", kept(), pay(inFlight().After(10 * sec)).Answer(ok).End(), "", ""},
		{"lost in flight, and again too late", kept(), pay(inFlight().After(11 * sec)).Answer(ok).End(), "survives-restart", "the latest is 10s"},
		{"lost in flight, and again after its lease", leased, pay(lease().After(28 * sec).Until(60 * sec)).Answer(ok).End(), "", ""},
		{"lost in flight, and again after its lease and a wait", leased, pay(lease().After(38 * sec).Until(70 * sec)).Answer(ok).End(), "", ""},
		{"lost in flight, and again long after its lease", leased, pay(lease().After(39 * sec).Until(71 * sec)).Answer(ok).End(), "survives-restart", "the latest is 38s"},
		{"lost in flight, and the last", once, inFlight().Fail("unknown"), "", ""},
		{"lost in flight, and one too many", once, pay(inFlight()).Answer(ok).End(), "survives-restart", "2 attempts of bank"},
		{"lost in flight, not safe, and left", unsafe, crashes(plain(begin()).After(sec), 0).FailFor(trace.ReasonOutcomeUnknown), "", ""},
		{"lost in flight, not safe, and repeated", unsafe, plain(crashes(plain(begin()).After(sec), 0)).Answer(ok).End(), "conforms", "may have done its work"},
		{"lost in flight, and repeated without asking", asking, pay(inFlight()).Answer(ok).End(), "reconciled-first", "after a restart in its middle"},
		{"lost in flight, asked, and repeated", asking, pay(inFlight().Reconcile("status").Answer(ok)).Answer(ok).End(), "", ""},
		{"lost in flight, asked, and done", asking, inFlight().Reconcile("status").Answer(ok).End(), "", ""},
		{"lost in flight, asked, and dead again", asking, crashes(inFlight().Reconcile("status").Answer(ok), 2).End(), "", ""},
		{"the budget goes on", budget, pay(pay(inWait().After(5 * sec)).Answer(transient).After(20 * sec)).Answer(ok).End(), "within-budget", "after the budget of 13s"},
		{"the budget ends in the downtime", with(kept(), func(p *Policy) { p.Budget = 4500 * ms }), inWait().FailFor(trace.ReasonBudget), "", ""},
		{"written down and not made", once, crashes(begin(), 1).FailFor(trace.ReasonOutcomeUnknown), "", ""},
		{"written down and not made, and counted", kept(), pay(pay(crashes(begin(), 1)).Answer(transient).After(20 * sec)).Answer(transient).Fail("busy"), "", ""},
		{"not begun", kept(), crashes(begin(), 1).FailFor(trace.ReasonInterrupted), "", ""},
		{"died with the next one written down", kept(), pay(crashes(pay(begin()).Answer(transient).After(10*sec), 3).After(20 * sec)).Answer(ok).End(), "", ""},
		{"a refusal that was not written down", kept(), pay(crashes(pay(begin()).Answer(forbidden), 2)).Answer(ok).End(), "", ""},
		{"a refusal that was, and is asked again", kept(), pay(crashes(pay(begin()).Answer(forbidden).After(sec), 0)).Answer(ok).End(), "no-retry-after-refusal", ""},
		{"nothing is promised", undeclared, pay(inWait()).Answer(ok).End(), "", ""},
		{"it never comes back", kept(), pay(begin()).Answer(transient).Crash(0), "", ""},
		{"published before it died, and again", kept(), crashes(pay(begin()).Answer(ok).Publish(trace.ReasonSuccess), 3).Publish(trace.ReasonSuccess).End(), "", ""},
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

func TestARestartInterrupts(t *testing.T) {
	p := with(kept(), func(p *Policy) { p.Restart = RestartInterrupts })
	for _, c := range []struct {
		name string
		tr   *tracetest.Script
		rule string
		text string
	}{
		{"told as interrupted", inWait().FailFor(trace.ReasonInterrupted), "", ""},
		{"told as unknown", inFlight().FailFor(trace.ReasonOutcomeUnknown), "", ""},
		{"gone on with", pay(inWait().After(5 * sec)).Answer(ok).End(), "interrupted-auditable", "bank was called after the restart"},
		{"lost", inWait().Fail("no such job"), "interrupted-auditable", `ends with "no such job", which does not tell of it`},
		{"told as something else", inWait().FailFor(trace.ReasonExhausted), "interrupted-auditable", "ends as exhausted"},
		{"called a success", inWait().End(), "honest-ending", "claims success"},
		{"done before, and told so", crashes(pay(begin()).Answer(ok), 2).End(), "", ""},
		{"done before, and told as interrupted", crashes(pay(begin()).Answer(ok), 2).FailFor(trace.ReasonInterrupted), "", ""},
		{"refused before, and told so", crashes(pay(begin()).Answer(forbidden), 2).FailFor(trace.ReasonRefused), "", ""},
		{"refused before, and told in its own words", crashes(pay(begin()).Answer(forbidden), 2).Fail("forbidden"), "", ""},
		{"told an hour late", inWait().After(3600 * sec).FailFor(trace.ReasonInterrupted), "conforms", "too late"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(c.tr.Trace(), p.Invariants()...)
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

func TestRulesOfARestartSayNothingWithoutOne(t *testing.T) {
	for _, p := range []Policy{kept(), with(kept(), func(p *Policy) { p.Restart = RestartInterrupts })} {
		for _, inv := range []Invariant{SurvivesRestart(p), InterruptedAuditable(p)} {
			require.Zero(t, inv.Check(tries(transient, transient, transient, transient).Trace()).Applied, inv.Name)
		}
	}
	require.Zero(t, SurvivesRestart(with(kept(), func(p *Policy) { p.Restart = "" })).Check(inWait().End().Trace()).Applied)
}
