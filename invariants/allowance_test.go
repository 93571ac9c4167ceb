package invariants_test

import (
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// failedActions makes so many actions in turn, one attempt of w each.
func failedActions(n int, c trace.Class) *tracetest.Script {
	s := tracetest.New()
	for i := range n {
		s.Begin(string(rune('a'+i))).Call("w", pune).Answer(c).Fail("503")
	}
	return s
}

func TestWithinAllowance(t *testing.T) {
	three := Allowance{Calls: 3}
	dear := Allowance{Cost: 10, Prices: map[string]int{"w": 1, "x": 8}}
	timed := Allowance{Time: 3 * sec}
	slow := func(n int) *tracetest.Script {
		s := tracetest.New()
		for i := range n {
			s.Begin(string(rune('a'+i))).Call("w", pune).After(sec).Answer(timeout).After(1).Fail("late")
		}
		return s
	}
	for _, c := range []struct {
		name string
		al   Allowance
		tr   *tracetest.Script
		want string // part of the finding; empty: none
	}{
		{"failures count", three, failedActions(4, transient), "the attempt number 4 of all actions, and 3 are allowed"},
		{"exactly what is allowed", three, failedActions(3, transient), ""},
		{"a tool that is not covered", Allowance{Calls: 1, Tools: []string{"x"}}, failedActions(3, transient), ""},
		{"refused when nothing is left", three, failedActions(3, transient).Begin("z").FailFor(trace.ReasonBudget), ""},
		{"refused when something is left", three, failedActions(2, transient).Begin("z").FailFor(trace.ReasonBudget), "all had made 2 of 3 attempts"},
		{"another action may have put a unit aside", three, failedActions(2, transient).Begin("y").Call("w", pune).Answer(transient).Begin("z").FailFor(trace.ReasonBudget), ""},
		{"the dearer tool costs more", dear, tracetest.New().Begin("a").Call("x", pune).Answer(ok).Call("x", `2`), "which makes 16 of all actions, and 10 is allowed"},
		{"cheap calls cost less", dear, tracetest.New().Begin("a").Call("x", pune).Answer(ok).Call("w", pune).Answer(ok).End(), ""},
		{"nothing left for the dearer tool", dear, tracetest.New().Begin("a").Call("w", pune).Answer(ok).Call("w", `2`).Answer(ok).Call("w", `3`).Answer(ok).FailFor(trace.ReasonBudget), ""},
		{"failures take time too", timed, slow(4), ""},
		{"after the time is over", timed, slow(5), "had been at work for 4s, and 3s is allowed"},
		{"refused with time left", timed, slow(2).Begin("z").FailFor(trace.ReasonBudget), "the tools had worked for 2s of 3s"},
	} {
		found := Find(c.tr.Trace(), WithinAllowance(c.al))
		if c.want == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Equal(t, "within-allowance", found[0].Invariant)
		require.Contains(t, found[0].Text, c.want, c.name)
	}
}

// A refusal is an end that Conforms lets pass where an allowance is declared, and
// nowhere else.
func TestConformsLetsTheAllowanceRefuse(t *testing.T) {
	p := reading(3, Backoff{Base: sec})
	tr := begin().Call("w", pune).Answer(transient).FailFor(trace.ReasonBudget).Trace()
	require.NotEmpty(t, Find(tr, p.Invariants()...))
	require.Empty(t, Find(tr, Contract{Policy: p, Allowance: &Allowance{Calls: 1}}.Invariants()...))
	tr = begin().FailFor(trace.ReasonBudget).Trace()
	require.NotEmpty(t, Find(tr, p.Invariants()...))
	require.NotEmpty(t, Find(tr, Contract{Policy: p, Allowance: &Allowance{Calls: 1}}.Invariants()...), "a call was left")
}

func TestAllowanceNamesWhatContradictsItself(t *testing.T) {
	for want, al := range map[string]Allowance{
		"Calls: is 0, and so are Cost and Time":         {},
		"Calls: is -1":                                  {Calls: -1},
		"Time: is -1ns":                                 {Time: -1},
		"Tools: holds an empty name":                    {Calls: 1, Tools: []string{""}},
		"Prices: has no tool that costs anything":       {Cost: 3},
		"Cost: is 0 while Prices are set":               {Calls: 1, Prices: map[string]int{"w": 1}},
		"Prices: is 4 for \"w\", above the Cost of 3":   {Cost: 3, Prices: map[string]int{"w": 4}},
		"Prices: is -4 for \"w\"":                       {Cost: 3, Prices: map[string]int{"w": -4, "x": 1}},
		"Prices: names \"w\", which is not among Tools": {Cost: 3, Tools: []string{"x"}, Prices: map[string]int{"w": 1}},
	} {
		err := al.Validate()
		require.ErrorContains(t, err, want)
		require.True(t, strings.HasPrefix(err.Error(), "allowance: "))
		require.NotPanics(t, func() { Find(failedActions(2, transient).Trace(), WithinAllowance(al)) })
	}
	require.NoError(t, (&Allowance{Calls: 2, Cost: 9, Time: sec, Prices: map[string]int{"w": 9}}).Validate())
}
