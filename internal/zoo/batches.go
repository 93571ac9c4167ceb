package zoo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func batches() []Specimen {
	return []Specimen{
		{"batch-reads-the-status-only", "The answer as a whole is a success, and nobody looks at its items.",
			"F058", "batch-retry", putting(readsStatus)},
		{"batch-sent-again-whole", "Where any record fails the whole batch is sent again.",
			"F059", "batch-retry", putting(sendsWhole)},
		{"batch-retries-refused-records", "Every record that failed is sent again, those that were refused as well.",
			retrySafe, "batch-retry", putting(retriesRefused)},
		{"batch-keeps-the-last-failure", "The loop over the results overwrites the record that failed with the next one.",
			retrySafe, "batch-retry", putting(keepsLast)},
		{"batch-sent-again-after-a-timeout", "A request that was not answered in time counts as one that failed, and its records are written twice.",
			retrySafe, "one-effect", putting(hopes)},
		{"batch-forgets-the-first-chunk", "The loop over the chunks keeps the error of the last one, and that of another is gone.",
			"F058", "batch-retry", inTwo(putting(inChunks(lastError)))},
		{"batch-tells-a-number", "The end tells how many records are left, and not which.",
			retrySafe, "items-named", naming(putting(putsRest))},
		{"batch-item-hint-ignored", "Only the error of the whole request is asked for a wait, and that of a single record is not.",
			retrySafe, "hint-honoured", puttingOn(storeAsking(), putsWhenAsked(noHint))},
	}
}

// A store takes several records in one call.
type (
	record struct{ ID, Text string }
	result = faultsim.ItemResult[int]
	store  = func(context.Context, []record) ([]result, error)
)

var (
	records = []record{{"a", "one"}, {"b", "two"}, {"c", "three"}}

	errStoreBusy = errors.New("store: too many requests")
	errStoreDown = errors.New("store: unavailable, nothing was written")
	errTooLarge  = errors.New("store: the record is too large")
)

// putting plugs in a program that puts the records. A request that failed as a
// whole proves that nothing was written.
func putting(put func(context.Context, store, []record) error) faultsim.Adapter {
	return puttingOn(faultsim.Errors{trace.Transient: errStoreDown, trace.Throttled: errStoreBusy, trace.Invalid: errTooLarge}, put)
}

func puttingOn(errs faultsim.Errors, put func(context.Context, store, []record) error) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "put",
		Policy: invariants.Policy{
			ID: "records/v1", MaxAttempts: attempts, Attempt: limit, Backoff: invariants.Backoff{Base: base}, Late: invariants.LateWait,
			Retry: []trace.Class{trace.Transient, trace.Throttled}, Undone: []trace.Class{trace.Transient},
		},
		Invariants: []invariants.Invariant{invariants.BatchRetry()},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			call := faultsim.Batch(s, "store", func(r record) string { return r.ID },
				func(_ context.Context, r record) (int, error) { return len(r.Text), nil },
				errs)
			return func(ctx context.Context) (any, error) { return nil, put(ctx, call, records) }
		},
	}
}

// passing reports whether a failure of the store may pass.
func passing(err error) bool { return errors.Is(err, errStoreBusy) || errors.Is(err, errStoreDown) }

// repeatPut sends the batch, and what the function makes of the answer after it.
func repeatPut(ctx context.Context, call store, batch []record, next func([]record, []result) ([]record, error)) error {
	wait := base
	var refused error
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		again, final, err := putOnce(ctx, call, batch, next)
		refused = errors.Join(refused, final)
		if len(again) == 0 && err == nil {
			return refused
		}
		if n == attempts || ctx.Err() != nil || len(again) == 0 {
			return errors.Join(refused, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return errors.Join(refused, err)
		}
		wait *= 2
		batch = again
	}
}

// putOnce is one request: the records to send again, what was refused, and the
// error to report where there is no further request.
func putOnce(ctx context.Context, call store, batch []record, next func([]record, []result) ([]record, error)) (again []record, refused, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results, err := call(ctx, batch)
	switch {
	case err != nil && passing(err):
		return batch, nil, err
	case err != nil:
		return nil, nil, err
	}
	again, refused = next(batch, results)
	if len(again) > 0 {
		err = fmt.Errorf("store: %d records are still to be put", len(again))
	}
	return again, refused, err
}

// rest is the right reading: what may pass is sent again, what was refused is named.
func rest(batch []record, results []result) (again []record, refused error) {
	for i, r := range results {
		switch {
		case r.Err != nil && passing(r.Err):
			again = append(again, batch[i])
		case r.Err != nil:
			refused = errors.Join(refused, fmt.Errorf("record %s: %w", r.ID, r.Err))
		}
	}
	return again, refused
}

// inChunks puts the records chunk by chunk, each with its retries, and goes on
// after a failure.
func inChunks(join func(...error) error) func(context.Context, store, []record) error {
	return func(ctx context.Context, call store, batch []record) (err error) {
		for chunk := range slices.Chunk(batch, 2) {
			err = join(err, putsRest(ctx, call, chunk))
			if ctx.Err() != nil {
				return err
			}
		}
		return err
	}
}

// inTwo says that the three records are put in two requests.
func inTwo(a faultsim.Adapter) faultsim.Adapter {
	a.Pages = 2
	return a
}

