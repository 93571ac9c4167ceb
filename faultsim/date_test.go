package faultsim_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

// An HTTP-date falls on a whole second, which is up to a second later than the
// wait that was planned. It can be read against the caller's own clock or
// against the answer's Date; both are right, and a second less is not.
func TestHTTPDateIsJudgedByWhatItSays(t *testing.T) {
	own := func(*http.Response) time.Time { return time.Now() }
	date := func(resp *http.Response) time.Time {
		at, _ := http.ParseTime(resp.Header.Get("Date"))
		return at
	}
	early := func(resp *http.Response) time.Time { return time.Now().Add(time.Second) }

	for name, c := range map[string]struct {
		now   func(*http.Response) time.Time
		wait  time.Duration
		finds bool
	}{
		"own clock":      {own, 2700 * time.Millisecond, false},
		"the Date":       {date, 3 * time.Second, false},
		"a second early": {early, 1700 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := faultsim.Adapter{
				Name: "get",
				Policy: invariants.Policy{ID: "date/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Throttled}, Repeatable: true,
					Hint: invariants.Hint{Use: invariants.HintReplace}},
				Subject: func(s *faultsim.Stage) faultsim.Action {
					client := s.Client(faultsim.Route{Tool: "api"})
					return func(ctx context.Context) (any, error) { return nil, getAtDate(ctx, client, c.now) }
				},
			}
			r := faultsim.Trial(t, a, faultsim.One(faultsim.Fault{
				Class: trace.Throttled, Hint: 2 * time.Second, Form: faultsim.HintDate, Latency: 300 * time.Millisecond}))
			assert.NoError(t, r.Err)
			assert.Equal(t, c.wait, r.Trace.Actions()[0].Attempts[1].Gap)
			assert.Equal(t, c.finds, len(r.Findings) > 0, "%v", r.Findings)
		})
	}
}

func getAtDate(ctx context.Context, client *http.Client, now func(*http.Response) time.Time) error {
	for {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test/", nil)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		due, err := http.ParseTime(resp.Header.Get("Retry-After"))
		if err != nil {
			return err
		}
		time.Sleep(due.Sub(now(resp)))
	}
}
