package zoo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func keys() []Specimen {
	return []Specimen{
		{"fresh-key-each-attempt", "The key is made inside the loop, and each attempt is a new payment to the bank.",
			handling, "one-key", keyed(func(p *payer) action { return p.freshKey })},
		{"key-lost-on-retry", "The retry builds its request anew and leaves the key out.",
			retrySafe, "one-key", keyed(func(p *payer) action { return p.losesKey })},
		{"no-key", "The payment is repeated, and no key was ever made.",
			threeLayer, "one-key", keyed(func(p *payer) action { return p.noKey })},
		{"key-of-the-process", "The key is made when the client is, and every payment of the process has it.",
			"F035", "one-key", keyed(func(p *payer) action { return p.keyOfProcess })},
		{"key-of-the-second", "The key is the time in seconds, which differs between attempts and not between payments.",
			"F033", "one-key", keyed(func(p *payer) action { return p.keyOfSecond })},
	}
}

// The bank, which moves money once for each key.
type (
	payment struct {
		Invoice, Cents int
		Key            string `json:"idempotency_key,omitempty"`
	}
	receipt struct{ Invoice int }
	bank    = func(context.Context, payment) (receipt, error)
	action  = func(context.Context) (receipt, error)
)

var (
	errBankDown    = errors.New("bank: unavailable")
	errBankReset   = errors.New("bank: connection reset")
	errBankInvalid = errors.New("bank: no such invoice")
	errBankBusy    = errors.New("bank: too many requests")
)

func bankFailures() faultsim.Errors {
	return faultsim.Errors{
		trace.Transient: errBankDown, trace.Reset: errBankReset, trace.Invalid: errBankInvalid, trace.Throttled: errBankBusy,
	}
}

func settle(_ context.Context, p payment) (receipt, error) { return receipt{p.Invoice}, nil }

// keyedPolicy repeats a payment as often as it likes, since the key protects it.
func keyedPolicy() invariants.Policy {
	return invariants.Policy{
		ID: "pay/v1", MaxAttempts: attempts, Attempt: limit, Key: "idempotency_key",
		Retry:   []trace.Class{trace.Transient, trace.Reset, trace.Throttled, trace.Timeout},
		Backoff: invariants.Backoff{Base: time.Second}, Late: invariants.LateWait,
	}
}

func keyed(pay func(*payer) action) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "pay", Policy: keyedPolicy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			do := pay(&payer{bank: faultsim.Tool(s, "bank", settle, bankFailures())})
			return func(ctx context.Context) (any, error) { return do(ctx) }
		},
	}
}

// A payer pays invoices.
type payer struct {
	bank bank
	keys atomic.Int64
}

func (p *payer) newKey() string { return fmt.Sprintf("key-%d", p.keys.Add(1)) }

// repeat is the right loop around one attempt.
func repeat(ctx context.Context, attempt func(ctx context.Context, n int) (receipt, error)) (receipt, error) {
	wait := time.Second
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return receipt{}, err
		}
		r, err := limited(ctx, func(ctx context.Context) (receipt, error) { return attempt(ctx, n) })
		if err == nil {
			return r, nil
		}
		if n == attempts || ctx.Err() != nil || errors.Is(err, errBankInvalid) {
			return receipt{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return receipt{}, err
		}
		wait *= 2
	}
}

func limited(ctx context.Context, do action) (receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

func (p *payer) freshKey(ctx context.Context) (receipt, error) {
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) {
		return p.bank(ctx, payment{Invoice: 7, Cents: 1900, Key: p.newKey()})
	})
}

func (p *payer) losesKey(ctx context.Context) (receipt, error) {
	key := p.newKey()
	return repeat(ctx, func(ctx context.Context, n int) (receipt, error) {
		if n > 1 {
			return p.bank(ctx, payment{Invoice: 7, Cents: 1900})
		}
		return p.bank(ctx, payment{Invoice: 7, Cents: 1900, Key: key})
	})
}

func (p *payer) noKey(ctx context.Context) (receipt, error) {
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) {
		return p.bank(ctx, payment{Invoice: 7, Cents: 1900})
	})
}

func (p *payer) keyOfProcess(ctx context.Context) (receipt, error) {
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) {
		return p.bank(ctx, payment{Invoice: 7, Cents: 1900, Key: "worker-41"})
	})
}

func (p *payer) keyOfSecond(ctx context.Context) (receipt, error) {
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) {
		return p.bank(ctx, payment{Invoice: 7, Cents: 1900, Key: time.Now().Format(time.DateTime)})
	})
}

// rightKey makes one key for one payment.
func (p *payer) rightKey(ctx context.Context) (receipt, error) {
	bill := payment{Invoice: 7, Cents: 1900, Key: p.newKey()}
	return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) { return p.bank(ctx, bill) })
}
