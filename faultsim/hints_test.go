package faultsim_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tool whose throttled answers carry hints, and whose other failures do not.
func TestOnlyAnswersThatCanCarryAHintAreDrawnWithOne(t *testing.T) {
	a := home(3)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		tool := faultsim.Tool(s, "weather", func(ctx context.Context, city string) (int, error) { return 19, nil },
			faultsim.Errors{trace.Transient: errBusy, trace.NotFound: faultsim.Hinted(func(time.Duration) error { return errors.New("gone") })})
		return func(ctx context.Context) (any, error) { return retry(ctx, tool, "Pune", 3) }
	}
	faultsim.Check(t, a)
}

func TestRouteAsksForWaitsOnlyInItsForms(t *testing.T) {
	a := home(1)
	a.Policy.Attempt = 0
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "api", Hints: []faultsim.HintForm{faultsim.HintDate}})
		return func(ctx context.Context) (any, error) {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test/", nil)
			resp, err := client.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return nil, errors.New(resp.Status)
			}
			var answer map[string]any
			return nil, json.NewDecoder(resp.Body).Decode(&answer)
		}
	}
	_, can, err := faultsim.Tools(t, a)
	require.NoError(t, err)
	hint := faultsim.Throttle(2 * time.Second)
	assert.False(t, can(hint), "seconds")
	hint.Form = faultsim.HintMillis
	assert.False(t, can(hint), "milliseconds")
	hint.Form = faultsim.HintDate
	assert.True(t, can(hint), "a date")
	assert.True(t, can(faultsim.Fail(trace.Throttled)), "no hint")
	for _, c := range []trace.Class{trace.Reset, trace.NotConnected, trace.Timeout} {
		hint.Class = c
		assert.False(t, can(hint), "%v is no answer, so nothing asks for a wait", c)
	}
	faultsim.Check(t, a)
}
