package faultsim

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func TestUnusableAdapterNamesFieldAndFix(t *testing.T) {
	var got strings.Builder
	for _, change := range []func(*Adapter){
		func(a *Adapter) { a.Name = "" },
		func(a *Adapter) { a.Subject = nil },
		func(a *Adapter) { a.Accept = map[string]string{"no-such-rule": "it is known"} },
		func(a *Adapter) { a.Accept = map[string]string{"one-terminl": "it is known"} },
		func(a *Adapter) { a.Accept = map[string]string{"conforms": " "} },
		func(a *Adapter) { a.Invariants = []invariants.Invariant{{Name: "mine"}} },
		func(a *Adapter) { a.Policy.MaxAttempts = 0 },
		func(a *Adapter) { a.Name = "fore\ncast" },
		func(a *Adapter) { a.Want = func() {} },
		func(a *Adapter) { a.Observation = &invariants.Observation{Limit: -1} },
		func(a *Adapter) { *a = Adapter{} },
	} {
		a := homeAdapter()
		change(&a)
		r := Trial(t, a, Schedule{})
		require.Error(t, r.Err)
		require.Nil(t, r.Trace)
		_, _, err := Tools(t, a)
		require.Equal(t, r.Err, err)
		fmt.Fprintf(&got, "%v\n\n", r.Err)
	}
	golden(t, "unusable-adapters", got.String())
}

func TestUnusableAdapterEndsRunAndCheck(t *testing.T) {
	out, passed := newChild(t, "unusable").run(t, "^TestChildUnusable$")
	require.False(t, passed)
	require.Equal(t, 2, strings.Count(out, `adapter "forecast": Subject is nil: give a function that builds the code under test`), out)
	require.NotContains(t, out, "panic")
}

func TestChildUnusable(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	a.Subject = nil
	t.Run("check", func(t *testing.T) { Check(t, a) })
	t.Run("run", func(t *testing.T) { Run(t, a, One()) })
}

func TestTrialInsideABubbleIsAClearError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Trial(t, homeAdapter(), One())
		require.EqualError(t, r.Err, "faultsim: a trial makes its own bubble of virtual time: call Run, Check and their like outside synctest.Test, and outside the code under test")
		_, _, err := Tools(t, homeAdapter())
		require.Equal(t, r.Err, err)
	})
}

// The trial inside would wait for the random numbers of the one around it.
func TestTrialInsideAnActionIsAClearError(t *testing.T) {
	for _, unseeded := range []bool{false, true} {
		var inner Result
		a := subjectAdapter(func(ctx context.Context, _ *Stage, tool weatherTool) (any, error) {
			inner = Trial(t, homeAdapter(), One())
			return tool(ctx, "Pune")
		})
		a.Unseeded = unseeded
		outer := Trial(t, a, One())
		require.NoError(t, outer.Err)
		require.Empty(t, outer.Findings)
		require.Equal(t, errNested, inner.Err)
	}
}

// A trial outside waits until it may run.
func TestTrialWaitsForOneThatHasTheProcess(t *testing.T) {
	process.Lock()
	require.False(t, nested())
	done := make(chan Result)
	go func() { done <- Trial(t, homeAdapter(), One()) }()
	runtime.Gosched()
	process.Unlock()
	require.NoError(t, (<-done).Err)
}

// The answer of the tool is wanted where the action returns its type.
func TestResultIsComparedWithTheToolsAnswer(t *testing.T) {
	made := func(out any) Adapter {
		return subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
			_, err := tool(ctx, "Pune")
			return out, err
		})
	}
	require.Contains(t, found(t, made(21), One(), "honest-ending"), "the action returned 21, the evidence is 19")
	r := Trial(t, made("sunny"), One())
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	a := made("sunny")
	a.Want = "rainy"
	require.Contains(t, found(t, a, One(), "honest-ending"), `the action returned "sunny", the evidence is "rainy"`)
}

func TestAcceptedDeviationIsNoFindingAndMustOccur(t *testing.T) {
	a := loopAdapter(loop{attempts: 3, keep: true})
	a.Accept = map[string]string{"no-retry-after-refusal": "the vendor asks for it", "conforms": "as above"}
	r := Trial(t, a, One(Fail(trace.Forbidden)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.NotEmpty(t, r.Accepted)
	Check(t, a)

	out, passed := newChild(t, "accept").run(t, "^TestChildAccept$", "-rehearse.trials=499", "-test.v")
	require.True(t, passed, "which are too few to say so")
	require.Contains(t, out, "not demanded: 499 trials are too few")

	out, passed = newChild(t, "accept").run(t, "^TestChildAccept$")
	require.False(t, passed)
	require.Contains(t, out, `Accept lists conforms ("as above"), which did not occur in 1000 trials: take it out`)
	require.Contains(t, out, `Accept lists no-retry-after-refusal ("the vendor asks for it"), which did not occur in 1000 trials: take it out`)
}

func TestChildAccept(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	a.Accept = map[string]string{"no-retry-after-refusal": "the vendor asks for it", "conforms": "as above"}
	Check(t, a)
}
