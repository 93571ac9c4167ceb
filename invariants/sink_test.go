package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestContradictionsOfASink(t *testing.T) {
	for want, k := range map[string]Sink{
		`sink "": Name: is empty: say how the sink is named in the trace`:                                                                      {},
		`sink "log": Wait: is -1s: say 0 where no record holds the action up`:                                                                  {Name: "log", Wait: -time.Second},
		`sink "log": Before: is set and Mandatory is not: what is best effort stops no call; set Mandatory, or clear Before`:                   {Name: "log", Before: true},
		`sink "a": Degraded: speaks of a mandatory record that is written after the work: set Mandatory and clear Before, or clear Degraded`:   {Name: "a", Mandatory: true, Before: true, Degraded: true},
		`sink "log": Degraded: speaks of a mandatory record that is written after the work: set Mandatory and clear Before, or clear Degraded`: {Name: "log", Degraded: true},
	} {
		require.EqualError(t, k.Validate(), want)
	}
	require.NoError(t, (&Sink{Name: "audit", Mandatory: true, Degraded: true}).Validate())
	require.ErrorContains(t, (&Sink{Name: "m", Counts: "calls"}).Validate(), `Counts: is "calls": say CountNothing, CountRetries or CountEnds`)
	require.ErrorContains(t, (&Sink{Name: "m", Mandatory: true, Counts: CountRetries}).Validate(), "an action that needs no retry has no record")
	require.ErrorContains(t, (&Sink{Name: "m", Mandatory: true, Before: true, Counts: CountEnds}).Validate(), "an end is recorded behind the call")
}

// sinkRule is the one of the contract's rules with the name.
func sinkRule(t *testing.T, k Sink, name string) Invariant {
	t.Helper()
	for _, inv := range k.Invariants(asks) {
		if inv.Name == name {
			return inv
		}
	}
	t.Fatalf("no rule %q", name)
	return Invariant{}
}

