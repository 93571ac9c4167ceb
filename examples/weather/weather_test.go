package weather_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/weather"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// policy is the contract that the agent's documentation gives.
var policy = invariants.Policy{
	ID:          "weather/v1",
	MaxAttempts: 3,
	Attempt:     5 * time.Second,
	Retry:       []trace.Class{trace.Transient, trace.Timeout},
	Backoff:     invariants.Backoff{Base: 100 * time.Millisecond},
	Late:        invariants.LateWait,
	Repeatable:  true,
}

var failures = faultsim.Errors{
	trace.Transient: weather.ErrUnavailable,
	trace.Invalid:   weather.ErrInvalid,
	trace.Forbidden: weather.ErrForbidden,
}

func adapter() faultsim.Adapter {
	return faultsim.Adapter{
		Name:   "forecast",
		Policy: policy,
		Subject: func(s *faultsim.Stage) faultsim.Action {
			agent := weather.New(faultsim.Tool(s, "weather", answer, failures))
			return func(ctx context.Context) (any, error) { return agent.Forecast(ctx, "Pune") }
		},
		Attempts: func(err error) int {
			if e, ok := errors.AsType[*weather.Error](err); ok {
				return e.Attempts
			}
			return 0
		},
	}
}

func answer(context.Context, weather.Query) (weather.Forecast, error) {
	return weather.Forecast{Celsius: 19}, nil
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter()) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter()) }

func TestWouldNotice(t *testing.T) { faultsim.Sabotage(t, adapter()) }
