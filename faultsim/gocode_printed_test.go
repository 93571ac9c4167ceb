package faultsim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// printed_test.go is printed code that is compiled as any other; this file is what
// somebody writes around it.

func TestPrintedSchedulesMeanTheirText(t *testing.T) {
	require.NotEmpty(t, printedSchedules)
	for text, s := range printedSchedules {
		want, err := faultsim.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, s, text)
	}
}

// printedAdapter calls until the tool answers, at most three times.
func printedAdapter() faultsim.Adapter {
	errBusy := errors.New("busy")
	return faultsim.Adapter{
		Name: "printed",
		Policy: invariants.Policy{
			ID: "printed/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient, trace.Throttled}, Repeatable: true,
			Backoff: invariants.Backoff{Base: time.Second}, Hint: invariants.Hint{Use: invariants.HintIgnore},
		},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			call := faultsim.Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
				faultsim.Errors{trace.Transient: errBusy, trace.Throttled: faultsim.Hinted(func(time.Duration) error { return errBusy })})
			return func(ctx context.Context) (any, error) {
				wait := time.Second
				for n := 1; ; n++ {
					v, err := call(ctx, "Pune")
					if err == nil || n == 3 || ctx.Err() != nil {
						return v, err
					}
					time.Sleep(wait)
					wait *= 2
				}
			}
		},
	}
}
