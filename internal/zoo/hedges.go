package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects whose attempts overlap.
func overlaps() []Specimen {
	return []Specimen{
		{"left-attempt-works-on", "The attempt runs in a goroutine, a timer gives it up, and nothing ends its context before the next one begins.",
			"F031", "no-overlap", agents(withoutAttempt(), failures(), leaves(false))},
		{"hedge-at-once", "The delay of the hedge has no unit, and the second request goes out beside the first.",
			tailAtScale, "hedged", hedging(func(h *hedger[forecast]) { h.after = hedgeAfter / time.Millisecond })},
		{"hedge-loser-works-on", "The first answer is returned, and the contexts of the others end with their own time.",
			tailAtScale, "hedged", hedging(func(h *hedger[forecast]) { h.lets = true })},
		{"hedges-without-limit", "Each second brings another attempt beside those that are under way.",
			tailAtScale, "hedged", hedging(func(h *hedger[forecast]) { h.most = attempts })},
		{"hedge-with-a-key-of-its-own", "Each attempt makes its key, and the hedge of a payment is another payment.",
			tailAtScale, "one-key", hedgedPayment(true)},
	}
}

// hedgeAfter is how long an attempt is under way before another begins.
const hedgeAfter = time.Second

// withoutAttempt is the contract of two attempts without a time of their own, and
// no wait between.
func withoutAttempt() invariants.Policy {
	return with(func(p *invariants.Policy) { p.MaxAttempts, p.Attempt, p.Backoff = 2, 0, invariants.Backoff{} })
}

// leaves gives an attempt up after 150 ms, and tries again; tidily: it ends the
// context of the attempt that it leaves.
func leaves(tidily bool) ask {
	return func(ctx context.Context, call tool) (forecast, error) { return leave(ctx, call, tidily) }
}

func leave(ctx context.Context, call tool, tidily bool) (forecast, error) {
	type answer struct {
		f   forecast
		err error
	}
	ctx, cancel := context.WithCancel(ctx) // ends what was left behind, with the action
	defer cancel()
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		answers := make(chan answer, 1)
		attempt, end := context.WithCancel(ctx)
		defer end()
		go func() {
			f, err := call(attempt, pune)
			answers <- answer{f, err}
		}()
		var a answer
		select {
		case a = <-answers:
		case <-time.After(150 * time.Millisecond):
			if a.err = errUnavailable; tidily {
				end()
			}
		case <-ctx.Done():
			return forecast{}, ctx.Err()
		}
		if a.err == nil {
			return a.f, nil
		}
		if n == 2 || final(ctx, a.err) {
			return forecast{}, a.err
		}
	}
}

// hedgedPolicy is a contract whose slow attempts are hedged by one more.
func hedgedPolicy(p invariants.Policy) invariants.Policy {
	p.ID, p.Hedge = p.ID+"/hedged", invariants.Hedge{After: hedgeAfter, Max: 2}
	return p
}

func hedging(change func(*hedger[forecast])) faultsim.Adapter {
	return agents(hedgedPolicy(policy()), throttling(), func(ctx context.Context, call tool) (forecast, error) {
		h := &hedger[forecast]{after: hedgeAfter, most: 2, wait: base, again: retryable}
		change(h)
		return h.do(ctx, func(ctx context.Context) (forecast, error) { return call(ctx, pune) })
	})
}

// hedgedPayment plugs in a payment whose slow attempts are hedged.
func hedgedPayment(fresh bool) faultsim.Adapter {
	a := keyed(func(p *payer) action {
		return func(ctx context.Context) (receipt, error) {
			key := p.newKey()
			h := &hedger[receipt]{after: hedgeAfter, most: 2, wait: time.Second, again: func(err error) bool { return !errors.Is(err, errBankInvalid) }}
			return h.do(ctx, func(ctx context.Context) (receipt, error) {
				k := key
				if fresh {
					k = p.newKey()
				}
				return p.bank(ctx, payment{Invoice: 7, Cents: 1900, Key: k})
			})
		}
	})
	a.Policy = hedgedPolicy(a.Policy)
	return a
}

// A hedger repeats what fails, and starts another attempt beside one that is
// slow.
type hedger[T any] struct {
	after time.Duration
	most  int // under way at once
	wait  time.Duration
	again func(error) bool
	lets  bool // losers work on
}

type attempted[T any] struct {
	out T
	err error
}

func (h *hedger[T]) do(ctx context.Context, call func(context.Context) (T, error)) (none T, err error) {
	calls := ctx
	if !h.lets {
		var stop context.CancelFunc
		calls, stop = context.WithCancel(ctx)
		defer stop()
	}
	answers := make(chan attempted[T], attempts)
	begun := 0
	for {
		if err := ctx.Err(); err != nil {
			return none, err
		}
		a := h.round(calls, call, answers, &begun)
		if a.err == nil {
			return a.out, nil
		}
		if begun == attempts || ctx.Err() != nil || !h.again(a.err) {
			return none, a.err
		}
		if err := sleep(ctx, max(h.wait, hinted(a.err))); err != nil {
			return none, err
		}
		h.wait *= 2
	}
}

// round is one attempt with its hedges: it ends with the first success, with a
// failure that is final, or when all have failed.
func (h *hedger[T]) round(ctx context.Context, call func(context.Context) (T, error), answers chan attempted[T], begun *int) attempted[T] {
	under := 0
	begin := func() {
		under, *begun = under+1, *begun+1
		go func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			out, err := call(ctx)
			answers <- attempted[T]{out, err}
		}()
	}
	begin()
	next := time.NewTimer(h.after)
	defer next.Stop()
	for {
		select {
		case a := <-answers:
			if under--; a.err == nil || under == 0 || !h.again(a.err) || ctx.Err() != nil {
				return a
			}
		case <-next.C:
			if *begun == attempts || ctx.Err() != nil {
				continue
			}
			if begin(); under < h.most {
				next.Reset(h.after)
			}
		}
	}
}
