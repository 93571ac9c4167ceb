package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rehearse-go/rehearse/examples/batch"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// answers are the service's, to all that it is asked, with the failures that
// are listed by id.
func answers(invites []batch.Invite, failed map[string]error) (list []batch.Answer) {
	for _, i := range invites {
		list = append(list, batch.Answer{ID: i.ID, Err: failed[i.ID]})
	}
	return list
}

// Of three invitations one is throttled and one has a wrong address: the second
// request holds the first of the two alone, and the report speaks of all three.
func TestOnlyWhatMayPassIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the wait takes no time
		mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail").
			Return(answers(guests, map[string]error{"bob": batch.ErrBusy, "cid": batch.ErrAddress})).
			Return(answers(guests[1:2], nil))

		report := batch.Service(mail.Call).Send(t.Context(), guests)

		require.Equal(t, [][]batch.Invite{guests, guests[1:2]}, mail.Args())
		require.ErrorIs(t, report.Err(), batch.ErrAddress)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		require.JSONEq(t, `{
			"done": ["ann", "bob"],
			"failed": [{"id": "cid", "reason": "not sent, the address is invalid"}]
		}`, string(text))
	})
}

// The service stays busy for one invitation: three requests, and the report
// says that it may work later.
func TestAnInvitationThatNeverPassesIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := map[string]error{"bob": batch.ErrBusy}
		mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail").
			Return(answers(guests, busy)).
			Return(answers(guests[1:2], busy)).Times(2)

		report := batch.Service(mail.Call).Send(t.Context(), guests)

		require.Equal(t, []string{"ann", "cid"}, report.Done)
		require.Equal(t, []batch.Failure{{ID: "bob", Reason: batch.Later, Err: batch.ErrBusy}}, report.Failed)
	})
}

// The reply is lost after the mails went out: they are not sent again, and
// nobody claims that they were not sent.
func TestAnUnknownFateIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail").Hang().Done()

		report := batch.Service(mail.Call).Send(t.Context(), guests)

		require.Len(t, report.Failed, 3)
		for _, f := range report.Failed {
			require.Equal(t, batch.Unknown, f.Reason)
			require.ErrorIs(t, f.Err, context.DeadlineExceeded)
		}
		invariants.Verify(t, mail.Trace(), invariants.MaxAttempts(1), invariants.OneEffect())
	})
}

// An answer that forgets an invitation says nothing of it.
func TestAForgottenInvitationIsNotTakenForSent(t *testing.T) {
	mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail").Return(answers(guests[:2], nil))

	report := batch.Service(mail.Call).Send(t.Context(), guests)

	require.Equal(t, []string{"ann", "bob"}, report.Done)
	require.Len(t, report.Failed, 1)
	require.Equal(t, batch.Unknown, report.Failed[0].Reason)
}

// A caller who has left before the first request has sent nothing.
func TestNothingIsSentForACallerWhoHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail")

	report := batch.Service(mail.Call).Send(ctx, guests)

	require.Equal(t, batch.Later, report.Failed[0].Reason)
	require.ErrorIs(t, report.Err(), context.Canceled)
	require.Zero(t, mail.Calls())
}

// Some services tell of a lost connection for single items. It may have been
// sent, so that it is not sent again.
func TestAnItemWithALostReplyIsNotSentAgain(t *testing.T) {
	lost := fmt.Errorf("relay: %w", context.DeadlineExceeded)
	mail := scripted.NewTool[[]batch.Invite, []batch.Answer](t, "mail").
		Return(answers(guests, map[string]error{"ann": lost})).Means(trace.Partial)

	report := batch.Service(mail.Call).Send(t.Context(), guests)

	require.Equal(t, []string{"bob", "cid"}, report.Done)
	require.Equal(t, []batch.Failure{{ID: "ann", Reason: batch.Unknown, Err: lost}}, report.Failed)
}
