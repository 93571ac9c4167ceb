// Package payment pays invoices through a bank that may lose its answer after
// the money has moved. Three things keep a payment single: one idempotency key
// for the invoice's payment, made before the first attempt; an authoritative
// status check after every outcome that is not known; and a condition, so that
// the bank moves money only while the invoice is open.
package payment

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// A Charge is what the bank is asked to do.
type Charge struct {
	Key     string `json:"idempotencyKey"`
	Invoice string `json:"invoice"`
	Cents   int64  `json:"cents"`
	IfState string `json:"ifState"` // the state that the invoice must be in
}

// A Receipt is the bank's proof.
type Receipt struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

// A Bank moves money. Status is authoritative: it says whether the key's
// charge was made, also while an answer to it is still on its way.
type Bank struct {
	Charge func(context.Context, Charge) (Receipt, error)
	Status func(ctx context.Context, key string) (Status, error)
}

// A Status is what the bank knows of a key.
type Status struct {
	Done    bool    `json:"done"`
	Receipt Receipt `json:"receipt"`
}

// The bank's errors.
var (
	ErrBusy         = errors.New("bank: too many requests")         // nothing was done
	ErrNotConnected = errors.New("bank: no connection")             // nothing was done
	ErrLost         = errors.New("bank: connection lost")           // it may have been done
	ErrNoFunds      = errors.New("bank: insufficient funds")        // final
	ErrForbidden    = errors.New("bank: not allowed")               // final
	ErrNotOpen      = errors.New("bank: the invoice is not open")   // final, unless it was us
	ErrUnknown      = errors.New("payment: the outcome is unknown") // a person must look
)

const (
	attempts = 3
	base     = 200 * time.Millisecond
	timeout  = 5 * time.Second // of one attempt
)

// Pay pays the invoice at most once. An error that is [ErrUnknown] means that
// the money may have moved; every other error means that it has not.
func (b Bank) Pay(ctx context.Context, invoice string, cents int64) (Receipt, error) {
	charge := Charge{Key: rand.Text(), Invoice: invoice, Cents: cents, IfState: "open"}
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return Receipt{}, err
		}
		receipt, err := b.once(ctx, charge)
		if err == nil {
			return receipt, nil
		}
		if !harmless(err) {
			receipt, done, err := b.reconcile(ctx, charge.Key, err)
			if done || err != nil {
				return receipt, err
			}
		}
		if n == attempts || final(err) || ctx.Err() != nil {
			return Receipt{}, fmt.Errorf("payment: not paid after %d attempts: %w", n, err)
		}
		if sleep(ctx, wait) != nil {
			return Receipt{}, fmt.Errorf("payment: not paid after %d attempts: %w", n, err)
		}
		wait *= 2
	}
}

// once is one attempt, under a time limit of its own.
func (b Bank) once(ctx context.Context, c Charge) (Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return b.Charge(ctx, c)
}

// harmless reports whether the failure proves that this attempt did nothing
// and that no earlier one did.
func harmless(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, ErrNotConnected) || errors.Is(err, ErrNoFunds) || errors.Is(err, ErrForbidden)
}

func final(err error) bool {
	return errors.Is(err, ErrNoFunds) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotOpen)
}

// reconcile asks the bank what became of the key. The question has its own
// time: it matters most when the caller's is over.
func (b Bank) reconcile(ctx context.Context, key string, cause error) (r Receipt, done bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	status, err := b.Status(ctx, key)
	if err != nil {
		return Receipt{}, false, fmt.Errorf("%w: %w (and no status: %w)", ErrUnknown, cause, err)
	}
	return status.Receipt, status.Done, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
