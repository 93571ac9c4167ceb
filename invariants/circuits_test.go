package invariants_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var breaker3 = Breaker{Consecutive: 3, Cooldown: 10 * sec}

// A phone tells the story of several actions, each of which calls once.
type phone struct {
	*tracetest.Script
	n int
}

func phones() *phone { return &phone{Script: tracetest.New()} }

func (p *phone) begin() string {
	p.n++
	name := fmt.Sprint("a", p.n)
	p.Begin(name)
	return name
}

// asks are actions in turn, each with one call that ends with the class.
func (p *phone) asks(classes ...trace.Class) *phone {
	for _, c := range classes {
		p.begin()
		p.Call("w", pune).Answer(c)
		if c == ok {
			p.End()
		} else {
			p.Fail(c.String())
		}
	}
	return p
}

// refused are actions that the breaker refuses.
func (p *phone) refused(n int) *phone {
	for range n {
		p.begin()
		p.FailFor(trace.ReasonBreakerOpen)
	}
	return p
}

func (p *phone) at(t time.Duration) *phone { p.At(t); return p }

// hanging is an action whose call is not answered.
func (p *phone) hanging() *phone {
	p.begin()
	p.Call("w", pune)
	return p
}

// late answers the call of an action that hung.
func (p *phone) late(action string, call int, c trace.Class) *phone {
	p.On(action).AnswerTo(call, trace.Outcome{Class: c}).End()
	return p
}

// cancelled is an action whose caller cancels in flight.
func (p *phone) cancelled() *phone {
	p.begin()
	p.Call("w", pune).After(ms).Cancel().Answer(cancelled).FailFor(trace.ReasonCancelled)
	return p
}

// probes begins n actions at once, of which the first calling have called and
// the others were refused.
func (p *phone) crowd(n, calling int) *phone {
	first := p.n + 1
	for range n {
		p.begin()
	}
	for i := range n {
		p.On(fmt.Sprint("a", first+i))
		if i < n-calling {
			p.FailFor(trace.ReasonBreakerOpen)
		} else {
			p.Call("w", pune)
		}
	}
	return p
}

