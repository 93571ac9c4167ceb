// Package refund is a tool that gives money back, and that may be called again:
// by a model that saw a timeout, by a caller that lost the reply, by two workers
// at once. Three things make that safe. The key of the call is bound to its order
// before anything is done, so that it cannot stand for another one. The result
// is kept with the key, so that a repeat gets it instead of a second refund. And
// the bank is handed the key on, so that a call whose outcome nobody knows, be it
// for a lost reply or for a crash, can simply be made again.
package refund

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// An Order is what is to be refunded.
type Order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

// A Receipt is the proof of a refund.
type Receipt struct {
	Transfer string `json:"transfer"`
	Cents    int64  `json:"cents"`
}

// A Transfer is what the bank is asked for. It makes one for each key.
type Transfer struct {
	Key   string `json:"idempotencyKey"`
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// A Store keeps a value under a key, durably: what Put has stored is there after
// a crash. The error of Get is fs.ErrNotExist where there is none.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// The errors that a caller can act on. All others may be repeated, with the
// same key.
var (
	ErrKeyMissing = errors.New("refund: an idempotency key is needed")
	ErrKeyReused  = errors.New("refund: the key was used for another order")
)

// A Desk refunds orders. Make it with [New].
type Desk struct {
	bank  func(context.Context, Transfer) (string, error)
	store Store

	mu   sync.Mutex
	busy map[string]chan struct{} // the keys of calls that are under way
}

// New returns a desk that moves money through the bank, whose answer is the id
// of the transfer.
func New(bank func(context.Context, Transfer) (string, error), store Store) *Desk {
	return &Desk{bank: bank, store: store, busy: map[string]chan struct{}{}}
}

// kept is what the store has of a key.
type kept struct {
	Order   Order    `json:"order"`
	Receipt *Receipt `json:"receipt"` // nil: it is not known to be done
}

// Refund gives the order's money back, once for each key. A call that comes
// while another one with its key is under way waits for it.
func (d *Desk) Refund(ctx context.Context, key string, o Order) (Receipt, error) {
	if key == "" {
		return Receipt{}, ErrKeyMissing
	}
	release, err := d.turn(ctx, key)
	if err != nil {
		return Receipt{}, err
	}
	defer release()
	k, err := d.bind(ctx, key, o)
	switch {
	case err != nil:
		return Receipt{}, err
	case k.Order != o:
		return Receipt{}, ErrKeyReused
	case k.Receipt != nil:
		return *k.Receipt, nil
	}
	id, err := d.bank(ctx, Transfer{Key: key, Order: o.ID, Cents: o.Cents})
	if err != nil {
		return Receipt{}, fmt.Errorf("refund: not confirmed: %w", err)
	}
	r := Receipt{Transfer: id, Cents: o.Cents}
	return r, d.keep(context.WithoutCancel(ctx), key, kept{o, &r}) // it is done, whoever has left
}

// turn waits until no other call with the key is under way.
func (d *Desk) turn(ctx context.Context, key string) (release func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.mu.Lock()
		other := d.busy[key]
		if other == nil {
			mine := make(chan struct{})
			d.busy[key] = mine
			d.mu.Unlock()
			return func() { d.leave(key, mine) }, nil
		}
		d.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (d *Desk) leave(key string, mine chan struct{}) {
	d.mu.Lock()
	delete(d.busy, key)
	d.mu.Unlock()
	close(mine)
}

// bind returns what is kept of the key. A key that is new stands for the order
// from then on, whatever comes of it.
func (d *Desk) bind(ctx context.Context, key string, o Order) (k kept, err error) {
	raw, err := d.store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{Order: o}, d.keep(ctx, key, kept{Order: o})
	}
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	return k, err
}

func (d *Desk) keep(ctx context.Context, key string, k kept) error {
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return d.store.Put(ctx, key, raw)
}
