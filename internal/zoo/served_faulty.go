package zoo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

func desks() []Specimen {
	by := func(serve func(*desk) refund) faultsim.Adapter { return deskOf(invariants.Repeats{}, serve) }
	plain := func(r invariants.Repeats, serve func(*desk) refund) faultsim.Adapter {
		tool := served(r, func(b treasury) refund { return serve(newDesk(b)) })
		tool.Other, tool.Clash = order{}, nil // other arguments would be a second mistake
		return tool.Adapter()
	}
	return []Specimen{
		{"refund-takes-no-notice", "The key is in the signature, and nobody reads it.",
			retrySafe, "repeat-has-no-effect", plain(invariants.Repeats{}, func(d *desk) refund { return d.move })},
		{"refund-noted-afterwards", "The key is looked up before the work and noted after it, and two at once both find nothing.",
			retrySafe, "repeat-has-no-effect", plain(invariants.Repeats{}, func(d *desk) refund { return d.notesAfterwards })},
		{"refund-tries-after-a-lost-reply", "Any failure of the bank releases the key, also one after which the money may have moved.",
			"F028", "repeat-has-no-effect", plain(invariants.Repeats{}, func(d *desk) refund { return d.releasesAlways })},
		{"refund-forgets-after-an-hour", "Keys are promised for a day, and the cache has a lifetime of an hour.",
			"F035", "repeat-has-no-effect", plain(invariants.Repeats{Retention: 24 * time.Hour}, func(d *desk) refund { return d.forHour })},
		{"insert-after-a-look", "The table is looked at and then written, in two steps, and two at once both see no row.",
			retrySafe, "repeat-has-no-effect", conditional(looksThenWrites)},
		{"refund-by-key-only", "What is kept is found by the key, whatever it was asked for.",
			"F035", "clash-is-refused", by(func(d *desk) refund { return d.byKeyOnly })},
		{"refund-by-key-and-arguments", "What is kept is found by key and arguments together, so that a key with other arguments is a new refund.",
			"F035", "clash-is-refused", by(func(d *desk) refund { return d.byKeyAndArguments })},
		{"refund-duplicate-refused", "A repeat is told that it is a duplicate, and never what came of the first.",
			"F031", "repeat-gets-the-result", by(func(d *desk) refund { return d.refusesDuplicates })},
		{"refund-marked-as-done", "The key is noted before the work, and who comes with it again is told that all is well.",
			retrySafe, "success-has-effect", by(func(d *desk) refund { return d.marksFirst })},
		{"refund-key-cut", "The column of the keys takes 36 signs, and what is longer is cut.",
			"F035", "success-has-effect", plain(invariants.Repeats{}, func(d *desk) refund { return d.cutsKeys })},
		{"refund-failure-kept", "Whatever the first call came to is kept with the key, also that the bank was not there.",
			"F035", "passing-failure-forgotten", by(func(d *desk) refund { return d.keepsAll })},
		{"refund-key-never-released", "The key is taken before the work, and a failure leaves it taken.",
			"F035", "key-is-released", by(func(d *desk) refund { return d.neverReleases })},
		{"refund-one-for-each-order", "Refunds that look alike are taken for one, and the second of two honest ones is refused.",
			"F033", "fresh-key-works", by(func(d *desk) refund { return d.byOrder })},
		{"refund-duplicate-fails-at-once", "A repeat that comes in between finds a half-written row, and fails with an error that nobody can read.",
			retrySafe, "at-once-as-declared", by(func(d *desk) refund { return d.findsHalf })},
		{"refund-empty-key", "No key is a key like any other, and the second caller without one gets the refund of the first.",
			"F035", "keyless-as-declared", deskOf(invariants.Repeats{Keyless: invariants.KeylessRuns}, func(d *desk) refund { return d.waits })},
		{"refund-refusal-forgotten", "A refusal is promised to stand, and a repeat asks the bank again.",
			retrySafe, "definite-failure-as-declared", deskOf(invariants.Repeats{Failures: invariants.FailuresKept}, func(d *desk) refund {
				d.retriesAll = true
				return d.waits
			})},
	}
}

// notesAfterwards keeps what came of a refund once it is there.
func (d *desk) notesAfterwards(ctx context.Context, key string, o order) (refunded, error) {
	if e := d.find(key); e != nil {
		return e.out, nil
	}
	r, err := d.move(ctx, "", o)
	if err != nil {
		return r, err
	}
	e, _ := d.take(key, o)
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.out.Number == 0 { // another call may have been faster
		e.out = r
	}
	return e.out, nil
}