func TestCircuitBreakerFollowsAllActions(t *testing.T) {
	down3 := func() *phone { return phones().asks(transient, transient, transient) }
	leased := Breaker{Consecutive: 3, Cooldown: 10 * sec, Lease: 2 * sec}
	rate := Breaker{Rate: 0.5, Window: 4, Cooldown: 10 * sec}
	for _, c := range []struct {
		name   string
		b      Breaker
		tr     *phone
		breaks string // part of the text; empty: kept
	}{
		{"opens and refuses", breaker3, down3().refused(3), ""},
		{"the threshold ignored", breaker3, down3().asks(ok), "opened 0s ago"},
		{"one failure too few", breaker3, phones().asks(transient, transient).refused(1), "2 failures in a row"},
		{"F055: a success starts anew", breaker3, phones().asks(transient, transient, ok, transient, transient, ok), ""},
		{"F055: the success forgotten", breaker3, phones().asks(transient, transient, ok, transient).refused(1), "1 failure in a row"},
		{"F054: cancels count for nothing", breaker3, phones().cancelled().cancelled().cancelled().cancelled().asks(ok), ""},
		{"F054: cancels counted", breaker3, phones().cancelled().cancelled().cancelled().refused(1), "0 failures in a row"},
		{"F054: a cancel does not reset either", breaker3, phones().asks(transient, transient).cancelled().asks(transient).refused(1), ""},
		{"refusals show that the tool is there", breaker3, phones().asks(transient, transient, forbidden, transient).refused(1), "1 failure in a row"},
		{"refusals count for nothing", Breaker{Consecutive: 3, Cooldown: 10 * sec, RefusalsNeutral: true}, phones().asks(transient, transient, forbidden, transient).refused(1), ""},
		{"a class of its own", Breaker{Consecutive: 3, Cooldown: 10 * sec, Failures: []trace.Class{forbidden}}, phones().asks(forbidden, forbidden, forbidden).refused(1), ""},
		{"a nanosecond before the cooldown ends", breaker3, down3().at(10*sec - 1).asks(ok), "at 3 failures in a row, and has 1ns of its cooldown left"},
		{"at its very end it may go through", breaker3, down3().at(10 * sec).asks(ok), ""},
		{"at its very end it may be refused", breaker3, down3().at(10 * sec).refused(1), ""},
		{"F053: refused after it", breaker3, down3().at(10*sec + 1).refused(1), "its cooldown is 10s"},
		{"a probe closes it", breaker3, down3().at(11*sec).asks(ok, transient, transient, ok), ""},
		{"a probe that failed opens it anew", breaker3, down3().at(11 * sec).asks(transient).refused(1).at(21 * sec).asks(ok), ""},
		{"a probe that failed and changed nothing", breaker3, down3().at(11*sec).asks(transient, ok), "opened 0s ago, when a probe failed,"},
		{"F053: a refused probe is an answer", breaker3, down3().at(11 * sec).asks(forbidden).refused(1), "is closed"},
		{"F053: a cancelled probe gives its place back", breaker3, down3().at(11 * sec).cancelled().refused(1), "no probe under way"},
		{"the next is the probe then", breaker3, down3().at(11*sec).cancelled().asks(ok, ok), ""},
		{"failures while open extend nothing", breaker3, down3().at(9 * sec).refused(5).at(12 * sec).refused(1), "opened 12s ago"},
		{"F052: one of fifty", breaker3, down3().at(11*sec).crowd(50, 1), ""},
		{"F052: two of fifty", breaker3, down3().at(11*sec).crowd(50, 2), "1 of 1 probes under way"},
		{"F052: three are declared", Breaker{Consecutive: 3, Cooldown: 10 * sec, Probes: 3}, down3().at(11*sec).crowd(50, 3), ""},
		{"F052: nobody went through", breaker3, down3().at(11*sec).crowd(50, 0), "opened 11s ago"},
		{"a probe that hangs keeps its place", breaker3, down3().at(11 * sec).hanging().at(40 * sec).refused(1), ""},
		{"F053: within its lease", leased, down3().at(11 * sec).hanging().at(13*sec - 1).refused(1), ""},
		{"F053: at its very end it may be refused", leased, down3().at(11 * sec).hanging().at(13 * sec).refused(1), ""},
		{"F053: at its very end it may go through", leased, down3().at(11 * sec).hanging().at(13 * sec).asks(ok), ""},
		{"F053: refused when it is over", leased, down3().at(11 * sec).hanging().at(13*sec + 1).refused(1), "no probe under way"},
		{"F053: the next is the probe then", leased, down3().at(11*sec).hanging().at(13*sec+1).asks(ok, ok), ""},
		{"F053: and no more than one", leased, down3().at(11 * sec).hanging().at(14 * sec).hanging().hanging(), "1 of 1 probes under way"},
		{"F053: what came of it may count", leased, down3().at(11*sec).hanging().at(14*sec).late("a4", 4, ok).asks(ok), ""},
		{"F053: or not", leased, down3().at(11*sec).hanging().at(14*sec).hanging().late("a4", 4, ok).refused(1), ""},
		{"two must succeed", Breaker{Consecutive: 3, Cooldown: 10 * sec, Successes: 2}, down3().at(11*sec).asks(ok, transient).refused(1), ""},
		{"rate: half of four", rate, phones().asks(ok, transient, ok, transient).refused(1), ""},
		{"rate: the window is not full", rate, phones().asks(ok, transient, transient).refused(1), "2 failures in the last 3"},
		{"rate: the window slides", rate, phones().asks(transient, ok, ok, ok, transient).refused(1), "1 failure in the last 4"},
		{"rate: called while open", Breaker{Rate: 0.5, Window: 4, Least: 2, Cooldown: sec}, phones().asks(ok, transient, ok), "at a failure rate of 0.5, and has 1s"},
		{"rate: enough for a rate", Breaker{Rate: 0.5, Window: 4, Least: 2, Cooldown: sec}, phones().asks(ok, transient).refused(1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.b.Validate())
			found := Find(c.tr.Trace(), CircuitBreaker(c.b))
			if c.breaks == "" {
				require.Empty(t, found)
				require.NotZero(t, Applied(c.tr.Trace(), CircuitBreaker(c.b))["circuit-breaker"])
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, "circuit-breaker", found[0].Invariant)
			require.Contains(t, found[0].Text, c.breaks)
			require.NotEmpty(t, found[0].Advice)
			require.NotEmpty(t, found[0].Events)
		})
	}
}

