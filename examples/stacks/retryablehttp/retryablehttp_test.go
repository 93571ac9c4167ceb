// Package retryablehttp_test holds hashicorp/go-retryablehttp (v0.7.8) to the
// policy that it really has, and pins where that is not what one may expect.
package retryablehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// Forecast is what the service answers.
type Forecast struct {
	Celsius int `json:"celsius"`
}

// service is the weather service. Its Retry-After comes in the two forms of RFC
// 9110, as that of any Route.
var service = faultsim.Route{
	Tool: "weather",
	Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"celsius":19}`)
	}),
}

// policy is what a client with RetryMax 2 does.
var policy = invariants.Policy{
	ID:          "retryablehttp/v0.7.8",
	MaxAttempts: 3, // RetryMax counts retries
	Retry: []trace.Class{
		trace.Transient, trace.Throttled, // baseRetryPolicy: 5xx but 501, and 429
		trace.Reset, trace.NotConnected, trace.Timeout, // … and every error of http.Client.Do
	},
	Backoff: invariants.Backoff{
		Base: time.Second,      // RetryWaitMin
		Cap:  30 * time.Second, // RetryWaitMax; DefaultBackoff doubles, without jitter
	},
	Hint: invariants.Hint{
		Use:     invariants.HintReplace,                          // DefaultBackoff returns Retry-After before it looks at min and max
		Classes: []trace.Class{trace.Throttled, trace.Transient}, // of 429 and 503 only
	},
	Late:       invariants.LateWait, // the deadline is not looked at before the wait
	Repeatable: true,                // a GET
}

// newClient is the construction; hc is what plugs it in.
func newClient(hc *http.Client) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = hc
	c.RetryMax = 2
	c.Logger = nil
	return c
}

func adapter() faultsim.Adapter {
	return faultsim.Adapter{
		Name:   "forecast",
		Policy: policy,
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := newClient(s.Client(service))
			return func(ctx context.Context) (any, error) { return get(ctx, client) }
		},
		Reason:   reason,
		Attempts: attempts,
		Trials:   10_000,
	}
}

func get(ctx context.Context, c *retryablehttp.Client) (Forecast, error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, "http://weather.test/pune", nil)
	if err != nil {
		return Forecast{}, err
	}
	return read(c.Do(req))
}

// statusError is an answer that the client hands through.
type statusError int

func (e statusError) Error() string { return "weather: " + strconv.Itoa(int(e)) }

func read(resp *http.Response, err error) (f Forecast, _ error) {
	if err != nil {
		return f, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return f, statusError(resp.StatusCode)
	}
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return f, fmt.Errorf("weather: %w", err)
	}
	return f, nil
}

// reason reads the client's errors as its callers can.
func reason(err error) trace.Reason {
	if status, ok := errors.AsType[statusError](err); ok {
		if status == http.StatusBadRequest {
			return trace.ReasonNeedsInput
		}
		return trace.ReasonRefused
	}
	switch {
	case errors.Is(err, context.Canceled):
		return trace.ReasonCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return trace.ReasonDeadline
	case strings.Contains(err.Error(), "giving up after"):
		return trace.ReasonExhausted
	}
	return trace.ReasonRefused
}

var count = regexp.MustCompile(`giving up after (\d+) attempt`)

// attempts reads the number off "GET http://… giving up after 3 attempt(s)".
func attempts(err error) int {
	if m := count.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter()) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter()) }
