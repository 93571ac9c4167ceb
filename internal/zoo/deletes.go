package zoo

import (
	"context"
	"errors"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that delete a file and meet what an attempt of their own has left.
func deletes() []Specimen {
	return []Specimen{
		{"gone-counts-as-failure", "The first delete was done and its reply lost, and the repeat fails because the file is gone.",
			testingRetries, "honest-ending", deleting(func(_ bool, err error) error { return err })},
		{"missing-counts-as-deleted", "Not found is read as deleted, also where the name was wrong from the first.",
			testingRetries, "honest-ending", deleting(func(_ bool, err error) error {
				if errors.Is(err, errNoFile) {
					return nil
				}
				return err
			})},
		{"own-conflict-reported-as-refusal", "The lock of the agent's own lost attempt is reported as a refusal, as if nothing had been done.",
			testingRetries, "conforms", conflicting(func(bool) trace.Reason { return trace.ReasonRefused })},
	}
}

type (
	removal struct{ File string }
	remove  = func(context.Context, removal) (struct{}, error)
)

var (
	errFilesDown   = errors.New("files: unavailable")
	errNoFile      = errors.New("files: no such file")
	errFileLocked  = errors.New("files: locked by a delete")
	errFileRefused = errors.New("files: permission denied")
)

// deletePolicy repeats a delete, and knows what it means when the file is gone.
func deletePolicy() invariants.Policy {
	return invariants.Policy{
		ID: "delete/v1", MaxAttempts: attempts, Attempt: limit, Repeatable: true,
		Retry: []trace.Class{trace.Transient, trace.Timeout}, Desired: []trace.Class{trace.NotFound},
		Backoff: invariants.Backoff{Base: base}, Late: invariants.LateWait,
	}
}

// deleting plugs in the right loop around a reading of its last error. unclear:
// an earlier attempt may have done its work.
func deleting(read func(unclear bool, err error) error) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "delete", Policy: deletePolicy(),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			del := faultsim.Tool[removal, struct{}](s, "files", nil, faultsim.Errors{
				trace.Transient: errFilesDown, trace.NotFound: errNoFile, trace.Conflict: errFileLocked, trace.Forbidden: errFileRefused,
			})
			return func(ctx context.Context) (any, error) { return nil, deletes7(ctx, del, read) }
		},
	}
}

func deletes7(ctx context.Context, del remove, read func(bool, error) error) error {
	wait, unclear := base, false
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := deleteOnce(ctx, del)
		again := errors.Is(err, errFilesDown) || errors.Is(err, context.DeadlineExceeded)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case !again:
			return read(unclear, err)
		case n == attempts:
			return err
		}
		unclear = true
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

func deleteOnce(ctx context.Context, del remove) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := del(ctx, removal{"/tmp/report-7"})
	return err
}

// goneIsDone knows that the file is gone because of an own attempt.
func goneIsDone(unclear bool, err error) error {
	if unclear && errors.Is(err, errNoFile) {
		return nil
	}
	return err
}

// A lockedError is the end on a conflict.
type lockedError struct {
	reason trace.Reason
	err    error
}

func (e *lockedError) Error() string { return "delete: " + e.err.Error() }
func (e *lockedError) Unwrap() error { return e.err }

// conflicting tells its caller what a conflict amounts to.
func conflicting(tell func(unclear bool) trace.Reason) faultsim.Adapter {
	a := deleting(func(unclear bool, err error) error {
		if errors.Is(err, errFileLocked) {
			return &lockedError{tell(unclear), err}
		}
		return goneIsDone(unclear, err)
	})
	a.Reason = func(err error) trace.Reason {
		if locked, ok := errors.AsType[*lockedError](err); ok {
			return locked.reason
		}
		return 0
	}
	return a
}

func ownIsUnknown(unclear bool) trace.Reason {
	if unclear {
		return trace.ReasonOutcomeUnknown
	}
	return trace.ReasonRefused
}
