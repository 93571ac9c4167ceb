package refund_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/examples/refund"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var (
	errBusy    = errors.New("bank: too many requests") // nothing was done
	errLost    = errors.New("bank: connection lost")   // it may have been done
	errUnknown = errors.New("bank: no such order")     // final
)

var tool = faultsim.Served[refund.Order, refund.Receipt]{
	Name: "refund",
	Repeats: invariants.Repeats{
		ID:       "refund/v1",
		AtOnce:   invariants.AtOnceWaits,
		Failures: invariants.FailuresForgotten,
		Keyless:  invariants.KeylessRefused,
		Key:      "idempotencyKey", // the bank does the work of one key once
	},
	Subject: func(s *faultsim.Stage) faultsim.Serve[refund.Order, refund.Receipt] {
		bank := faultsim.Tool(s, "bank", transfer, faultsim.Errors{
			trace.Throttled: errBusy,
			trace.Reset:     errLost,
			trace.NotFound:  errUnknown,
		})
		return refund.New(bank, s.Disk()).Refund
	},
	Args:     refund.Order{ID: "7", Cents: 1200},
	Other:    refund.Order{ID: "7", Cents: 9900},
	Restarts: true,
	Clash:    func(err error) bool { return errors.Is(err, refund.ErrKeyReused) },
	Keyless:  func(err error) bool { return errors.Is(err, refund.ErrKeyMissing) },
}.Adapter()

func transfer(_ context.Context, t refund.Transfer) (string, error) {
	return "transfer of " + t.Key, nil
}

func TestRefundIsSafeToRepeat(t *testing.T) { matrix.Run(t, tool) }

func TestFaults(t *testing.T) { faultsim.Check(t, tool) }
