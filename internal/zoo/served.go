package zoo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// The refund desk, a tool that moves money through a bank.
type (
	order    struct{ ID, Cents int }
	refunded struct{ Number, Cents int }
	transfer struct {
		Order, Cents int
		Key          string `json:"idempotency_key,omitempty"`
	}
	treasury = func(context.Context, transfer) (int, error)
	refund   = faultsim.Serve[order, refunded]
)

var (
	errKeyReused = errors.New("refund: the key belongs to another refund")
	errUnderWay  = errors.New("refund: in progress, ask again")
	errKeyNeeded = errors.New("refund: an idempotency key is needed")
	errDuplicate = errors.New("refund: duplicate request")
	errUnsettled = errors.New("refund: the bank has not said what became of it, see the ledger")
)

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// refunds is the adapter of a refund desk whose bank does each transfer that it
// is asked for, and says with errBankDown that it did nothing.
func refunds(r invariants.Repeats, build func(treasury) refund) faultsim.Adapter {
	return served(r, build).Adapter()
}

func served(r invariants.Repeats, build func(treasury) refund) faultsim.Served[order, refunded] {
	r.Undone = []trace.Class{trace.Transient}
	return faultsim.Served[order, refunded]{
		Name: "refund", Repeats: r,
		Subject: func(s *faultsim.Stage) faultsim.Serve[order, refunded] {
			return build(faultsim.Tool(s, "bank", numbered(), bankFailures()))
		},
		Args: order{7, 1200}, Other: order{7, 9900},
		Clash: is(errKeyReused), Busy: is(errUnderWay), Keyless: is(errKeyNeeded),
	}
}

// numbered is a bank that numbers its transfers.
func numbered() treasury {
	var last atomic.Int64
	return func(context.Context, transfer) (int, error) { return int(last.Add(1)), nil }
}

// A desk keeps the outcome of each refund under its key.
type desk struct {
	bank treasury
	mu   sync.Mutex
	kept map[string]*outcome

	retriesAll bool // keep no failure, not even one that is definite
}

// An outcome is one refund under its key.
type outcome struct {
	asked order
	done  chan struct{} // closed when the rest is there
	out   refunded
	err   error
	at    time.Time // when the key was taken
}

func newDesk(b treasury) *desk { return &desk{bank: b, kept: map[string]*outcome{}} }

// take returns the outcome that the key stands for, and whether it is the
// caller's to bring about.
func (d *desk) take(key string, o order) (*outcome, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e, ok := d.kept[key]; ok {
		return e, false
	}
	e := &outcome{asked: o, done: make(chan struct{}), at: time.Now()}
	d.kept[key] = e
	return e, true
}

func (d *desk) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept, key)
}

// move asks the bank for the transfer.
func (d *desk) move(ctx context.Context, key string, o order) (refunded, error) {
	n, err := d.bank(ctx, transfer{Order: o.ID, Cents: o.Cents, Key: key})
	if err != nil {
		return refunded{}, err
	}
	return refunded{n, o.Cents}, nil
}

// settle brings the outcome about. Only what is final is kept: nothing was
// done where the bank was not there, and where nobody knows, nobody may try again.
func (d *desk) settle(ctx context.Context, key string, e *outcome) {
	defer close(e.done)
	if e.err = ctx.Err(); e.err == nil {
		e.out, e.err = d.move(ctx, "", e.asked)
	} else {
		d.forget(key)
		return
	}
	switch {
	case e.err == nil, errors.Is(e.err, errBankInvalid) && !d.retriesAll:
	case errors.Is(e.err, errBankInvalid), errors.Is(e.err, errBankDown), errors.Is(e.err, errBankBusy):
		d.forget(key)
	default:
		e.err = errors.Join(errUnsettled, e.err)
	}
}

// waits is the right desk: a repeat waits for the outcome and gets it.
func (d *desk) waits(ctx context.Context, key string, o order) (refunded, error) {
	for {
		e, mine := d.take(key, o)
		if mine {
			d.settle(ctx, key, e)
			return e.out, e.err
		}
		if e.asked != o {
			return refunded{}, errKeyReused
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return refunded{}, ctx.Err()
		}
		if d.holds(key, e) {
			return e.out, e.err
		}
	}
}

func (d *desk) holds(key string, e *outcome) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[key] == e
}

