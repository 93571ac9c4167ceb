package zoo

import (
	"context"
	"errors"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func reconciling() []Specimen {
	return []Specimen{
		{"repeats-without-asking", "After a timeout the transfer is sent again at once, with its key; nobody asks the bank what became of it.",
			testingRetries, "reconciled-first", transferring(func(m *teller) action { return m.hasty })},
		{"asks-after-the-repeat", "The status is looked up when the attempts are used up, and not before each repeat.",
			retrySafe, "reconciled-first", transferring(func(m *teller) action { return m.late })},
	}
}

// A teller moves money and asks the bank about it.
type teller struct {
	payer
	status func(context.Context, string) (bool, error)
}

// transferPolicy promises to ask before it repeats.
func transferPolicy() invariants.Policy {
	p := keyedPolicy()
	p.ID, p.Reconcile = "transfer/v1", true
	return p
}

func transferring(pay func(*teller) action) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "transfer", Policy: transferPolicy(), Want: receipt{7},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			var made sync.Map // actions may run at once
			do := pay(&teller{
				payer: payer{bank: faultsim.Tool(s, "bank", func(_ context.Context, p payment) (receipt, error) {
					made.Store(p.Key, true)
					return receipt{p.Invoice}, nil
				}, bankFailures())},
				status: faultsim.Aside(s, "status", trace.RoleReconcile, func(_ context.Context, key string) (bool, error) {
					_, done := made.Load(key)
					return done, nil
				}),
			})
			return func(ctx context.Context) (any, error) { return do(ctx) }
		},
	}
}

// bill is a payment with a key of its own.
func (m *teller) bill() payment { return payment{Invoice: 7, Cents: 1900, Key: m.newKey()} }

func (m *teller) hasty(ctx context.Context) (receipt, error) { return m.send(ctx, m.bill()) }

func (m *teller) send(ctx context.Context, transfer payment) (receipt, error) {
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) { return m.bank(ctx, transfer) })
}

func (m *teller) late(ctx context.Context) (receipt, error) {
	transfer := m.bill()
	r, err := m.send(ctx, transfer)
	if err != nil && !errors.Is(err, errBankInvalid) {
		if done, lost := m.status(context.WithoutCancel(ctx), transfer.Key); lost == nil && done {
			return receipt{transfer.Invoice}, nil
		}
	}
	return r, err
}

// right asks after every outcome that is not known.
func (m *teller) right(ctx context.Context) (receipt, error) {
	transfer := m.bill()
	return repeat(ctx, func(once context.Context, _ int) (receipt, error) {
		r, err := m.bank(once, transfer)
		if err == nil || errors.Is(err, errBankInvalid) || errors.Is(err, errBankBusy) {
			return r, err
		}
		if done, lost := m.status(context.WithoutCancel(ctx), transfer.Key); lost == nil && done {
			return receipt{transfer.Invoice}, nil
		}
		return r, err
	})
}
