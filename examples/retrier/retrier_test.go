package retrier_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/retrier"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var adapter = faultsim.Retrier("retrier.Do", invariants.Policy{
	ID:          "retrier/v1",
	MaxAttempts: 3,
	Retry:       []trace.Class{trace.Transient, trace.Timeout},
	Backoff:     invariants.Backoff{Base: 200 * time.Millisecond, Jitter: invariants.FullJitter},
	Late:        invariants.LateWait,
	Repeatable:  true,
}, faultsim.Errors{
	trace.Transient: errors.New("upstream unavailable"),
	trace.Timeout:   errors.New("no answer in time"),
	trace.Invalid:   &retrier.Final{Err: errors.New("no such city")},
	trace.Forbidden: &retrier.Final{Err: errors.New("permission denied")},
}, retrier.Do[int])

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