// refuses is the right desk that lets nobody wait, and that wants a key.
func (d *desk) refuses(ctx context.Context, key string, o order) (refunded, error) {
	if key == "" {
		return refunded{}, errKeyNeeded
	}
	e, mine := d.take(key, o)
	if mine {
		d.settle(ctx, key, e)
		return e.out, e.err
	}
	if e.asked != o {
		return refunded{}, errKeyReused
	}
	select {
	case <-e.done:
		return e.out, e.err
	default:
		return refunded{}, errUnderWay
	}
}

// unkeyed runs each call without a key by itself, and keeps no failures.
func (d *desk) unkeyed(ctx context.Context, key string, o order) (refunded, error) {
	if key == "" {
		return d.move(ctx, "", o)
	}
	return d.waits(ctx, key, o)
}

// handsOn leaves the work to a bank that knows keys, and keeps what was asked.
func (d *desk) handsOn(ctx context.Context, key string, o order) (refunded, error) {
	if e, mine := d.take(key, o); !mine && e.asked != o {
		return refunded{}, errKeyReused
	}
	return d.move(ctx, key, o)
}

// detached finishes a refund whose caller has left, for whoever asks again.
func (d *desk) detached(ctx context.Context, key string, o order) (refunded, error) {
	if err := ctx.Err(); err != nil {
		return refunded{}, err
	}
	e, mine := d.take(key, o)
	if !mine && e.asked != o {
		return refunded{}, errKeyReused
	}
	if mine {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			d.settle(ctx, key, e)
		}()
	}
	select {
	case <-e.done:
		return e.out, e.err
	case <-ctx.Done():
		return refunded{}, ctx.Err()
	}
}

// A bookings is a table of refunds that takes one row for each order.
type bookings struct {
	mu   sync.Mutex
	rows map[order]refunded
}

func (g *bookings) get(_ context.Context, o order) (refunded, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rows[o], nil
}

// insert writes the row unless there is one; done says which.
func (g *bookings) insert(o order) (row refunded, done bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if row, ok := g.rows[o]; ok {
		return row, false
	}
	g.rows[o] = refunded{len(g.rows) + 1, o.Cents}
	return g.rows[o], true
}

// conditional is a tool that looks whether it is done already.
func conditional(build func(*faultsim.Stage, *bookings) refund) faultsim.Adapter {
	return faultsim.Served[order, refunded]{
		Name: "book", Repeats: invariants.Repeats{By: invariants.ByState, Work: "book"},
		Subject: func(s *faultsim.Stage) faultsim.Serve[order, refunded] {
			return build(s, &bookings{rows: map[order]refunded{}})
		},
		Args: order{7, 1200},
	}.Adapter()
}

// insertsOnce lets the database decide, in one step.
func insertsOnce(s *faultsim.Stage, g *bookings) refund {
	get := faultsim.Tool(s, "select", g.get, bankFailures())
	return func(ctx context.Context, _ string, o order) (refunded, error) {
		if row, err := get(ctx, o); err != nil || row.Number > 0 {
			return row, err
		}
		row, done := g.insert(o)
		if done {
			s.Effect(ctx)
		}
		return row, nil
	}
}

// deskOf is the adapter of a desk of its own for each trial.
func deskOf(r invariants.Repeats, serve func(*desk) refund) faultsim.Adapter {
	return refunds(r, func(b treasury) refund { return serve(newDesk(b)) })
}

func rightDesks() []Specimen {
	keyed := deskOf(invariants.Repeats{Key: "idempotency_key"}, func(d *desk) refund { return d.handsOn })
	return []Specimen{
		{Name: "refund-waits", Adapter: deskOf(invariants.Repeats{AtOnce: invariants.AtOnceWaits, Failures: invariants.FailuresKept}, func(d *desk) refund { return d.waits })},
		{Name: "refund-refuses-at-once", Adapter: deskOf(invariants.Repeats{AtOnce: invariants.AtOnceRefused, Keyless: invariants.KeylessRefused}, func(d *desk) refund { return d.refuses })},
		{Name: "refund-without-a-key", Adapter: deskOf(invariants.Repeats{Keyless: invariants.KeylessRuns, Failures: invariants.FailuresForgotten}, func(d *desk) refund {
			d.retriesAll = true
			return d.unkeyed
		})},
		{Name: "refund-hands-the-key-on", Adapter: keyed},
		{Name: "refund-goes-on-alone", Adapter: deskOf(invariants.Repeats{}, func(d *desk) refund { return d.detached })},
		{Name: "refund-and-letter", Adapter: lettered()},
		{Name: "conditional-insert", Adapter: conditional(insertsOnce)},
	}
}
