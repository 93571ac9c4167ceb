package faultsim_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var (
	errUnavailable = errors.New("weather: unavailable")
	errNoSuchCity  = errors.New("weather: no such city")
)

// forecast is the code under test: it asks a tool up to three times.
func forecast(ctx context.Context, weather func(context.Context, string) (int, error), city string) (int, error) {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		celsius, err := weather(ctx, city)
		if err == nil || n == 3 || !errors.Is(err, errUnavailable) {
			return celsius, err
		}
		timer := time.NewTimer(100 * time.Millisecond << (n - 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}

// forecasts plugs it in: what it promises, and how it is built on the stage.
func forecasts() faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast",
		Policy: invariants.Policy{
			ID: "weather/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient},
			Backoff: invariants.Backoff{Base: 100 * time.Millisecond},
			Late:    invariants.LateWait, Repeatable: true,
		},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			weather := faultsim.Tool(s, "weather",
				func(context.Context, string) (int, error) { return 19, nil },
				faultsim.Errors{trace.Transient: errUnavailable, trace.Invalid: errNoSuchCity})
			return func(ctx context.Context) (any, error) { return forecast(ctx, weather, "Pune") }
		},
	}
}

// The property: no fault that the tool can have makes the code break its promise.
func TestForecastUnderFaults(t *testing.T) { faultsim.Check(t, forecasts()) }

// The same question of the test itself: would it have noticed?
func TestForecastWouldBeNoticed(t *testing.T) { faultsim.Sabotage(t, forecasts()) }

// What a test by hand is blind for, as data.
func TestForecastGivesUpAfterThreeAttemptsAndSaysNothingOfWaits(t *testing.T) {
	busy := faultsim.Fail(trace.Transient)
	o, err := faultsim.ExploreSabotage(t, forecasts(), faultsim.Test{
		Schedules: []faultsim.Schedule{faultsim.One(busy, busy, busy), faultsim.One(busy)},
		Judge: func(tr *trace.Trace) error {
			if a := tr.Actions()[0]; a.Error != "" && len(a.Attempts) != 3 {
				return fmt.Errorf("gave up after %d attempts", len(a.Attempts))
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, sin := range o.Sins {
		switch sin.Name {
		case "gives-up-early":
			if sin.Blind() {
				t.Error("the test counts the attempts of a failure")
			}
		case "wait-cut-short", "result-dropped":
			if !sin.Blind() {
				t.Errorf("%s was noticed by %v", sin.Name, sin.By)
			}
		}
	}
}

// What the trials must have met: of each label a part of them. A rule that never
// applies fails the run without being asked for.
func TestForecastMeetsWhatMatters(t *testing.T) {
	a := forecasts()
	a.Label = func(tr *trace.Trace) []string {
		for at := range tr.Attempts() {
			if at.N == 3 && at.Outcome.Class == trace.OK {
				return []string{"saved by the last attempt"}
			}
		}
		return nil
	}
	a.Require = map[string]float64{
		"saved by the last attempt": 0.02,
		"streak 3":                  0.05,
		"cancel in backoff":         0.02,
	}
	faultsim.Check(t, a)
}

// One situation, written down.
func TestForecastGivesUpAfterThreeAttempts(t *testing.T) {
	busy := faultsim.Fail(trace.Transient)
	tr := faultsim.Run(t, forecasts(), faultsim.One(busy, busy, busy))
	if n := len(tr.Actions()[0].Attempts); n != 3 {
		t.Errorf("%d attempts", n)
	}
}

// The same over HTTP: routes are tools, and failures are responses.
func TestForecastOverHTTP(t *testing.T) {
	a := forecasts()
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "weather", Path: "/weather"})
		return func(ctx context.Context) (any, error) {
			return forecast(ctx, func(ctx context.Context, city string) (int, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.example/weather?city="+city, nil)
				if err != nil {
					return 0, err
				}
				resp, err := client.Do(req)
				if err != nil {
					return 0, err
				}
				defer resp.Body.Close()
				switch resp.StatusCode {
				case http.StatusOK:
					return 19, nil
				case http.StatusServiceUnavailable:
					return 0, errUnavailable
				}
				return 0, errNoSuchCity
			}, "Pune")
		}
	}
	busy := faultsim.Fail(trace.Transient)
	faultsim.Run(t, a, faultsim.One(busy, busy))
	faultsim.Run(t, a, faultsim.One(faultsim.Fail(trace.Invalid)))
}