func (d *desk) find(key string) *outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[key]
}

// releasesAlways is the right desk, but for what it makes of a lost reply.
func (d *desk) releasesAlways(ctx context.Context, key string, o order) (refunded, error) {
	e, mine := d.take(key, o)
	if mine {
		if e.out, e.err = d.move(ctx, "", o); e.err != nil {
			d.forget(key)
		}
		close(e.done)
		return e.out, e.err
	}
	return d.joins(ctx, e, o)
}

// joins waits for the outcome of another call.
func (d *desk) joins(ctx context.Context, e *outcome, o order) (refunded, error) {
	if e.asked != o {
		return refunded{}, errKeyReused
	}
	select {
	case <-e.done:
		return e.out, e.err
	case <-ctx.Done():
		return refunded{}, ctx.Err()
	}
}

func (d *desk) forHour(ctx context.Context, key string, o order) (refunded, error) {
	if e := d.find(key); e != nil && time.Since(e.at) > time.Hour {
		d.forget(key)
	}
	return d.waits(ctx, key, o)
}

func looksThenWrites(s *faultsim.Stage, g *bookings) refund {
	get := faultsim.Tool(s, "select", g.get, bankFailures())
	return func(ctx context.Context, _ string, o order) (refunded, error) {
		row, err := get(ctx, o)
		if err != nil || row.Number > 0 {
			return row, err
		}
		s.Effect(ctx)
		row, _ = g.insert(o)
		return row, nil
	}
}

func (d *desk) byKeyOnly(ctx context.Context, key string, o order) (refunded, error) {
	if e := d.find(key); e != nil {
		o = e.asked
	}
	return d.waits(ctx, key, o)
}

func (d *desk) byKeyAndArguments(ctx context.Context, key string, o order) (refunded, error) {
	return d.waits(ctx, fmt.Sprint(key, o), o)
}

func (d *desk) refusesDuplicates(ctx context.Context, key string, o order) (refunded, error) {
	e, mine := d.take(key, o)
	if !mine {
		select {
		case <-e.done:
		default:
			return refunded{}, errUnderWay
		}
		if e.asked != o {
			return refunded{}, errKeyReused
		}
		return refunded{}, errDuplicate
	}
	d.settle(ctx, key, e)
	return e.out, e.err
}

func (d *desk) marksFirst(ctx context.Context, key string, o order) (refunded, error) {
	e, mine := d.take(key, o)
	switch {
	case e.asked != o:
		return refunded{}, errKeyReused
	case !mine:
		return refunded{Cents: o.Cents}, nil
	}
	if _, err := d.move(ctx, "", o); err != nil {
		return refunded{}, err
	}
	return refunded{Cents: o.Cents}, nil
}

func (d *desk) cutsKeys(ctx context.Context, key string, o order) (refunded, error) {
	return d.waits(ctx, key[:min(len(key), 36)], o)
}

func (d *desk) keepsAll(ctx context.Context, key string, o order) (refunded, error) {
	e, mine := d.take(key, o)
	if mine {
		e.out, e.err = d.move(ctx, "", o)
		close(e.done)
	}
	return d.joins(ctx, e, o)
}

func (d *desk) neverReleases(ctx context.Context, key string, o order) (refunded, error) {
	e, mine := d.take(key, o)
	if mine {
		r, err := d.move(ctx, "", o)
		if err == nil {
			e.out = r
			close(e.done)
		}
		return r, err
	}
	if e.asked != o {
		return refunded{}, errKeyReused
	}
	select {
	case <-e.done:
		return e.out, nil
	default:
		return refunded{}, errUnderWay
	}
}

func (d *desk) byOrder(ctx context.Context, key string, o order) (refunded, error) {
	if e := d.find(key); e != nil && e.asked != o {
		return refunded{}, errKeyReused
	}
	owner, mine := d.take("order "+fmt.Sprint(o), o)
	if mine {
		owner.err = errors.New(key) // who it is for
	} else if owner.err.Error() != key {
		return refunded{}, errDuplicate
	}
	return d.waits(ctx, key, o)
}

func (d *desk) findsHalf(ctx context.Context, key string, o order) (refunded, error) {
	if e := d.find(key); e != nil && e.asked == o {
		select {
		case <-e.done:
		default:
			return refunded{}, errors.New(strings.TrimSpace("refund: sql: no rows in result set "))
		}
	}
	return d.waits(ctx, key, o)
}
