package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A cashier makes a refund in two steps, the transfer and a letter, and goes on
// with the step at which a call before has failed.
type cashier struct {
	bank treasury
	post func(context.Context, int) (struct{}, error)
	mu   sync.Mutex
	desk map[string]*file
}

// A file is how far a refund has come.
type file struct {
	turn    chan struct{} // holds a value while nobody works on it
	asked   order
	number  int // of the transfer; 0: none is made
	unknown bool
	sent    bool
}

func (c *cashier) file(key string, o order) *file {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.desk[key]
	if f == nil {
		f = &file{turn: make(chan struct{}, 1), asked: o}
		f.turn <- struct{}{}
		c.desk[key] = f
	}
	return f
}

func (c *cashier) refund(ctx context.Context, key string, o order) (refunded, error) {
	f := c.file(key, o)
	if f.asked != o {
		return refunded{}, errKeyReused
	}
	select {
	case <-f.turn:
	case <-ctx.Done():
		return refunded{}, ctx.Err()
	}
	defer func() { f.turn <- struct{}{} }()
	if err := ctx.Err(); err != nil {
		return refunded{}, err
	}
	if err := c.transfer(ctx, f); err != nil {
		return refunded{}, err
	}
	if err := c.letter(ctx, f); err != nil {
		return refunded{}, err
	}
	return refunded{f.number, o.Cents}, nil
}

// transfer tries three times while the bank says that it did nothing.
func (c *cashier) transfer(ctx context.Context, f *file) error {
	for n := 1; f.number == 0; n++ {
		if f.unknown {
			return errUnsettled
		}
		number, err := c.bank(ctx, transfer{Order: f.asked.ID, Cents: f.asked.Cents})
		passes := errors.Is(err, errBankDown) || errors.Is(err, errBankBusy)
		switch {
		case err == nil:
			f.number = number
			return nil
		case !passes && !errors.Is(err, errBankInvalid):
			f.unknown = true
			return err
		case !passes || n == attempts:
			return err
		}
		if err := sleep(ctx, time.Second<<n); err != nil {
			return err
		}
	}
	return nil
}

// letter sends the letter, and rather none than two.
func (c *cashier) letter(ctx context.Context, f *file) error {
	if f.sent {
		return nil
	}
	_, err := c.post(ctx, f.number)
	f.sent = !errors.Is(err, errBankBusy)
	return err
}

func lettered() faultsim.Adapter {
	return faultsim.Served[order, refunded]{
		Name: "refund", Repeats: invariants.Repeats{Undone: []trace.Class{trace.Transient}},
		Subject: func(s *faultsim.Stage) faultsim.Serve[order, refunded] {
			bank := faultsim.Tool(s, "bank", numbered(), bankFailures())
			post := faultsim.Tool(s, "post", func(context.Context, int) (struct{}, error) { return struct{}{}, nil }, faultsim.Errors{trace.Throttled: errBankBusy})
			return (&cashier{bank: bank, post: post, desk: map[string]*file{}}).refund
		},
		Args: order{7, 1200}, Other: order{7, 9900}, Clash: is(errKeyReused),
	}.Adapter()
}
