package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestDeclaredWinner(t *testing.T) {
	p := asks
	p.Winner = "fastest"
	require.ErrorContains(t, p.Validate(), `Winner: is "fastest"; say WinnerEither, WinnerSuccess or WinnerCancel`)

	// deaf answers a second after the cancel.
	deaf := func(c trace.Class) *tracetest.Script {
		return begin().Call("w", pune).After(time.Second).Cancel().Interrupt(trace.Cancelled).After(time.Second).AnswerTo(1, trace.Outcome{Class: c})
	}
	for _, c := range []struct {
		name  string
		wins  Winner
		tr    *tracetest.Script
		found string // empty: kept
	}{
		{"success, taken", WinnerSuccess, deaf(trace.OK).End(), ""},
		{"success, dropped", WinnerSuccess, deaf(trace.OK).Fail("left"), `w succeeded 1s after the cancel, and the action ended with "left"; the policy lets the success win`},
		{"cancel, taken", WinnerCancel, deaf(trace.OK).End(), "the policy lets the cancel win"},
		{"cancel, dropped", WinnerCancel, deaf(trace.OK).Fail("left"), ""},
		{"either", WinnerEither, deaf(trace.OK).End(), ""},
		{"a failure wins nothing", WinnerSuccess, deaf(transient).Fail("left"), ""},
		{"a success before it stands", WinnerCancel, begin().Call("w", pune).Answer(trace.OK).After(1).Cancel().End(), ""},
		{"published otherwise", WinnerSuccess, deaf(trace.OK).Publish(trace.ReasonCancelled).End(), "the action published cancelled and returned something else"},
		{"published alike", WinnerCancel, deaf(trace.OK).Publish(trace.ReasonCancelled).Fail("left"), ""},
	} {
		p.Winner = c.wins
		found := Find(c.tr.Trace(), DeclaredWinner(p))
		if c.found == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.found, c.name)
	}
	p.Winner = WinnerCancel
	require.Contains(t, string(p.Content()), `"winner":"cancel"`)
	var read Policy
	require.NoError(t, read.UnmarshalJSON(p.Content()))
	require.Equal(t, WinnerCancel, read.Winner)
}
