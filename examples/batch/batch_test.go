package batch_test

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/batch"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// policy holds for requests and for the invitations in them. A timeout is not
// retried: nobody knows what was sent.
var policy = invariants.Policy{
	ID:          "invitations/v1",
	MaxAttempts: 3,
	Attempt:     5 * time.Second,
	Retry:       []trace.Class{trace.Transient, trace.Throttled},
	Undone:      []trace.Class{trace.Transient}, // the service refuses work before it begins
	Backoff:     invariants.Backoff{Base: 200 * time.Millisecond},
	Late:        invariants.LateWait,
}

var adapter = faultsim.Adapter{
	Name:       "invite",
	Policy:     policy,
	Invariants: []invariants.Invariant{invariants.BatchRetry(policy.Retry...), invariants.ItemsNamed()},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		return func(ctx context.Context) (any, error) {
			r := service.Send(ctx, guests)
			return r, r.Err()
		}
	},
}

var guests = []batch.Invite{{ID: "ann", To: "ann@example.com"}, {ID: "bob", To: "bob@example.com"}, {ID: "cid", To: "cid@example.com"}}

// newService puts a mail service on the stage that can fail in single
// invitations as well as in requests.
func newService(s *faultsim.Stage) batch.Service {
	send := faultsim.Batch[batch.Invite, any](s, "mail", func(i batch.Invite) string { return i.ID }, nil, faultsim.Errors{
		trace.Transient: batch.ErrDown,
		trace.Throttled: batch.ErrBusy,
		trace.Invalid:   batch.ErrAddress,
		trace.Forbidden: batch.ErrForbidden,
	})
	return func(ctx context.Context, invites []batch.Invite) ([]batch.Answer, error) {
		results, err := send(ctx, invites)
		var answers []batch.Answer
		for _, r := range results {
			answers = append(answers, batch.Answer{ID: r.ID, Err: r.Err})
		}
		return answers, err
	}
}

// Of three invitations one is throttled and one has a wrong address: a second
// request, for the first of the two.
func TestMatrix(t *testing.T) {
	matrix.Run(t, adapter, matrix.Row{
		Name:   "one-throttled-one-invalid",
		Proves: "A request that is a success as a whole has failed for the invitations that its answer names.",
		Schedule: matrix.Fixed(faultsim.One(
			faultsim.Fault{Class: trace.Partial, Items: "bob:throttled,cid:invalid"},
		)),
	})
}

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
