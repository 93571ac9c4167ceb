// Package job refunds by jobs that outlive the worker's process. A job is
// written down before its first attempt, with its key and its amount, and again
// before and after each attempt: so a worker that starts knows how many attempts
// there were, when the next one is due, and that one may have been under way.
// A worker that is told to stop cuts its attempt off, which counts, begins none,
// and leaves the job to the next one.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// A Refund is what the bank is asked to do.
type Refund struct {
	Key     string `json:"idempotencyKey"`
	Payment string `json:"payment"`
	Cents   int64  `json:"cents"`
}

// A Receipt is the bank's proof.
type Receipt struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

// ErrStopping is what a worker returns that was told to stop: the job is written
// down, and the next worker goes on with it.
var ErrStopping = errors.New("job: the worker is told to stop")

// The bank's errors.
var (
	ErrBusy     = errors.New("bank: too many requests")
	ErrLost     = errors.New("bank: connection lost")
	ErrRejected = errors.New("bank: there is nothing to refund")
)

// A Store keeps bytes under keys. What it has taken is durable. A key that is
// not there is fs.ErrNotExist.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// A Worker does jobs. One job is done by one caller at a time.
type Worker struct {
	Store  Store
	Refund func(context.Context, Refund) (Receipt, error)

	// Stopping ends when the process is told to stop, as the context of
	// signal.NotifyContext does. Nil: it never is.
	Stopping context.Context
}

const (
	attempts = 4
	base     = 500 * time.Millisecond
	timeout  = 5 * time.Second // of one attempt
)

// A job is what is written down.
type job struct {
	ID       string
	Refund   Refund
	Attempts int       // begun
	Next     time.Time // the next one begins no earlier
	InFlight bool      // one has begun, and its answer is not written down
	Failure  string    // of the latest attempt that was answered
	Over     bool
	Receipt  *Receipt // nil: the bank has not refunded, as far as is known
}

func (j *job) key() string { return "job/" + j.ID }

// Do refunds the payment under the job's id. The same id is the same job: a
// caller that got no answer asks again.
func (w Worker) Do(ctx context.Context, id, payment string, cents int64) (Receipt, error) {
	j, err := w.load(ctx, "job/"+id)
	if errors.Is(err, fs.ErrNotExist) {
		j, err = &job{ID: id, Refund: Refund{Key: "refund-" + id, Payment: payment, Cents: cents}}, nil
	}
	if err != nil {
		return Receipt{}, err
	}
	return w.finish(ctx, j)
}

// Resume goes on with all that a process before this one has left unfinished.
// Call it when the worker starts.
func (w Worker) Resume(ctx context.Context) error {
	keys, err := w.Store.List(ctx, "job/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		j, err := w.load(ctx, key)
		if err != nil {
			return err
		}
		if j.Over {
			continue
		}
		if _, err := w.finish(ctx, j); errors.Is(err, ErrStopping) {
			return err
		} // how else it went is written down
	}
	return ctx.Err()
}

// finish brings the job to its end. A caller that leaves cancels it.
func (w Worker) finish(ctx context.Context, j *job) (Receipt, error) {
	var cause error
	for !j.Over {
		if j.Attempts == attempts { // and a crash came before that was written down
			if err := w.save(ctx, j, true); err != nil {
				return Receipt{}, err
			}
			break
		}
		err := w.until(ctx, func(ctx context.Context) error { return sleep(ctx, time.Until(j.Next)) })
		if w.stops(ctx) {
			return Receipt{}, ErrStopping
		}
		if err != nil {
			j.Failure = err.Error()
			return Receipt{}, errors.Join(err, cause, w.save(ctx, j, true))
		}
		j.Attempts, j.InFlight = j.Attempts+1, true
		if err := w.save(ctx, j, false); err != nil {
			return Receipt{}, err
		}
		var receipt Receipt
		if receipt, cause = w.once(ctx, j.Refund); cause != nil && w.stops(ctx) && errors.Is(cause, context.Canceled) {
			return Receipt{}, ErrStopping // it is written down as in flight, and counts
		}
		if cause == nil {
			j.Receipt = &receipt
		} else {
			j.Failure, j.Next = cause.Error(), time.Now().Add(base<<(j.Attempts-1))
		}
		j.InFlight = false
		if err := w.save(ctx, j, cause == nil || j.Attempts == attempts || errors.Is(cause, ErrRejected) || ctx.Err() != nil); err != nil {
			return Receipt{}, errors.Join(err, cause)
		}
	}
	switch {
	case j.Receipt != nil:
		return *j.Receipt, nil
	case j.InFlight:
		return Receipt{}, fmt.Errorf("job %s: the process died under attempt %d, and what became of it is not known", j.ID, j.Attempts)
	case cause == nil: // an earlier process gave it up
		return Receipt{}, fmt.Errorf("job %s: given up after %d attempts: %s", j.ID, j.Attempts, j.Failure)
	}
	return Receipt{}, fmt.Errorf("job %s: given up after %d attempts: %w", j.ID, j.Attempts, cause)
}

// once is one attempt, under a time limit of its own.
func (w Worker) once(ctx context.Context, r Refund) (receipt Receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = w.until(ctx, func(ctx context.Context) error {
		receipt, err = w.Refund(ctx, r)
		return err
	})
	return receipt, err
}

// until runs do in a context that ends as well when the worker has to stop.
func (w Worker) until(ctx context.Context, do func(context.Context) error) error {
	if w.Stopping == nil {
		return do(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.Stopping, cancel)()
	return do(ctx)
}

// stops reports whether the worker has to stop, and not because its caller leaves.
func (w Worker) stops(ctx context.Context) bool {
	return w.Stopping != nil && w.Stopping.Err() != nil && ctx.Err() == nil
}

func (w Worker) load(ctx context.Context, key string) (*job, error) {
	raw, err := w.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	j := new(job)
	if err := json.Unmarshal(raw, j); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return j, nil
}

// save writes the job down, also where the caller has just left.
func (w Worker) save(ctx context.Context, j *job, over bool) error {
	j.Over = over
	raw, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return w.Store.Put(context.WithoutCancel(ctx), j.key(), raw)
}

// sleep waits, and not at all where ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