func lastError(errs ...error) error { return errs[len(errs)-1] }

// chunksThenRest sends every chunk once, and then what is left of all of them.
func chunksThenRest(ctx context.Context, call store, batch []record) error {
	var left []record
	var refused, last error
	for chunk := range slices.Chunk(batch, 2) {
		if ctx.Err() != nil {
			return errors.Join(refused, last, ctx.Err())
		}
		again, final, err := putOnce(ctx, call, chunk, rest)
		if err != nil && len(again) == 0 {
			final = errors.Join(final, err)
		}
		if err != nil {
			last = err
		}
		refused, left = errors.Join(refused, final), append(left, again...)
	}
	for n, wait := 2, base; len(left) > 0 && n <= attempts; n, wait = n+1, 2*wait {
		if ctx.Err() != nil || sleep(ctx, wait) != nil {
			return errors.Join(refused, last, ctx.Err())
		}
		again, final, err := putOnce(ctx, call, left, rest)
		refused = errors.Join(refused, final)
		if err != nil && len(again) == 0 {
			return errors.Join(refused, err)
		}
		left, last = again, err
	}
	if len(left) == 0 {
		last = nil
	}
	return errors.Join(refused, last)
}

// naming wants each record that failed in the report.
func naming(a faultsim.Adapter) faultsim.Adapter {
	a.Invariants = append(slices.Clone(a.Invariants), invariants.ItemsNamed())
	return a
}

// namesRest is putsRest with a list of what is left.
func namesRest(ctx context.Context, call store, batch []record) error {
	left := map[string]error{}
	err := repeatPut(ctx, call, batch, func(batch []record, results []result) ([]record, error) {
		clear(left)
		again, refused := rest(batch, results)
		for _, r := range results {
			if r.Err != nil && passing(r.Err) {
				left[r.ID] = r.Err
			}
		}
		return again, refused
	})
	for _, r := range batch {
		if failure, ok := left[r.ID]; ok && err != nil {
			err = errors.Join(err, fmt.Errorf("record %s is not put: %w", r.ID, failure))
		}
	}
	return err
}

// storeAsking are the failures of a store that asks for a wait.
func storeAsking() faultsim.Errors {
	return faultsim.Errors{
		trace.Transient: errStoreDown, trace.Invalid: errTooLarge,
		trace.Throttled: faultsim.Hinted(func(hint time.Duration) error { return &storeBusyError{hint} }),
	}
}

// storeBusyError is a throttled request or record.
type storeBusyError struct{ after time.Duration }

func (e *storeBusyError) Error() string { return errStoreBusy.Error() }

func (e *storeBusyError) Is(target error) bool { return target == errStoreBusy }

// longestHint is the longest wait that one of the results asks for.
func longestHint(results []result) (longest time.Duration) {
	for _, r := range results {
		longest = max(longest, asksFor(r.Err))
	}
	return longest
}

// noHint takes a request that went through for one that asks for nothing.
func noHint([]result) time.Duration { return 0 }

func asksFor(err error) time.Duration {
	if busy, ok := errors.AsType[*storeBusyError](err); ok {
		return busy.after
	}
	return 0
}

// putsWhenAsked puts the records and waits as long as the store asks.
func putsWhenAsked(read func([]result) time.Duration) func(context.Context, store, []record) error {
	return func(ctx context.Context, call store, batch []record) error {
		var refused error
		wait := base
		for n := 1; ; n++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			asked := time.Duration(0)
			again, final, err := putOnce(ctx, call, batch, func(batch []record, results []result) ([]record, error) {
				asked = read(results)
				return rest(batch, results)
			})
			refused = errors.Join(refused, final)
			if len(again) == 0 || n == attempts || ctx.Err() != nil {
				return errors.Join(refused, err)
			}
			if err := sleep(ctx, max(wait, asked, asksFor(err))); err != nil {
				return errors.Join(refused, err)
			}
			wait *= 2
			batch = again
		}
	}
}

func putsRest(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, call, batch, rest)
}

func readsStatus(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, call, batch, func([]record, []result) ([]record, error) { return nil, nil })
}

func sendsWhole(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, call, batch, func(batch []record, results []result) ([]record, error) {
		again, refused := rest(batch, results)
		if len(again) > 0 {
			return batch, nil
		}
		return nil, refused
	})
}

func retriesRefused(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, call, batch, func(batch []record, results []result) (again []record, _ error) {
		for i, r := range results {
			if r.Err != nil {
				again = append(again, batch[i])
			}
		}
		return again, nil
	})
}

// hopes that a store that was slow has not written.
func hopes(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, func(ctx context.Context, batch []record) ([]result, error) {
		results, err := call(ctx, batch)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errStoreDown
		}
		return results, err
	}, batch, rest)
}

func keepsLast(ctx context.Context, call store, batch []record) error {
	return repeatPut(ctx, call, batch, func(batch []record, results []result) (again []record, refused error) {
		for i, r := range results {
			switch {
			case r.Err != nil && passing(r.Err):
				again = []record{batch[i]}
			case r.Err != nil:
				refused = fmt.Errorf("record %s: %w", r.ID, r.Err)
			}
		}
		return again, refused
	})
}
