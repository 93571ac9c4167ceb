package job_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/job"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var adapter = faultsim.Adapter{
	Name: "refund",
	Policy: invariants.Policy{
		ID:          "refund/v1",
		MaxAttempts: 4,
		Attempt:     5 * time.Second,
		Retry:       []trace.Class{trace.Throttled, trace.Timeout, trace.Reset},
		Backoff:     invariants.Backoff{Base: 500 * time.Millisecond},
		Late:        invariants.LateWait,
		Key:         "idempotencyKey",
		Restart:     invariants.RestartResumes,
		Drain:       invariants.DrainCounts,
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		worker := newWorker(s)
		return func(ctx context.Context) (any, error) {
			return worker.Do(ctx, trace.ActionName(ctx), "payment-7", 4200)
		}
	},
	// The process is up again: the worker goes on with what it finds, and the
	// caller, who got no answer, asks for the same job again.
	Resume: func(s *faultsim.Stage) faultsim.Action {
		worker := newWorker(s)
		return func(ctx context.Context) (any, error) {
			if err := worker.Resume(ctx); err != nil {
				return nil, err
			}
			return worker.Do(ctx, trace.ActionName(ctx), "payment-7", 4200)
		}
	},
	HandedBack: func(err error) bool { return errors.Is(err, job.ErrStopping) },
}

func newWorker(s *faultsim.Stage) job.Worker {
	refund := func(_ context.Context, r job.Refund) (job.Receipt, error) {
		return job.Receipt{ID: "rcpt-" + r.Payment, Cents: r.Cents}, nil
	}
	return job.Worker{
		Store:    s.Disk(),
		Stopping: s.Draining(),
		Refund: faultsim.Tool(s, "refund", refund, faultsim.Errors{
			trace.Throttled: job.ErrBusy,
			trace.Reset:     job.ErrLost,
			trace.Invalid:   job.ErrRejected,
		}),
	}
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }

// The process dies while the refund is on its way, is down for an hour, and
// dies again before the second attempt is written down.
func TestARefundIsMadeOnceOverTwoCrashes(t *testing.T) {
	schedule, err := faultsim.Parse(`rehearse schedule 1
action crash-before-write=2 restart=1h
  refund 1 ok after=1s crash=500ms
`)
	require.NoError(t, err)
	tr := faultsim.Run(t, adapter, schedule)
	refund := tr.Actions()[0]
	require.Len(t, refund.Restarts, 2)
	require.Len(t, refund.Attempts, 2)
	require.Len(t, refund.Effects, 1)
	require.Equal(t, refund.Attempts[0].Key, refund.Attempts[1].Key)
	require.JSONEq(t, `{"id":"rcpt-payment-7","cents":4200}`, string(refund.Result))
}

// Each deployment tells the worker to stop while its refund is on the way. What it
// cuts off counts: the fourth is the last.
func TestEachDeploymentCutsARefundOff(t *testing.T) {
	schedule, err := faultsim.Parse(`rehearse schedule 1
action
  refund 1 ok after=2s drain=1s
  refund 2 ok after=2s drain=1s
  refund 3 ok after=2s drain=1s
  refund 4 ok after=2s drain=1s
`)
	require.NoError(t, err)
	tr := faultsim.Run(t, adapter, schedule)
	refund := tr.Actions()[0]
	require.Len(t, refund.Drains, 4)
	require.Len(t, refund.Attempts, 4)
	require.Empty(t, refund.Effects)
	require.Contains(t, refund.Error, "what became of it is not known")
}