// Each tool has a breaker of its own: a refusal is due where one of them refuses.
func TestEachToolHasABreakerOfItsOwn(t *testing.T) {
	geo, weather := breaker3, breaker3
	geo.Tool, weather.Tool = "geo", "weather"
	// ask is an action that calls both tools, as far as they answer.
	ask := func(p *phone, first, second trace.Class) {
		p.begin()
		p.Call("geo", pune).Answer(first)
		if first == ok {
			p.Call("weather", pune).Answer(second)
		}
		if first == ok && second == ok {
			p.End()
		} else {
			p.Fail("failed")
		}
	}
	for _, c := range []struct {
		name   string
		tell   func(*phone)
		breaks string
	}{
		{"the second is down", func(p *phone) {
			for range 3 {
				ask(p, ok, transient)
			}
			p.begin()
			p.Call("geo", pune).Answer(ok).FailFor(trace.ReasonBreakerOpen)
		}, ""},
		{"shared: three failures of both", func(p *phone) {
			ask(p, ok, transient)
			ask(p, transient, ok)
			ask(p, transient, ok)
			p.refused(1)
		}, "no breaker refuses: that of geo is closed: 2 failures in a row, it opens at 3, and that of weather is closed: 1 failure in a row"},
		{"shared: a success of the other resets", func(p *phone) {
			for range 4 {
				ask(p, ok, transient)
			}
		}, "weather was called although its breaker opened"},
		{"open too long", func(p *phone) {
			for range 3 {
				ask(p, transient, ok)
			}
			p.at(11 * sec).refused(1)
		}, "that of geo opened 11s ago"},
	} {
		p := phones()
		c.tell(p)
		found := Find(p.Trace(), CircuitBreaker(geo, weather))
		require.NotZero(t, Applied(p.Trace(), CircuitBreaker(geo, weather))["circuit-breaker"], c.name)
		if c.breaks == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.breaks, c.name)
	}
}

// What comes at one instant from several actions may have come in any order.
func TestCircuitBreakerLetsTiesGoEitherWay(t *testing.T) {
	// The third failure is answered while another action is on its way in.
	tie := func(next func(*phone)) *phone {
		p := phones().asks(transient, transient)
		p.begin()
		p.Call("w", pune)
		p.begin() // a4, before the breaker knows
		p.On("a3").Answer(transient)
		p.On("a4")
		next(p)
		return p
	}
	called := tie(func(p *phone) { p.Call("w", pune) })
	require.Empty(t, Find(called.Trace(), CircuitBreaker(breaker3)))
	refused := tie(func(p *phone) { p.FailFor(trace.ReasonBreakerOpen) })
	require.Empty(t, Find(refused.Trace(), CircuitBreaker(breaker3)))

	after := tie(func(p *phone) { p.On("a3").Fail("503").On("a4").After(1).Call("w", pune) })
	require.Len(t, Find(after.Trace(), CircuitBreaker(breaker3)), 1)
}

// A call from before the breaker opened says nothing about the probe.
func TestCircuitBreakerIgnoresEarlierGenerations(t *testing.T) {
	old := func() *phone {
		p := phones()
		p.begin()
		p.Call("w", pune) // call 1 takes long
		return p.asks(transient, transient, transient).at(11 * sec)
	}
	late := trace.Outcome{Class: ok}
	kept := old()
	kept.On("a1").AnswerTo(1, late).End()
	kept.asks(transient).refused(1)
	require.Empty(t, Find(kept.Trace(), CircuitBreaker(breaker3)))

	closes := old()
	closes.On("a1").AnswerTo(1, late).End()
	closes.asks(transient, ok)
	require.Len(t, Find(closes.Trace(), CircuitBreaker(breaker3)), 1)
}

func TestAnOpenErrorIsNotRetried(t *testing.T) {
	p := phones().asks(transient, transient, transient)
	p.begin()
	p.Wait(sec).FailFor(trace.ReasonBreakerOpen)
	found := Find(p.Trace(), CircuitBreaker(breaker3))
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "ended 1s later")

	p = phones().asks(transient, transient, transient)
	p.begin()
	p.Wait(11*sec).Call("w", pune).Answer(ok).End()
	found = Find(p.Trace(), CircuitBreaker(breaker3))
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "called it 11s later")
}

func TestCircuitBreakerDoesNotApply(t *testing.T) {
	for name, tr := range map[string]*tracetest.Script{
		"nothing called": tracetest.New(),
		"another tool":   tries(transient, transient, transient, transient),
	} {
		inv := CircuitBreaker(Breaker{Tool: "w", Consecutive: 3, Cooldown: sec})
		require.Empty(t, Find(tr.Trace(), inv), name)
		require.Zero(t, Applied(tr.Trace(), inv)["circuit-breaker"], name)
	}
}

// With a breaker, an action may end where the policy has attempts left.
func TestConformsLetsTheBreakerRefuse(t *testing.T) {
	p := Policy{MaxAttempts: 3, Retry: []trace.Class{transient}, Repeatable: true, Backoff: Backoff{Base: sec}}
	b := Breaker{Consecutive: 2, Cooldown: 10 * sec, Tool: "w", Fallback: "cache"}
	mid := func() *phone {
		s := phones()
		s.begin()
		s.Call("w", pune).Answer(transient).After(sec).Call("w", pune).Answer(transient)
		return s
	}
	refusal := trace.Event{Error: "open", Reason: trace.ReasonBreakerOpen, Cause: -1}
	for _, c := range []struct {
		name  string
		tr    *tracetest.Script
		found string
	}{
		{"before the wait", mid().Ending(refusal), ""},
		{"after it", mid().After(2 * sec).Ending(refusal), ""},
		{"later still", mid().After(2*sec + 1).Ending(refusal), "circuit-breaker"},
		{"it says something else", mid().Fail("503"), "conforms"},
		{"the fallback answers", mid().Call("cache", pune).Answer(ok).End(), ""},
		{"the breaker was closed", phonesOnce().Ending(refusal), "circuit-breaker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Find(c.tr.Trace(), b.Invariants(p)...)
			if c.found == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Equal(t, c.found, found[0].Invariant)
		})
	}
	require.NotEmpty(t, Find(mid().Ending(refusal).Trace(), Conforms(p)), "without a breaker it is no excuse")
}

