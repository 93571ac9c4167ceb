package calendar_test

import (
	"context"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/calendar"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
)

var review = calendar.Event{Title: "Release review", StartsAt: time.Date(2026, 7, 14, 9, 0, 0, 0, time.UTC)}

var adapter = faultsim.Adapter{
	Name: "create event",
	Policy: invariants.Policy{
		ID:          "calendar/v1",
		MaxAttempts: 3,
		Attempt:     10 * time.Second,
		Retry:       []trace.Class{trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected},
		Backoff:     invariants.Backoff{Base: 200 * time.Millisecond},
		Hint:        invariants.Hint{Limit: time.Minute},
		Late:        invariants.LateWait,
		Key:         "Idempotency-Key",
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		client := calendar.Client{
			HTTP: s.Client(faultsim.Route{Tool: "events", Method: "POST", Path: "/v1/events", Answer: scripted.JSON(201, map[string]string{"id": "evt-9"})}),
			URL:  "https://calendar.test/v1/events",
		}
		return func(ctx context.Context) (any, error) { return client.Create(ctx, review) }
	},
	Want: "evt-9",
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
