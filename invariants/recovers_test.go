package invariants_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A day is a trace that is written down action by action.
type day struct {
	trace.Trace
	at    time.Duration
	calls int
}

func (d *day) add(e trace.Event) *day {
	e.At = d.at
	d.Events = append(d.Events, e)
	return d
}

func (d *day) wait(t time.Duration) *day { d.at += t; return d }
func (d *day) begin(name string) *day    { return d.add(trace.Event{Kind: trace.KindBegin, Action: name}) }
func (d *day) calm() *day                { return d.add(trace.Event{Kind: trace.KindCalm}) }
func (d *day) hang(name string) *day {
	return d.add(trace.Event{Kind: trace.KindHang, Action: name, Error: "it has not returned"})
}
func (d *day) end(name string, r trace.Reason, err string) *day {
	return d.add(trace.Event{Kind: trace.KindEnd, Action: name, Reason: r, Error: err})
}

func (d *day) asks(name, tool string, c trace.Class) *day {
	d.calls++
	d.add(trace.Event{Kind: trace.KindCall, Action: name, Tool: tool, Call: d.calls})
	return d.add(trace.Event{Kind: trace.KindAnswer, Action: name, Tool: tool, Call: d.calls, Outcome: trace.Outcome{Class: c}})
}

// outage is a day on which the tool is down for ten seconds.
func outage() *day {
	return new(day).begin("a").asks("a", "weather", trace.Transient).end("a", 0, "down").wait(10 * time.Second).calm()
}

var lone = invariants.Policy{ID: "lone/v1", MaxAttempts: 1, Repeatable: true}

// contracts are ways to ask for a recovery.
func findings(d *day, c invariants.Contract) []invariants.Finding {
	for _, inv := range c.Invariants() {
		if inv.Name == "recovers" {
			return inv.Check(&d.Trace).Findings
		}
	}
	return nil
}

