package faultsim

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// What a stage cannot play is one clear error, and neither a finding about the
// code under test nor state between trials.
func TestUnusableToolNamesFieldAndFix(t *testing.T) {
	fn := func(name string, errs Errors) func(*Stage) {
		return func(s *Stage) { Tool[string, int](s, name, nil, errs) }
	}
	var got strings.Builder
	for _, put := range []func(*Stage){
		fn("", nil),
		fn(Main, nil),
		fn("tool", Errors{trace.Transient: nil}),
		fn("tool", Errors{trace.Throttled: Hinted(nil)}),
		fn("tool", Errors{trace.OK: errBusy}),
		fn("tool", Errors{99: errBusy}),
		func(s *Stage) { fn("tool", nil)(s); fn("tool", nil)(s) },
		func(s *Stage) { Batch[string, int](s, "tool", nil, nil, nil) },
		func(s *Stage) {
			Batch[string, int](s, "tool", func(id string) string { return id }, nil, Errors{trace.Transient: Value(7)})
		},
		func(s *Stage) { Aside[string, int](s, "tool", trace.RoleAuth, nil) },
		func(s *Stage) { s.Client(Route{Tool: "tool", Hints: []HintForm{"weeks"}}) },
		func(s *Stage) { s.Client(Route{Tool: "tool", Failures: map[trace.Class]http.Handler{trace.OK: nil}}) },
	} {
		a := homeAdapter()
		a.Subject = func(s *Stage) Action {
			put(s)
			return func(context.Context) (any, error) { return nil, nil }
		}
		r := Trial(t, a, Schedule{})
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n\n", r.Err)
	}
	golden(t, "unusable-tools", got.String())
}

func TestSubjectThatNeverReturnsIsAClearError(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(*Stage) Action { select {} }
	require.ErrorContains(t, Trial(t, a, One()).Err, `faultsim: Subject of "forecast" never returned, it is blocked: select in faultsim.TestSubject`)
}

func TestToolOfAnActionIsAClearError(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		return Tool[int, int](s, "late", nil, nil)(ctx, 1)
	})
	require.EqualError(t, Trial(t, a, One()).Err, `faultsim: tool "late" was put on the stage by an action: do that in Subject, where schedules and rows can see it`)
}

func TestCloseOfNilIsAClearError(t *testing.T) {
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action { s.Close(nil); return inner(s) }
	require.EqualError(t, Trial(t, a, One()).Err, "faultsim: Stage.Close was given nil: give the function that stops what the subject keeps running")
}

func TestNilContextIsAClearError(t *testing.T) {
	a := subjectAdapter(func(_ context.Context, _ *Stage, tool weatherTool) (any, error) {
		return tool(nil, "Pune") //nolint:staticcheck // the mistake under test
	})
	require.EqualError(t, Trial(t, a, One()).Err, "faultsim: weather was called with a nil context: hand the caller's context on")
}

func TestPanicOfAnOwnRuleIsAFinding(t *testing.T) {
	a := homeAdapter()
	a.Invariants = []invariants.Invariant{{Name: "mine", Check: func(tr *trace.Trace) invariants.Verdict {
		panic("no such field")
	}}}
	r := Trial(t, a, One())
	require.Equal(t, []string{"mine"}, names(r.Findings))
	require.Regexp(t, `^the rule itself panicked: no such field at stage_test\.go:\d+$`, r.Findings[0].Text)
}

// A panic in the toolkit on behalf of the code under test is told by the
// user's line.
func TestPanicIsToldByTheUsersLine(t *testing.T) {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) {
		_, err := s.Client().Get("http://\x7f")
		if err == nil {
			return nil, nil
		}
		var missing *Stage
		missing.Close(nil)
		return nil, err
	})
	require.Regexp(t, `nil pointer dereference at stage_test\.go:\d+`, found(t, a, One(), "no-panic"))
}

// A login or a list of tools that is fetched while the code is built must not
// take the place of the first action, whose faults would go to nobody.
func TestCallsWhileBuildingTakeNoFaults(t *testing.T) {
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action {
		login := Tool(s, "login", func(context.Context, string) (string, error) { return "token", nil }, Errors{trace.Transient: errBusy})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := login(ctx, "me"); err != nil {
			panic(err)
		}
		return inner(s)
	}
	s := Schedule{Actions: []Plan{
		{Faults: map[string][]Fault{"weather": {Fail(trace.Transient)}, "login": {Fail(trace.Transient)}}},
		{Faults: map[string][]Fault{"weather": {Fail(trace.Transient), Fail(trace.Transient)}}},
	}}
	r := Trial(t, a, s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	actions := r.Trace.Actions()
	require.Len(t, actions, 3)
	require.Len(t, actions[0].Attempts, 1)
	require.Len(t, actions[1].Attempts, 2)
	require.Len(t, actions[2].Attempts, 3)
}

// Code that hands no context on still belongs to the one action that is under
// way, also behind a login while it was built.
func TestCallsWithoutContextBelongToTheActionBehindALogin(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		errs := Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden}
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, errs)
		if _, err := tool(context.Background(), "here"); err != nil {
			panic(err)
		}
		return func(context.Context) (any, error) { return tool(context.Background(), "Pune") }
	}
	r := Trial(t, a, One(Fail(trace.Forbidden)))
	require.NoError(t, r.Err)
	actions := r.Trace.Actions()
	require.Len(t, actions, 2)
	require.Len(t, actions[1].Attempts, 1)
	require.Equal(t, trace.Forbidden, actions[1].Attempts[0].Outcome.Class)
}
