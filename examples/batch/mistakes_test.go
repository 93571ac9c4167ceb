package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rehearse-go/rehearse/examples/batch"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// Three ways in which the two lists are not read, and the rule that finds them.
var mistakes = []struct {
	name    string
	subject func(*faultsim.Stage) faultsim.Action
	says    string
}{
	// The report is handed on, and nobody asks it.
	{"the report's failures are ignored", func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		return func(ctx context.Context) (any, error) { return service.Send(ctx, guests), nil }
	}, "the action claims success while"},

	// "Some have failed" is read as "it has failed".
	{"the whole batch is sent again", func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		return func(ctx context.Context) (any, error) {
			r := service.Send(ctx, guests)
			if r.Err() != nil && ctx.Err() == nil {
				r = service.Send(ctx, guests)
			}
			return r, r.Err()
		}
	}, "again, which"},

	// The wrapper around the service takes a request that went through for
	// invitations that went out.
	{"only the request is looked at", func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		careless := batch.Service(func(ctx context.Context, invites []batch.Invite) ([]batch.Answer, error) {
			answers, err := service(ctx, invites)
			for i := range answers {
				answers[i].Err = nil
			}
			return answers, err
		})
		return func(ctx context.Context) (any, error) {
			r := careless.Send(ctx, guests)
			return r, r.Err()
		}
	}, "the action claims success while"},
}

func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			a := adapter
			a.Subject = m.subject

			found, err := faultsim.Explore(t, a)

			require.NoError(t, err)
			require.Equal(t, "batch-retry", found.Invariant())
			require.Contains(t, found.Findings[0].Text, m.says)
		})
	}
}

// A policy can promise too much: here, that a timeout means that nothing was
// sent. The program keeps it, and only a rule that reads what the service did
// sees the second mail.
func TestTheOwnRuleSeesWhatThePolicyDoesNot(t *testing.T) {
	a := adapter
	a.Policy.Retry = append(slices.Clone(policy.Retry), trace.Timeout)
	a.Policy.Undone = append(slices.Clone(policy.Undone), trace.Timeout)
	a.Invariants = []invariants.Invariant{invariants.BatchRetry(a.Policy.Retry...), oneMailEach}
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		hopeful := batch.Service(func(ctx context.Context, invites []batch.Invite) ([]batch.Answer, error) {
			answers, err := service(ctx, invites)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %w", batch.ErrDown, err)
			}
			return answers, err
		})
		return func(ctx context.Context) (any, error) {
			r := hopeful.Send(ctx, guests)
			return r, r.Err()
		}
	}

	found, err := faultsim.Explore(t, a)

	require.NoError(t, err)
	require.Equal(t, "one-mail-each", found.Invariant())
	require.Equal(t, "ann was invited twice", found.Findings[0].Text)
	require.Len(t, found.Findings, 1, "all that the policy implies is kept")
}
