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

// Three ways in which the two lists are not read, with faults that show them
// and what batch-retry says. Check finds such faults by itself; written down,
// they say what the mistake costs.
var mistakes = []struct {
	name    string
	faults  string
	subject func(*faultsim.Stage) faultsim.Action
	says    string
}{
	// The report is handed on, and nobody asks it.
	{"the report's failures are ignored", `rehearse schedule 1
action
  mail 1 partial items=bob:throttled
  mail 2 partial items=bob:throttled
  mail 3 partial items=bob:throttled
`, func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		return func(ctx context.Context) (any, error) { return service.Send(ctx, guests), nil }
	}, "the action claims success while item bob (throttled) of mail has no final outcome"},

	// "Some have failed" is read as "it has failed".
	{"the whole batch is sent again", `rehearse schedule 1
action
  mail 1 partial items=cid:invalid
`, func(s *faultsim.Stage) faultsim.Action {
		service := newService(s)
		return func(ctx context.Context) (any, error) {
			r := service.Send(ctx, guests)
			if r.Err() != nil && ctx.Err() == nil {
				r = service.Send(ctx, guests)
			}
			return r, r.Err()
		}
	}, "mail was sent items ann, bob again, which it had done"},

	// The wrapper around the service takes a request that went through for
	// invitations that went out.
	{"only the request is looked at", `rehearse schedule 1
action
  mail 1 partial items=bob:throttled
`, func(s *faultsim.Stage) faultsim.Action {
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
	}, "the action claims success while item bob (throttled) of mail has no final outcome"},
}

func TestMistakesAreFound(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			a := adapter
			require.Empty(t, findings(t, a, m.faults), "read rightly")

			a.Subject = m.subject
			found := findings(t, a, m.faults)

			require.NotEmpty(t, found)
			require.Equal(t, "batch-retry", found[0].Invariant)
			require.Equal(t, m.says, found[0].Text)
		})
	}
}

// findings are what is wrong with an adapter under the faults.
func findings(t *testing.T, a faultsim.Adapter, faults string) []invariants.Finding {
	t.Helper()
	s, err := faultsim.Parse(faults)
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	return r.Findings
}

// A policy can promise too much: here, that a timeout means that nothing was
// sent. The program keeps it, and one-effect, which reads what the service did,
// sees the second mail.
func TestASecondMailIsSeenInWhatTheServiceDid(t *testing.T) {
	a := adapter
	a.Policy.Retry = append(slices.Clone(policy.Retry), trace.Timeout)
	a.Policy.Undone = append(slices.Clone(policy.Undone), trace.Timeout)
	a.Invariants = []invariants.Invariant{invariants.BatchRetry(a.Policy.Retry...)}
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

	found := findings(t, a, "rehearse schedule 1\naction\n  mail 1 hang done\n")

	require.Len(t, found, 1, "all else that the policy implies is kept")
	require.Equal(t, "one-effect", found[0].Invariant)
	require.Equal(t, "mail did items ann, bob, cid twice for one action", found[0].Text)
}
