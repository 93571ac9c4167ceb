package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func crashedDesks() []Specimen {
	return []Specimen{
		{"refund-kept-in-memory", "The keys are in a map, and after a restart every repeat is new.",
			"F035", "repeat-has-no-effect", restarting(invariants.Repeats{}, false, func(_ *faultsim.Disk, b treasury) refund { return newDesk(b).waits })},
		{"refund-pending-for-ever", "A key that a crash has left in progress stays so, and every repeat is told to come later.",
			"F035", "key-is-released", restarting(invariants.Repeats{Lease: lease}, true, func(f *faultsim.Disk, b treasury) refund { return (&books{disk: f, bank: b, patient: true}).refund })},
		{"refund-crash-taken-for-a-failure", "What a crash has interrupted is written off as failed, though the bank knows the key and could be asked.",
			"F035", "passing-failure-forgotten", restarting(invariants.Repeats{Lease: lease}, true, func(f *faultsim.Disk, b treasury) refund { return (&books{disk: f, bank: b, givesUp: true}).refund })},
	}
}

func rightDurableDesks() []Specimen {
	return []Specimen{
		{Name: "refund-on-disk", Adapter: restarting(invariants.Repeats{Lease: lease}, true, func(f *faultsim.Disk, b treasury) refund { return (&books{disk: f, bank: b}).refund })},
		{Name: "refund-on-disk-and-unsettled", Adapter: restarting(invariants.Repeats{Lease: lease}, false, func(f *faultsim.Disk, b treasury) refund { return (&books{disk: f, bank: b, givesUp: true}).refund })},
		{Name: "refund-recovers-at-start", Adapter: restarting(invariants.Repeats{Lease: lease}, true, func(f *faultsim.Disk, b treasury) refund { return recovering(&books{disk: f, bank: b}) })},
	}
}

// recovering finishes, while it serves, what the process before has left.
func recovering(b *books) refund {
	ctx := context.Background()
	keys, err := b.disk.List(ctx, "")
	if err == nil {
		go func() {
			for _, key := range keys {
				b.finish(ctx, key)
			}
		}()
	}
	return b.refund
}

// finish asks the bank again for what is in progress, with the same key.
func (b *books) finish(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, known, err := b.read(ctx, key)
	if err != nil || !known || p.Done {
		return
	}
	n, err := b.bank(ctx, transfer{Order: p.Asked.ID, Cents: p.Asked.Cents, Key: key})
	if err != nil {
		return // whoever asks again, when the lease is over, tries again
	}
	if err := b.write(context.WithoutCancel(ctx), key, page{Asked: p.Asked, Done: true, Out: refunded{n, p.Asked.Cents}}); err != nil {
		panic(err) // the disk does not fail
	}
}

// lease is how long a key that is in progress belongs to the process that took it.
const lease = time.Minute

// restarting is the adapter of a refund desk whose process may die. keyed: the
// bank knows keys.
func restarting(r invariants.Repeats, keyed bool, build func(*faultsim.Disk, treasury) refund) faultsim.Adapter {
	r.Undone = []trace.Class{trace.Transient}
	if keyed {
		r.Key = "idempotency_key"
	}
	return faultsim.Served[order, refunded]{
		Name: "refund", Repeats: r, Restarts: true,
		Subject: func(s *faultsim.Stage) faultsim.Serve[order, refunded] {
			return build(s.Disk(), faultsim.Tool(s, "bank", numbered(), bankFailures()))
		},
		Args: order{7, 1200}, Busy: is(errUnderWay),
	}.Adapter()
}

// Books are a refund desk whose keys are on a disk, with the time until which
// each belongs to whoever took it.
type books struct {
	disk    *faultsim.Disk
	bank    treasury
	patient bool // a key that is taken stays taken
	givesUp bool // what was interrupted is not tried again
}

// A page is what the books have of a key.
type page struct {
	Asked order
	Until time.Time
	Done  bool
	Out   refunded
	Lost  bool // nobody knows, and nobody may try again
}

func (b *books) refund(ctx context.Context, key string, o order) (refunded, error) {
	p, known, err := b.read(ctx, key)
	switch {
	case err != nil:
		return refunded{}, err
	case known && p.Done:
		return p.Out, nil
	case known && p.Lost:
		return refunded{}, errUnsettled
	case known && (b.patient || time.Now().Before(p.Until)):
		return refunded{}, errUnderWay
	case known && b.givesUp:
		return refunded{}, errUnsettled
	}
	if err := b.write(ctx, key, page{Asked: o, Until: time.Now().Add(lease)}); err != nil {
		return refunded{}, err
	}
	n, err := b.bank(ctx, transfer{Order: o.ID, Cents: o.Cents, Key: key})
	ctx = context.WithoutCancel(ctx) // what became of it is written down whoever has left
	switch {
	case err == nil:
		out := refunded{n, o.Cents}
		return out, b.write(ctx, key, page{Asked: o, Done: true, Out: out})
	case b.givesUp && !errors.Is(err, errBankDown) && !errors.Is(err, errBankBusy) && !errors.Is(err, errBankInvalid):
		return refunded{}, errors.Join(err, b.write(ctx, key, page{Asked: o, Lost: true}))
	}
	return refunded{}, errors.Join(err, b.disk.Delete(ctx, key))
}

func (b *books) read(ctx context.Context, key string) (p page, known bool, err error) {
	raw, err := b.disk.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	return p, err == nil, err
}

func (b *books) write(ctx context.Context, key string, p page) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return b.disk.Put(ctx, key, raw)
}
