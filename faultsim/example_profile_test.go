package faultsim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// The weather that the tool really has: short bursts of failures, answers of which
// some take long, and a caller in twenty who does not wait for them.
func TestForecastInItsUsualWeather(t *testing.T) {
	a := forecasts()
	a.Profile = &faultsim.Profile{
		Tools: map[string]faultsim.Behaviour{"weather": {
			Burst:   faultsim.BurstsOf(0.1, 3),
			Classes: faultsim.Weights{trace.Transient: 9, trace.Invalid: 1},
			Latency: faultsim.AtMost(time.Minute, faultsim.Lognormal(200*time.Millisecond, 0.8)),
			Outage:  faultsim.Downtimes{Share: 0.01, Length: faultsim.Exponential(10 * time.Second), Recovery: faultsim.Constant(5 * time.Second)},
		}},
		Actions: faultsim.Even(1, 4),
		Pause:   faultsim.Exponential(time.Second),
		Cancel:  faultsim.Cancels{Share: 0.05},
	}
	faultsim.Check(t, a)
}

// ExampleFit makes a profile of what was recorded of a tool: here one that answers
// every third call.
func ExampleFit() {
	r, calls := &trace.Recorder{}, 0
	weather := trace.Record(r, "weather", func(context.Context, string) (int, error) {
		if calls++; calls%3 > 0 {
			return 0, errUnavailable
		}
		return 19, nil
	})
	for range 20 {
		_, _ = trace.Do(context.Background(), r, "forecast", func(ctx context.Context) (int, error) {
			for {
				if celsius, err := weather(ctx, "Pune"); err == nil {
					return celsius, nil
				}
			}
		})
	}
	profile, err := faultsim.Fit(r.Trace())
	fmt.Printf("%#v, %v\n", profile.Tools["weather"].Streak, err)
	// Output: faultsim.Frequencies(0, 0, 1), <nil>
}
