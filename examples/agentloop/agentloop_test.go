package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/agentloop"
	"github.com/rehearse-go/rehearse/examples/internal/speaker"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// attempts is how tools and model are tried again.
var attempts = invariants.Policy{
	ID:          "three attempts/v1",
	MaxAttempts: 3,
	Attempt:     5 * time.Second,
	Retry:       []trace.Class{trace.Throttled, trace.Transient, trace.Timeout},
	Backoff:     invariants.Backoff{Base: 500 * time.Millisecond},
	Hint:        invariants.Hint{Use: invariants.HintIgnore},
	Late:        invariants.LateWait,
	Repeatable:  true,
}

// policy is that of the search, which reads; a booking is repeated with its key.
func policy() invariants.Policy {
	p, book := attempts, attempts
	book.Repeatable, book.Key = false, "key"
	p.ID, p.Tools = "booking tools/v1", map[string]invariants.Policy{"book": book}
	return p
}

func model() invariants.Policy {
	p := attempts
	p.Attempt = 30 * time.Second
	return p
}

var adapter = faultsim.Adapter{
	Name:   "book a table",
	Policy: policy(),
	Loop: &invariants.Loop{
		ID:        "booking/v1",
		Turns:     8,
		Intention: 3,
		Goal:      "book",
		Tools:     []string{"search", "book"},
		Protected: []string{"book.table", "book.people"},
		Evidence:  []string{"B-1042"},
		Model:     model(),
	},
	Subject: driven(straight),
}

// What the model does for the booking.
var (
	search   = faultsim.AskFor("search", agentloop.Place{City: "Pune"})
	book     = faultsim.AskFor("book", agentloop.Order{Table: "7", People: 4})
	booked   = faultsim.Say("Your table is booked: B-1042.")
	straight = []faultsim.Step{search, book, booked}
)

// driven plugs in the loop with a model of that script.
func driven(steps []faultsim.Step) func(*faultsim.Stage) faultsim.Action {
	return func(s *faultsim.Stage) faultsim.Action {
		agent := &agentloop.Agent{
			Model: speaker.Speaker{Tools: []string{"search", "book"}, Reply: s.Model("model", faultsim.Script{
				Steps: steps, Errors: failures,
			}).Reply},
			Search: tool(s, "search", "tables 7 and 9"),
			Book:   tool(s, "book", "B-1042"),
		}
		faultsim.Tool(s, "cancel", func(context.Context, any) (string, error) { return "", nil }, nil) // which nobody may call
		return func(ctx context.Context) (any, error) { return agent.Run(ctx, "A table for four in Pune, please.") }
	}
}

var failures = faultsim.Errors{
	trace.Throttled: agentloop.ErrBusy,
	trace.Transient: agentloop.ErrUnavailable,
	trace.Invalid:   errors.New("bad request"),
	trace.Forbidden: errors.New("not allowed"),
}

// tool is a double of a tool that takes JSON.
func tool(s *faultsim.Stage, name, answer string) agentloop.Tool {
	return faultsim.Tool(s, name, func(context.Context, json.RawMessage) (string, error) { return answer, nil }, failures)
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }

// Models differ in what they do for the same request, and one that is sampled looks
// around now and then before it books. The contract holds in every sample; that it
// books at once is asked of most.
func TestSamples(t *testing.T) {
	matrix.Sample(t, matrix.Samples{
		N: 40,
		Scenarios: []matrix.Scenario{
			{Name: "calm"},
			{Name: "search is down once", Schedule: faultsim.One(faultsim.Fail(trace.Transient))},
		},
		Variants: []matrix.Variant{{Name: "model", Version: "2026-10", Adapter: func(sample int) faultsim.Adapter {
			dice, steps, a := rand.New(rand.NewPCG(uint64(sample), 1)), straight, adapter
			if dice.Float64() < 0.1 {
				steps = []faultsim.Step{search, faultsim.AskFor("search", agentloop.Place{City: "Mumbai"}), book, booked}
			}
			a.Subject = driven(steps)
			return a
		}}},
		Soft: []matrix.Soft{{Name: "books at once", AtLeast: 0.7, Pass: func(tr *trace.Trace) bool {
			asked := map[string]bool{}
			for at := range tr.Attempts() {
				asked[string(at.Args)] = at.Tool == "search"
			}
			return len(asked) == 2 // a place and an order
		}}},
	})
}