func TestSinkRules(t *testing.T) {
	const ms = time.Millisecond
	log, audit := Sink{Name: "log", Wait: 10 * ms}, Sink{Name: "audit", Mandatory: true, Wait: 10 * ms}
	before, degraded := audit, audit
	before.Before, degraded.Degraded = true, true
	lost := func(s *tracetest.Script) *tracetest.Script { return s.Record(trace.RoleLog, "log").Answer(transient) }
	missing := func(s *tracetest.Script) *tracetest.Script {
		return s.Record(trace.RoleAudit, "audit").Answer(transient)
	}
	kept := func(s *tracetest.Script) *tracetest.Script {
		return s.Record(trace.RoleAudit, "audit").Answer(trace.OK)
	}
	metrics, states := Sink{Name: "log", Counts: CountRetries}, Sink{Name: "log", Counts: CountEnds}
	tick := func(s *tracetest.Script) *tracetest.Script { return s.Record(trace.RoleLog, "log").Answer(trace.OK) }
	retried := func() *tracetest.Script {
		return begin().Call("w", pune).Answer(transient).Call("w", pune).Answer(trace.OK)
	}
	done := func() *tracetest.Script { return begin().Call("w", pune).Answer(trace.OK) }
	for _, c := range []struct {
		name  string
		k     Sink
		rule  string
		tr    *tracetest.Script
		found string // empty: kept
	}{
		{"a lost line changes nothing", log, "observer-neutral", lost(done()).End(), ""},
		{"a slow line in its time", log, "observer-neutral", done().Record(trace.RoleLog, "log").After(10 * ms).Answer(transient).End(), ""},
		{"a slow line beside the work", log, "observer-neutral", begin().Record(trace.RoleLog, "log").Call("w", pune).Answer(trace.OK).End().After(time.Second).AnswerTo(1, trace.Outcome{Class: trace.OK}), ""},
		{"a slow line", log, "observer-neutral", done().Record(trace.RoleLog, "log").After(11 * ms).Answer(trace.OK).End(), "after a record to log that took 11ms: the action ended 11ms too late (success)"},
		{"a slow line first", log, "observer-neutral", begin().Record(trace.RoleLog, "log").After(11*ms).Answer(trace.OK).Call("w", pune).Answer(trace.OK).End(), "the first attempt came 1ms too late"},
		{"a slow line behind a turn", log, "observer-neutral", begin().Record(trace.RoleTurn, "gate").After(time.Second).Answer(trace.OK).Call("w", pune).Answer(trace.OK).Record(trace.RoleLog, "log").End().After(time.Minute).Answer(transient), ""},
		{"a slow line beside a turn", log, "observer-neutral", begin().Record(trace.RoleLog, "log").Record(trace.RoleTurn, "gate").After(time.Second).Answer(trace.OK).Call("w", pune).Answer(trace.OK).End().After(time.Minute).AnswerTo(1, trace.Outcome{Class: transient}), ""},
		{"a slow line before a turn", log, "observer-neutral", begin().Record(trace.RoleLog, "log").After(11*ms).Answer(trace.OK).Record(trace.RoleTurn, "gate").After(time.Second).Answer(trace.OK).Call("w", pune).Answer(trace.OK).End(), "the first attempt came 1ms too late"},
		{"a success hidden", log, "observer-neutral", lost(done()).Fail("log: full"), `w answered, but the action failed with "log: full"`},
		{"a call repeated", log, "observer-neutral", lost(done()).Call("w", pune).Answer(trace.OK).End(), "w was called again after it had answered"},
		{"given up", log, "observer-neutral", lost(begin().Call("w", pune).Answer(transient)).Fail("log: full"), "w was given up after attempt 1 (transient)"},
		{"nothing called", log, "observer-neutral", lost(begin()).Fail("log: full"), "the action ended without an attempt"},
		{"a panic", log, "observer-neutral", lost(done()).Trouble(trace.KindPanic, "nil map"), "the action panicked with it"},
		{"never answered", log, "observer-neutral", done().Record(trace.RoleLog, "log").After(time.Hour).Trouble(trace.KindHang, "hangs"), "a record to log that was never answered: the action waits for it and never returns"},
		{"a panic of its own", log, "observer-neutral", lost(begin()).Call("w", pune).Trouble(trace.KindPanic, "nil map"), ""},

		{"on record", audit, "audited", kept(done()).End(), ""},
		{"on record at the second try", audit, "audited", kept(missing(done())).End(), ""},
		{"not on record", audit, "audited", missing(done()).End(), "the action succeeded, and its record in audit was not written"},
		{"never tried", audit, "audited", done().End(), "the action succeeded and wrote no record to audit"},
		{"tried, and a success", degraded, "audited", missing(done()).End(), ""},
		{"written behind the end", audit, "audited", done().End().Record(trace.RoleAudit, "audit").Answer(trace.OK), "the action returned its success before it wrote the record to audit"},
		{"never tried, though degraded", degraded, "audited", done().End(), "the action succeeded and wrote no record to audit"},
		{"told as it is", audit, "audited", missing(done()).FailFor(trace.ReasonEscalated), ""},
		{"told as exhausted", audit, "audited", missing(done()).FailFor(trace.ReasonExhausted), "w has done its work, the record in audit was not written, and the action ended as exhausted, as if nothing had been done"},
		{"nothing was done", audit, "audited", begin().Call("w", pune).Answer(transient).FailFor(trace.ReasonExhausted), ""},
		{"told as it is is neutral", audit, "observer-neutral", missing(done()).FailFor(trace.ReasonEscalated), ""},
		{"done again", audit, "observer-neutral", missing(done()).Call("w", pune).Answer(trace.OK).End(), "w was called again after it had answered"},

		{"one retry, counted", metrics, "metrics-true", tick(retried()).End(), ""},
		{"one retry, counted late", metrics, "metrics-true", tick(retried().End().After(1)), ""},
		{"one retry, counted twice", metrics, "metrics-true", tick(tick(retried())).End(), "log has 2 records, the retries were 1 of 2 attempts"},
		{"one retry, not counted", metrics, "metrics-true", retried().End(), "log has 0 records, the retries were 1 of 2 attempts"},
		{"no retry, counted", metrics, "metrics-true", tick(done()).End(), "log has 1 record, the retries were 0 of 1 attempt"},
		{"a retry that the cancel prevents", metrics, "metrics-true", tick(begin().Call("w", pune).Answer(transient)).After(1).Cancel().Fail("left"), ""},
		{"one end", states, "ends-recorded", tick(done()).End(), ""},
		{"one end at the second try", states, "ends-recorded", tick(lost(done())).End(), ""},
		{"an end that was lost", states, "ends-recorded", lost(done()).End(), ""},
		{"no end", states, "ends-recorded", done().End(), "the action ended, and log has no record of it"},
		{"two ends", states, "ends-recorded", tick(tick(done())).End(), "log has 2 ends of one action"},

		{"recorded first", before, "audited", kept(begin()).Call("w", pune).Answer(trace.OK).End(), ""},
		{"recorded beside", before, "audited", begin().Record(trace.RoleAudit, "audit").Call("w", pune).Answer(trace.OK).AnswerTo(1, trace.Outcome{Class: trace.OK}).End(), "w was called before its record in audit was written"},
		{"not recorded, called", before, "audited", missing(begin()).Call("w", pune).Answer(trace.OK).End(), "w was called before its record in audit was written"},
		{"not recorded, not called", before, "observer-neutral", missing(begin()).Fail("no audit"), ""},
	} {
		found := Find(c.tr.Trace(), sinkRule(t, c.k, c.rule))
		if c.found == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.found, c.name)
		require.NotEmpty(t, found[0].Advice, c.name)
	}
}

// The rules of a policy leave the time of records alone, and an end for want of
// a record that must be kept.
func TestThePolicyLeavesRecordsAlone(t *testing.T) {
	slow := func(role trace.Role, c trace.Class) *tracetest.Script {
		return begin().Call("w", pune).Answer(transient).Record(role, "r").After(time.Second).Answer(trace.OK).
			Call("w", pune).Answer(trace.OK).Record(role, "r").After(time.Second).Answer(c)
	}
	require.Empty(t, Find(slow(trace.RoleLog, transient).End().Trace(), asks.Invariants()...))
	require.Empty(t, Find(slow(trace.RoleAudit, transient).FailFor(trace.ReasonEscalated).Trace(), asks.Invariants()...))
	for _, tr := range []*tracetest.Script{
		slow(trace.RoleLog, transient).FailFor(trace.ReasonEscalated),
		slow(trace.RoleAudit, trace.OK).FailFor(trace.ReasonEscalated),
		begin().Call("w", pune).Answer(transient).Record(trace.RoleLog, "r").Answer(transient).Fail("x"),
		begin().Record(trace.RoleLog, "r").Answer(trace.OK).Fail("x"),
	} {
		require.NotEmpty(t, Find(tr.Trace(), asks.Invariants()...))
	}
}
