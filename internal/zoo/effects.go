package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func effects() []Specimen {
	return []Specimen{
		{"blind-repeat", "A payment without a key is sent again after a timeout or a reset, when it may have been made.",
			"F028", "one-effect", unkeyed(func(b bank) action {
				return func(ctx context.Context) (receipt, error) {
					return repeat(ctx, func(ctx context.Context, _ int) (receipt, error) { return b(ctx, payment{Invoice: 7, Cents: 1900}) })
				}
			})},
		{"impatient-repeat", "A watchdog gives up a slow payment and sends it again, as if it had not been made.",
			"F031", "one-effect", impatient(func(b bank) action {
				return func(ctx context.Context) (receipt, error) { return payImpatiently(ctx, b) }
			})},
	}
}

// unkeyedPolicy repeats a payment only where it certainly was not made.
func unkeyedPolicy() invariants.Policy {
	p := keyedPolicy()
	p.ID, p.Key, p.Retry = "pay/v2", "", []trace.Class{trace.Throttled}
	return p
}

func unkeyed(pay func(bank) action) faultsim.Adapter {
	return paying(unkeyedPolicy(), bankFailures(), pay)
}

func impatient(pay func(bank) action) faultsim.Adapter {
	p := unkeyedPolicy()
	p.Attempt = 0 // the watchdog is the agent's own affair, and no promise
	return paying(p, bankFailures(), pay)
}

func paying(p invariants.Policy, errs faultsim.Errors, pay func(bank) action) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "pay", Policy: p,
		Subject: func(s *faultsim.Stage) faultsim.Action {
			do := pay(faultsim.Tool(s, "bank", settle, errs))
			return func(ctx context.Context) (any, error) { return do(ctx) }
		},
	}
}

// payImpatiently repeats a throttled payment, and a slow one.
func payImpatiently(ctx context.Context, b bank) (receipt, error) {
	wait := time.Second
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return receipt{}, err
		}
		r, err, slow := watched(ctx, b)
		if err == nil {
			return r, nil
		}
		if n == attempts || ctx.Err() != nil || !slow && !errors.Is(err, errBankBusy) {
			return receipt{}, err
		}
		if err := sleep(ctx, wait); err != nil {
			return receipt{}, err
		}
		wait *= 2
	}
}

// watched is one attempt that a watchdog gives up.
func watched(ctx context.Context, b bank) (r receipt, err error, slow bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dog := time.AfterFunc(150*time.Millisecond, cancel)
	r, err = b(ctx, payment{Invoice: 7, Cents: 1900})
	return r, err, !dog.Stop()
}