func TestRecoversByWhatIsDeclared(t *testing.T) {
	breaker := invariants.Breaker{Tool: "weather", Consecutive: 1, Cooldown: 30 * time.Second}
	falls := breaker
	falls.Fallback = "almanac"
	with := func(change func(c *invariants.Contract)) invariants.Contract {
		c := invariants.Contract{Policy: lone}
		change(&c)
		return c
	}
	plain := with(func(*invariants.Contract) {})
	refused := func(r trace.Reason) *day { return outage().wait(time.Minute).begin("b").end("b", r, "not now") }
	tests := map[string]struct {
		day  *day
		c    invariants.Contract
		want string // empty: nothing is wrong
	}{
		"answered":                  {outage().begin("b").asks("b", "weather", trace.OK).end("b", 0, ""), plain, ""},
		"no calm":                   {&day{Trace: trace.Trace{Events: refused(0).Events[:4]}}, plain, ""},
		"failed before the calm":    {outage(), plain, ""},
		"a latch":                   {refused(0), plain, `the action began 1m0s after the faults had stopped and failed without a call of a tool: "not now"`},
		"a breaker nobody declared": {refused(trace.ReasonBreakerOpen), plain, "without a call of a tool"},
		"a declared breaker":        {refused(trace.ReasonBreakerOpen), with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{breaker} }), ""},
		"a latch beside a breaker":  {refused(0), with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{breaker} }), "without a call of a tool"},
		"an allowance":              {refused(trace.ReasonBudget), with(func(c *invariants.Contract) { c.Allowance = &invariants.Allowance{Calls: 1} }), ""},
		"no allowance":              {refused(trace.ReasonBudget), plain, "without a call of a tool"},
		"handed on":                 {refused(trace.ReasonEscalated), with(func(c *invariants.Contract) { c.EscalatesAfter = 1 }), ""},
		"handed on without a word":  {refused(trace.ReasonEscalated), plain, "without a call of a tool"},
		"a stand-in for an answer":  {outage().begin("b").end("b", trace.ReasonEscalated, ""), plain, "it ended as escalated"},
		"a kept failure": {outage().begin("b").add(trace.Event{Kind: trace.KindHit, Action: "b", Tool: "weather", Outcome: trace.Outcome{Class: trace.Transient}}).end("b", 0, "down"),
			with(func(c *invariants.Contract) { c.Cache = &invariants.Cache{FailureTTL: time.Minute} }), ""},
		"a tool that fails again":   {outage().begin("b").asks("b", "weather", trace.Transient).end("b", 0, "down"), plain, ""},
		"a success is not believed": {outage().begin("b").asks("b", "weather", trace.OK).end("b", 0, "down"), plain, `failed: "down"`},
		"never ended":               {new(day).begin("a").wait(time.Second).calm().wait(time.Hour).hang("a"), plain, "the action that began at 0s never ended"},
		"a worker that is gone":     {outage().begin("b").wait(time.Hour).hang("b"), plain, "the action that began at 10s never ended"},
		"cut off":                   {new(day).begin("a").wait(time.Second).calm().wait(time.Hour), plain, ""},

		"the fallback in the cooldown": {outage().wait(20*time.Second).begin("b").asks("b", "almanac", trace.OK).end("b", 0, ""),
			with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{falls} }), ""},
		"the fallback for ever": {outage().wait(20*time.Second+1).begin("b").asks("b", "almanac", trace.OK).end("b", 0, ""),
			with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{falls} }), "asked almanac only"},
		"the fallback behind an attempt": {outage().wait(time.Minute).begin("b").asks("b", "weather", trace.Transient).asks("b", "almanac", trace.OK).end("b", 0, ""),
			with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{falls} }), ""},
		"the fallback beside a probe": {outage().wait(time.Minute).begin("p").begin("b").asks("b", "almanac", trace.OK).end("b", 0, "").asks("p", "weather", trace.OK).end("p", 0, ""),
			with(func(c *invariants.Contract) { c.Breakers = []invariants.Breaker{falls} }), ""},

		"in time":         {refused(0), with(func(c *invariants.Contract) { c.RecoversWithin = time.Minute + 1 }), ""},
		"not in time":     {refused(0), with(func(c *invariants.Contract) { c.RecoversWithin = time.Minute }), "1m0s after the faults had stopped"},
		"an early ending": {new(day).begin("a").wait(1).calm().wait(time.Second).end("a", 0, "down"), with(func(c *invariants.Contract) { c.RecoversWithin = time.Second }), ""},
		"a late ending":   {new(day).begin("a").wait(1).calm().wait(time.Second+1).end("a", 0, "down"), with(func(c *invariants.Contract) { c.RecoversWithin = time.Second }), "had not ended 1s later"},
		"no ending":       {new(day).begin("a").wait(1).calm().wait(time.Second + 1).begin("b"), with(func(c *invariants.Contract) { c.RecoversWithin = time.Second }), "had not ended 1s later"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := findings(test.day, test.c)
			if test.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, "recovers", found[0].Invariant)
			require.Contains(t, found[0].Text, test.want)
		})
	}
}

// Recovers alone knows of no policy: whatever is left in the way of a success is
// found, unless the caller or the wrong question is to blame.
func TestRecoversAloneExcusesNothing(t *testing.T) {
	late := outage().wait(time.Minute).begin("b").asks("b", "weather", trace.Transient).end("b", trace.ReasonBreakerOpen, "not now")
	require.Len(t, invariants.Find(&late.Trace, invariants.Recovers(time.Minute)), 1)
	require.Empty(t, invariants.Find(&late.Trace, invariants.Recovers(time.Minute+1)))
	wrong := outage().begin("b").asks("b", "weather", trace.NotFound).end("b", 0, "no such city")
	require.Empty(t, invariants.Find(&wrong.Trace, invariants.Recovers(0)))
	left := outage().begin("b").add(trace.Event{Kind: trace.KindCancel, Action: "b"}).end("b", 0, "context canceled")
	require.Empty(t, invariants.Find(&left.Trace, invariants.Recovers(0)))
	require.Len(t, invariants.Find(&late.Trace, invariants.Recovers(-1)), 1, "a time that makes no sense")
}

// Without a calm the rule says nothing, and Verify complains of a test that asks it.
func TestRecoversNeedsACalm(t *testing.T) {
	d := new(day).begin("a").asks("a", "weather", trace.OK).end("a", 0, "")
	require.Zero(t, invariants.Applied(&d.Trace, invariants.Recovers(time.Minute))["recovers"])
	d.calm().begin("b").asks("b", "weather", trace.OK).end("b", 0, "")
	require.NotZero(t, invariants.Applied(&d.Trace, invariants.Recovers(time.Minute))["recovers"])
}
