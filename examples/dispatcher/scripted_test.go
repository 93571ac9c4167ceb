package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/examples/dispatcher"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var tickets = json.RawMessage(`{"tickets":[7]}`)

// newSearch is a scripted tool, and a dispatcher that has it.
func newSearch(t *testing.T) (*scripted.Tool[json.RawMessage, json.RawMessage], *dispatcher.Dispatcher) {
	tool := scripted.NewTool[json.RawMessage, json.RawMessage](t, "search")
	return tool, dispatcher.New(map[string]dispatcher.Tool{
		"search": {Do: tool.Call, Repeatable: true, Instead: "Use list_tickets."},
	})
}

// observation is what the model reads of a failure.
func observation(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*dispatcher.Error](err)
	require.True(t, ok, "%v", err)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	return string(text)
}

// The tool fails, asks for two seconds, and answers: three attempts, and the
// third comes no earlier than it was asked for.
func TestABlipIsNotTheModelsBusiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the waits take no time
		tool, d := newSearch(t)
		tool.Fail(trace.Transient, dispatcher.ErrUnavailable).
			Fail(trace.Throttled, &dispatcher.Busy{After: 2 * time.Second}).Hint(2 * time.Second).
			Return(tickets)

		got, err := d.Call(t.Context(), "search", query)

		require.NoError(t, err)
		require.JSONEq(t, string(tickets), string(got))
		invariants.Verify(t, tool.Trace(), invariants.MaxAttempts(3), invariants.SameArguments(), invariants.HintHonoured(search.Policy))
	})
}

// Three failures use the attempts up. The model reads what it can do, and
// nothing of the host and the key that the tool's own error holds.
func TestTheModelReadsWhatItCanDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, d := newSearch(t)
		down := fmt.Errorf("GET https://search.internal/v1?key=s3cret: 503: %w", dispatcher.ErrUnavailable)
		tool.Fail(trace.Transient, down).Times(3)

		_, err := d.Call(t.Context(), "search", query)

		require.ErrorIs(t, err, down, "the log has it all")
		require.JSONEq(t, `{"tool": "search", "error": "unavailable", "retryable": true, "attempts": 3,
			"next": "Do not call again for now. Use list_tickets."}`, observation(t, err))
	})
}

// A mail that may have gone out is not sent again, and the model is told so.
func TestAMailIsSentAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := new(scripted.Ledger)
		tool := scripted.NewTool[json.RawMessage, json.RawMessage](t, "send_mail").Ledger(ledger).Hang().Done()
		d := dispatcher.New(map[string]dispatcher.Tool{"send_mail": {Do: tool.Call}})

		_, err := d.Call(t.Context(), "send_mail", mail)

		require.JSONEq(t, `{"tool": "send_mail", "error": "outcome_unknown", "retryable": false, "attempts": 1,
			"next": "Do not call again: it may have been done. Check, or tell the user."}`, observation(t, err))
		require.Equal(t, 1, ledger.Count())
	})
}

// Ten failures open the breaker in the fourth call. The next call is refused at
// once, and the one after the cooldown is let through.
func TestAnOutageIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, d := newSearch(t)
		tool.Fail(trace.Transient, dispatcher.ErrUnavailable).Times(10).Return(tickets)
		for range 4 {
			_, err := d.Call(t.Context(), "search", query)
			require.Error(t, err)
		}

		began := time.Now()
		_, err := d.Call(t.Context(), "search", query)
		require.Zero(t, time.Since(began))
		require.JSONEq(t, `{"tool": "search", "error": "temporarily_unavailable", "retryable": true, "attempts": 0,
			"next": "Do not call again for now. Use list_tickets."}`, observation(t, err))

		time.Sleep(30 * time.Second)
		_, err = d.Call(t.Context(), "search", query)
		require.NoError(t, err)
		require.Equal(t, 11, tool.Calls())
	})
}

// A model that keeps failing is stopped, and its tools are left alone.
func TestThreeFailuresInARowEndTheTurn(t *testing.T) {
	tool, d := newSearch(t)
	tool.Fail(trace.NotFound, dispatcher.ErrNotFound).Times(2).
		Return(tickets).
		Fail(trace.Invalid, dispatcher.ErrInvalid).Times(3)
	turn := dispatcher.Turn{Dispatcher: d}
	var ends []bool
	for range 7 {
		_, err := turn.Call(t.Context(), "search", query)
		_, end := errors.AsType[*dispatcher.Escalation](err)
		ends = append(ends, end)
	}

	// Two failures, an answer, which starts the count anew, and three more.
	require.Equal(t, []bool{false, false, false, false, false, true, true}, ends)
	require.Equal(t, 6, tool.Calls(), "the seventh call reaches no tool")
}

// A name that is not in the list is told to the model like any failure.
func TestAToolThatIsNotThere(t *testing.T) {
	_, err := dispatcher.New(nil).Call(t.Context(), "serach", query)
	require.JSONEq(t, `{"tool": "serach", "error": "no_such_tool", "retryable": false, "attempts": 0,
		"next": "Use a tool from the list."}`, observation(t, err))
}