// An answer of one tool is not hidden where the breaker of the next refuses.
// With one tool, its own breaker was closed then.
func TestABreakerRefusesBehindAnotherToolsAnswer(t *testing.T) {
	p := Policy{MaxAttempts: 3, Retry: []trace.Class{transient}, Repeatable: true, Backoff: Backoff{Base: sec}}
	b := Breaker{Consecutive: 1, Cooldown: 10 * sec}
	refusal := trace.Event{Error: "open", Reason: trace.ReasonBreakerOpen, Cause: -1}
	two := phonesOnce()
	two.Ending(refusal).Begin("a2")
	two.Call("geo", pune).Answer(ok).Ending(refusal)
	require.Empty(t, Find(two.Trace(), b.Invariants(p)...))
	one := begin().Call("geo", pune).Answer(ok).Ending(refusal).Trace()
	found := Find(one, b.Invariants(p)...)
	require.Len(t, found, 1)
	require.Equal(t, "circuit-breaker", found[0].Invariant)
	require.Equal(t, "honest-ending", Find(one, p.Invariants()...)[0].Invariant, "without a breaker it is no excuse")
}

func TestBreakerAddsOneRuleToThoseOfThePolicy(t *testing.T) {
	p := Policy{MaxAttempts: 3, Repeatable: true}
	var plain, guarded []string
	for _, inv := range p.Invariants() {
		plain = append(plain, inv.Name)
	}
	for _, inv := range breaker3.Invariants(p) {
		guarded = append(guarded, inv.Name)
	}
	require.Equal(t, slices.Insert(plain, 2, "circuit-breaker"), guarded)
}

// An attempt that the action's own budget cut short had less time than the tool
// was promised: it may count as a failure, or for nothing.
func TestTheEndOfTheBudgetCountsEitherWay(t *testing.T) {
	p := Policy{MaxAttempts: 1, Budget: 2 * sec, BudgetCuts: true, Repeatable: true}
	cut := func(after time.Duration) *phone {
		s := phones().asks(transient, transient)
		s.begin()
		s.Call("w", pune).After(after).Answer(timeout).Fail("timeout")
		return s
	}
	breaks := func(tr *phone) bool { // other rules ask for the deadlines of these calls
		return slices.ContainsFunc(Find(tr.Trace(), breaker3.Invariants(p)...), func(f Finding) bool { return f.Invariant == "circuit-breaker" })
	}
	require.False(t, breaks(cut(2*sec).refused(1)))
	require.False(t, breaks(cut(2*sec).asks(ok)))
	require.False(t, breaks(cut(2*sec-1).refused(1)))
	require.True(t, breaks(cut(2*sec-1).asks(ok)), "it ended before the budget")
	p.BudgetCuts = false
	require.True(t, breaks(cut(2*sec).asks(ok)), "the budget cuts nothing")
}

func phonesOnce() *tracetest.Script {
	s := phones()
	s.begin()
	return s.Call("w", pune).Answer(transient)
}

func TestContradictoryBreakersAreNamed(t *testing.T) {
	for field, b := range map[string]Breaker{
		"Cooldown":    {Consecutive: 1},
		"Consecutive": {Cooldown: sec},
		"Rate":        {Rate: 2, Window: 4, Cooldown: sec},
		"Window":      {Rate: 0.5, Window: 65, Cooldown: sec},
		"Least":       {Rate: 0.5, Window: 4, Least: 5, Cooldown: sec},
		"Failures":    {Consecutive: 1, Cooldown: sec, Failures: []trace.Class{ok}},
		"Fallback":    {Consecutive: 1, Cooldown: sec, Tool: "w", Fallback: "w"},
		"Probes":      {Consecutive: 1, Cooldown: sec, Probes: -1},
	} {
		require.ErrorContains(t, b.Validate(), field)
	}
}

// A class that was never set has no name to be reported by.
func TestABreakerCountsNoClassOfZero(t *testing.T) {
	b := Breaker{Consecutive: 1, Cooldown: time.Second, Failures: []trace.Class{0}}
	require.EqualError(t, b.Validate(), "breaker: Failures: holds the class 0, which is none: take it out, or say which one was meant")
}
