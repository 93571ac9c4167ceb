package nested_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/internal/speaker"
	"github.com/rehearse-go/rehearse/examples/nested"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var adapter = faultsim.Adapter{
	Name: "plan a trip",
	Policy: invariants.Policy{
		ID:          "flights/v1",
		MaxAttempts: 3,
		Attempt:     5 * time.Second,
		Retry:       []trace.Class{trace.Transient, trace.Timeout},
		Backoff:     invariants.Backoff{Base: 500 * time.Millisecond},
		Late:        invariants.LateWait,
		Repeatable:  true,
	},
	Loop: &invariants.Loop{
		ID:        "trip/v1",
		Turns:     6, // of each model
		Intention: 3,
		Attempts:  6, // over planner and researcher
		Goal:      "flights",
		Evidence:  []string{"LH 760"},
		Model:     invariants.Policy{ID: "one try", MaxAttempts: 1},
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		researcher := &nested.Researcher{
			Model: speaker.Speaker{Tools: []string{"flights"}, Reply: s.Model("researcher's model", faultsim.Script{
				Steps: []faultsim.Step{faultsim.AskFor("flights", nested.Question{To: "Pune"}), faultsim.Say("LH 760")},
			}).Reply},
			Flights: faultsim.Tool(s, "flights", func(context.Context, nested.Question) (string, error) { return "LH 760", nil },
				faultsim.Errors{trace.Transient: nested.ErrUnavailable, trace.Forbidden: nested.ErrForbidden}),
		}
		planner := &nested.Planner{
			Model: speaker.Speaker{Tools: []string{"research"}, Reply: s.Model("planner's model", faultsim.Script{
				Steps: []faultsim.Step{faultsim.AskFor("research", nested.Question{To: "Pune"}), faultsim.Say("You can take LH 760.")},
			}).Reply},
			Research: faultsim.Agent(s, "research", researcher.Research),
		}
		return func(ctx context.Context) (any, error) {
			return planner.Plan(nested.WithBudget(ctx), "I must be in Pune by Friday.")
		}
	},
	Reason: func(err error) trace.Reason {
		switch {
		case errors.Is(err, nested.ErrRefused):
			return trace.ReasonRefused
		case errors.Is(err, nested.ErrExhausted):
			return trace.ReasonExhausted
		}
		return 0
	},
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
