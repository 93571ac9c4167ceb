package matrix_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// telling is the right loop that hands its failures on, or the words of the
// tool with them.
func telling(p invariants.Policy, quotes bool) faultsim.Adapter {
	a := loop(p)
	a.Observation = &invariants.Observation{Message: "message", Retryable: "retryable"}
	a.Observe = func(_ any, err error) any {
		if err == nil {
			return nil
		}
		message := "The tool has failed."
		if quotes {
			message += " " + err.Error()
		}
		return map[string]any{"message": message, "retryable": retried(p, err)}
	}
	return a
}

// leaks plays the rows of the group.
func leaks(t *testing.T, a faultsim.Adapter) map[string]matrix.Played {
	t.Helper()
	played, err := matrix.Play(t, a)
	require.NoError(t, err)
	rows := map[string]matrix.Played{}
	for _, p := range played {
		if p.Row.Group == matrix.Observed {
			require.NotEmpty(t, p.Row.Proves)
			rows[p.Row.Name] = p
		}
	}
	return rows
}

func TestRowsOfObservationsAreForAdaptersThatDeclareThem(t *testing.T) {
	require.Empty(t, leaks(t, loop(read)))
	require.Len(t, leaks(t, telling(read, false)), 4)
}

func TestExpectationsOfObservationRows(t *testing.T) {
	rows := leaks(t, telling(read, false))
	const input, exhausted = trace.ReasonNeedsInput, trace.ReasonExhausted
	for name, c := range map[string]struct{ read, keyed, bare end }{
		"leak-after-refusal":  {end{1, input}, end{1, input}, end{1, input}},
		"leak-when-exhausted": {end{3, exhausted}, end{3, exhausted}, end{3, exhausted}},
		"leak-after-change":   {end{2, input}, end{2, input}, end{2, input}},
		"silence-handed-on":   {end{3, exhausted}, end{3, exhausted}, end{1, outcome}},
	} {
		expects(t, rows[name].Row, read, c.read)
		expects(t, rows[name].Row, keyed, c.keyed)
		expects(t, rows[name].Row, bare, c.bare)
	}
	endless := read
	endless.MaxAttempts = invariants.Unlimited
	expects(t, rows["leak-when-exhausted"].Row, endless, end{})
	expects(t, rows["silence-handed-on"].Row, once(), end{})
}

func TestALeakFailsItsRows(t *testing.T) {
	for _, p := range []invariants.Policy{read, keyed, bare} {
		for name, row := range leaks(t, telling(p, false)) {
			require.Empty(t, row.Complaint, name)
			require.NoError(t, row.Skipped, name)
		}
		for name, row := range leaks(t, telling(p, true)) {
			if name != "silence-handed-on" {
				require.Equal(t, "breaks observation-secret", row.Complaint, name)
			}
		}
	}
}

func TestSilenceAboutSilenceFailsItsRow(t *testing.T) {
	a := telling(read, false)
	observe := a.Observe
	a.Observe = func(result any, err error) any {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return observe(result, err)
	}
	require.Equal(t, "breaks observation-structured", leaks(t, a)["silence-handed-on"].Complaint)
}

func TestRowsOfObservationsAreSkippedWhereNothingCanBeSaid(t *testing.T) {
	a := telling(read, false)
	a.Subject = on(read, faultsim.Errors{trace.Timeout: errors.New("no answer in time")})
	rows := leaks(t, a)
	require.ErrorContains(t, rows["leak-after-refusal"].Skipped, "the tool has no refusal in words of the row's own")
	require.ErrorContains(t, rows["leak-after-change"].Skipped, "the tool has no refusal")
}
