package assistant_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/assistant"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// Habits are the chances with which a made-up model does what a real one does now
// and then.
type habits struct {
	mishears float64 // asks for another city
	strays   float64 // asks a tool that it has no leave for
	quits    float64 // gives up at a failure that passes
	nags     float64 // asks again after a refusal
	drifts   float64 // changes the arguments of a retry
	restless float64 // asks again after an answer
}

// model is such a model, with the dice of one sample.
func (h habits) model(sample int) assistant.Model {
	dice := rand.New(rand.NewPCG(uint64(sample), 20))
	happens := func(chance float64) bool { return dice.Float64() < chance }
	return func(seen []assistant.Seen) assistant.Move {
		next := assistant.Move{Tool: "weather", Query: assistant.Query{City: "Pune"}}
		if happens(h.mishears) {
			next.Query.City = "Puno"
		}
		if happens(h.strays) {
			next.Tool = "scraper"
		}
		if len(seen) == 0 {
			return next
		}
		last := seen[len(seen)-1]
		again := happens(h.restless)
		switch {
		case errors.Is(last.Err, assistant.ErrUnavailable):
			again = !happens(h.quits)
		case last.Err != nil:
			again = happens(h.nags)
		}
		if !again {
			return assistant.Move{}
		}
		if next = last.Move; happens(h.drifts) {
			next.Query.City += ", India"
		}
		return next
	}
}

// Two versions of one model. The later one hears better, and is harder to stop.
var (
	october  = habits{mishears: 0.1, strays: 0.03, quits: 0.1, nags: 0.1, drifts: 0.05, restless: 0.05}
	november = habits{mishears: 0.02, strays: 0.1, quits: 0.02, nags: 0.5, drifts: 0.2, restless: 0.2}
)

var policy = invariants.Policy{
	ID: "assistant/v1", MaxAttempts: 3, Repeatable: true,
	Retry:   []trace.Class{trace.Transient},
	Backoff: invariants.Backoff{Base: 100 * time.Millisecond, Factor: 1},
}

var failures = faultsim.Errors{trace.Transient: assistant.ErrUnavailable, trace.Forbidden: assistant.ErrForbidden}

// driven plugs in the loop with one sample of a model.
func driven(h habits, trusting bool) func(sample int) faultsim.Adapter {
	return func(sample int) faultsim.Adapter {
		return faultsim.Adapter{
			Name: "assistant", Policy: policy, Allowed: []string{"weather"},
			Subject: func(s *faultsim.Stage) faultsim.Action {
				tool := func(name string) assistant.Tool {
					return faultsim.Tool(s, name, func(context.Context, assistant.Query) (assistant.Forecast, error) {
						return assistant.Forecast{Celsius: 19}, nil
					}, failures)
				}
				a := assistant.Assistant{
					Model: h.model(sample), Tools: map[string]assistant.Tool{"weather": tool("weather"), "scraper": tool("scraper")},
					Allowed: []string{"weather"}, MaxCalls: policy.MaxAttempts, Wait: 100 * time.Millisecond, Trusting: trusting,
				}
				return func(ctx context.Context) (any, error) { return a.Ask(ctx) }
			},
		}
	}
}

// samples are the scenarios that both versions meet, and what is asked of them:
// rules of every sample, and of most that they hear right and try again.
func samples(trusting bool) matrix.Samples {
	down := faultsim.Fail(trace.Transient)
	return matrix.Samples{
		N: 60,
		Scenarios: []matrix.Scenario{
			{Name: "calm"},
			{Name: "unavailable", Schedule: faultsim.One(down)},
			{Name: "down", Schedule: faultsim.One(down, down, down, down)},
			{Name: "refused", Schedule: faultsim.One(faultsim.Fail(trace.Forbidden))},
		},
		Variants: []matrix.Variant{
			{Name: "model", Version: "2026-10", Adapter: driven(october, trusting)},
			{Name: "candidate", Version: "2026-11", Adapter: driven(november, trusting), Replaces: "model"},
		},
		Hard: func(c invariants.Contract) []invariants.Invariant {
			return []invariants.Invariant{
				invariants.AllowedTools(c.Allowed...), invariants.MaxAttempts(c.Policy.MaxAttempts),
				invariants.NoRetryAfter(trace.Forbidden), invariants.SameArguments(),
				invariants.StopAfterSuccess(), invariants.HonestEnding(),
			}
		},
		Soft: []matrix.Soft{
			{Name: "asked for Pune", Pass: askedFor("Pune"), AtLeast: 0.7},
			{Name: "tried again", Pass: triedAgain, AtLeast: 0.5, In: []string{"unavailable", "down"}},
		},
	}
}

// askedFor passes a sample whose first call asks for the city, however the model
// words it.
func askedFor(city string) func(*trace.Trace) bool {
	return func(tr *trace.Trace) bool {
		for at := range tr.Attempts() {
			var q assistant.Query
			return json.Unmarshal(at.Args, &q) == nil && q.City == city
		}
		return false
	}
}

func triedAgain(tr *trace.Trace) bool { return tr.Metrics().Attempts > 1 }

// Whatever the model does, the loop keeps the rules; and the candidate is no worse.
func TestModels(t *testing.T) { matrix.Sample(t, samples(false)) }

// The same samples without the loop's own word break the rules that it is there for.
func TestALoopThatTrustsItsModelBreaksTheRules(t *testing.T) {
	got, err := matrix.PlaySamples(t, samples(true))
	require.NoError(t, err)
	broken := map[string]bool{}
	for _, c := range got.Cells {
		for _, b := range c.Broken {
			broken[b.Finding.Invariant] = true
		}
	}
	require.Equal(t, map[string]bool{
		"allowed-tools": true, "no-retry-after-refusal": true, "same-arguments": true, "stop-after-success": true,
	}, broken)
}
