package faulty_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/weather"
	"github.com/rehearse-go/rehearse/examples/weather/faulty"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var adapter = faultsim.Adapter{
	Name: "forecast",
	Policy: invariants.Policy{
		ID:          "weather/v1",
		MaxAttempts: 3,
		Attempt:     5 * time.Second,
		Retry:       []trace.Class{trace.Transient, trace.Timeout},
		Backoff:     invariants.Backoff{Base: 100 * time.Millisecond},
		Late:        invariants.LateWait,
		Repeatable:  true,
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "weather", answer, faultsim.Errors{
			trace.Transient: weather.ErrUnavailable,
			trace.Invalid:   weather.ErrInvalid,
			trace.Forbidden: weather.ErrForbidden,
		})
		return func(ctx context.Context) (any, error) { return faulty.Forecast(ctx, tool, "Pune") }
	},
}

func answer(context.Context, weather.Query) (weather.Forecast, error) {
	return weather.Forecast{Celsius: 19}, nil
}

// TestFaults and TestMatrix fail: the tests below look at how.
func TestFaults(t *testing.T) {
	if selftest.Active() {
		faultsim.Check(t, adapter)
	}
}

func TestMatrix(t *testing.T) {
	if selftest.Active() {
		matrix.Run(t, adapter)
	}
}

func TestAFailedPropertyReadsWell(t *testing.T) { golden(t, "TestFaults", "property.golden") }

func TestAFailedMatrixReadsWell(t *testing.T) { golden(t, "TestMatrix", "matrix.golden") }

// The case that the failed property saved is replayed first the next time.
func TestASavedCaseIsReplayed(t *testing.T) {
	dir := t.TempDir()
	first, passed := selftest.Run(t, dir, "TestFaults")
	require.False(t, passed)
	saved, err := filepath.Glob(filepath.Join(dir, "testdata/rehearse/TestFaults/*.case"))
	require.NoError(t, err)
	require.Len(t, saved, 1, first)
	second, passed := selftest.Run(t, dir, "TestFaults")
	require.False(t, passed)
	require.Contains(t, second, "saved case testdata/rehearse/TestFaults/"+filepath.Base(saved[0]))
}

// golden compares what a failing test prints.
func golden(t *testing.T, test, file string) {
	t.Helper()
	out, passed := selftest.Run(t, t.TempDir(), test)
	require.False(t, passed)
	gold.Equal(t, filepath.Join("testdata", file), out)
}
