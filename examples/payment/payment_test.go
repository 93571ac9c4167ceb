package payment_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/payment"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var adapter = faultsim.Adapter{
	Name: "pay invoice 7",
	Policy: invariants.Policy{
		ID:          "payment/v1",
		MaxAttempts: 3,
		Attempt:     5 * time.Second,
		Retry:       []trace.Class{trace.Throttled, trace.NotConnected, trace.Timeout, trace.Reset},
		Backoff:     invariants.Backoff{Base: 200 * time.Millisecond},
		Late:        invariants.LateWait,
		Key:         "idempotencyKey",
		Reconcile:   true,
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		bank := newBank(s)
		return func(ctx context.Context) (any, error) { return bank.Pay(ctx, "7", 4200) }
	},
	Want: payment.Receipt{ID: "rcpt-1", Cents: 4200},
}

// newBank is an honest bank: it does the work of one key once, and its status
// tells the truth whatever became of the answers.
func newBank(s *faultsim.Stage) payment.Bank {
	var made sync.Map // key → receipt; actions may run at once
	charge := func(_ context.Context, c payment.Charge) (payment.Receipt, error) {
		r := payment.Receipt{ID: "rcpt-1", Cents: c.Cents}
		made.Store(c.Key, r)
		return r, nil
	}
	status := func(_ context.Context, key string) (payment.Status, error) {
		r, done := made.Load(key)
		if !done {
			return payment.Status{}, nil
		}
		return payment.Status{Done: true, Receipt: r.(payment.Receipt)}, nil
	}
	return payment.Bank{
		Charge: faultsim.Tool(s, "charge", charge, faultsim.Errors{
			trace.Throttled:    payment.ErrBusy,
			trace.NotConnected: payment.ErrNotConnected,
			trace.Reset:        payment.ErrLost,
			trace.Invalid:      payment.ErrNoFunds,
			trace.Forbidden:    payment.ErrForbidden,
			trace.Conflict:     payment.ErrNotOpen,
		}),
		Status: faultsim.Aside(s, "status", trace.RoleReconcile, status),
	}
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
