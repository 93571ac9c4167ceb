package matrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// A fakeModel decides what the loop does next. What a real one does now and then
// it does with a chance, by the seed of its sample.
type fakeModel struct {
	dice     *rand.Rand
	mishears float64 // asks for another city
	strays   float64 // asks a tool that it has no leave for
	quits    float64 // gives up at a failure that passes
	nags     float64 // asks once more after a refusal
	invents  float64 // answers without having asked
}

func (m *fakeModel) happens(chance float64) bool { return m.dice.Float64() < chance }

// A move is what the model wants: a call, or the end.
type move struct {
	tool string // empty: the end
	city string
	wait time.Duration
}

func (m *fakeModel) first() move {
	next := move{tool: "weather", city: "Pune"}
	if m.happens(m.mishears) {
		next.city = "Puno"
	}
	if m.happens(m.strays) {
		next.tool = "scraper"
	}
	if m.happens(m.invents) {
		next.tool = ""
	}
	return next
}

// after is the move after a failure.
func (m *fakeModel) after(last move, err error) move {
	passing := errors.Is(err, errs[trace.Transient])
	if passing && !m.happens(m.quits) || !passing && m.happens(m.nags) {
		last.wait = 100 * time.Millisecond
		return last
	}
	return move{}
}

// converse is the loop that the model drives. It bounds the model, and decides nothing.
func converse(ctx context.Context, m *fakeModel, tools map[string]func(context.Context, args) (int, error)) (int, error) {
	next, err := m.first(), error(nil)
	degrees := 25 // what an invented answer says
	for n := 0; n < 3 && next.tool != ""; n++ {
		select {
		case <-time.After(next.wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if degrees, err = tools[next.tool](ctx, args{City: next.city}); err == nil {
			return degrees, nil
		}
		next = m.after(next, err)
	}
	return degrees, err
}

// model plugs in the loop with a model of that character.
func model(character fakeModel) func(sample int) faultsim.Adapter {
	return func(sample int) faultsim.Adapter {
		return faultsim.Adapter{
			Name: "assistant", Allowed: []string{"weather"},
			Policy: invariants.Policy{
				ID: "assistant/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient}, Repeatable: true,
				Backoff: invariants.Backoff{Base: 100 * time.Millisecond, Cap: 100 * time.Millisecond},
			},
			Subject: func(s *faultsim.Stage) faultsim.Action {
				m := character
				m.dice = rand.New(rand.NewPCG(uint64(sample), 1))
				tools := map[string]func(context.Context, args) (int, error){}
				for _, name := range []string{"weather", "scraper"} {
					tools[name] = faultsim.Tool(s, name, func(context.Context, args) (int, error) { return 19, nil }, errs)
				}
				return func(ctx context.Context) (any, error) { return converse(ctx, &m, tools) }
			},
		}
	}
}

// kept are the rules that every sample must keep. That a failure is retried, and when,
// is up to the model.
func kept(c invariants.Contract) []invariants.Invariant {
	return []invariants.Invariant{
		invariants.AllowedTools(c.Allowed...), invariants.MaxAttempts(c.Policy.MaxAttempts),
		invariants.NoRetryAfter(trace.Forbidden, trace.Invalid), invariants.SameArguments(),
		invariants.StopAfterSuccess(), invariants.HonestEnding(),
	}
}

var weatherScenarios = []matrix.Scenario{
	{Name: "calm"},
	{Name: "unavailable", Schedule: faultsim.One(faultsim.Fail(trace.Transient))},
	{Name: "refused", Schedule: faultsim.One(faultsim.Fail(trace.Forbidden))},
}

var weatherSoft = []matrix.Soft{
	{Name: "asked for the city", Pass: askedForPune, AtLeast: 0.8},
	{Name: "tried again", Pass: triedAgain, AtLeast: 0.5, In: []string{"unavailable"}},
}

func askedForPune(tr *trace.Trace) bool {
	for at := range tr.Attempts() {
		var in struct{ City string }
		return json.Unmarshal(at.Args, &in) == nil && in.City == "Pune"
	}
	return false
}

func triedAgain(tr *trace.Trace) bool { return tr.Metrics().Attempts > 1 }

// sampled is the usual samples of variants.
func sampled(n int, variants ...matrix.Variant) matrix.Samples {
	return matrix.Samples{Scenarios: weatherScenarios, Variants: variants, N: n, Hard: kept, Soft: weatherSoft}
}

// Characters. The careful one does all that is wanted, and the steady one nearly
// always.
var (
	careful    = fakeModel{}
	steady     = fakeModel{mishears: 0.05, quits: 0.1}
	distracted = fakeModel{mishears: 0.45, quits: 0.1}
)

func variant(name, version string, character fakeModel) matrix.Variant {
	return matrix.Variant{Name: name, Version: version, Adapter: model(character)}
}
