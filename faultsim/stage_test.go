package faultsim

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
