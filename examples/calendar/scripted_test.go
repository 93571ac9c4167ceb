package calendar_test

import (
	"testing"
	"testing/synctest"

	"github.com/rehearse-go/rehearse/examples/calendar"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// The event is made and the reply is lost. The second request carries the same
// key, so the server answers with the event that there is.
func TestOneKeyOverALostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the wait between the two takes no time
		ledger := &scripted.Ledger{Dedupe: true}
		server := scripted.NewServer(t).Ledger(ledger)
		server.Route("POST", "calendar.test", "/v1/events").
			Lose(trace.Reset).
			JSON(201, map[string]string{"id": "evt-9"})
		client := calendar.Client{HTTP: server.Client(), URL: "https://calendar.test/v1/events"}

		id, err := client.Create(t.Context(), review)

		require.NoError(t, err)
		require.Equal(t, "evt-9", id)
		require.Equal(t, 1, ledger.Count())
		invariants.Verify(t, server.Trace(), invariants.OneKey(true), invariants.SameArguments(), invariants.OneEffect())
	})
}
