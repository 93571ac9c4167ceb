package streaming_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/agentloop"
	"github.com/rehearse-go/rehearse/examples/internal/speaker"
	"github.com/rehearse-go/rehearse/examples/streaming"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var adapter = faultsim.Adapter{
	Name:   "stream an answer",
	Policy: invariants.Policy{ID: "one try/v1", MaxAttempts: 1, Attempt: 5 * time.Second, Repeatable: true},
	Loop: &invariants.Loop{
		ID:    "weather/v1",
		Turns: 6,
		Tools: []string{"weather"},
		Model: invariants.Policy{
			ID: "two tries/v1", MaxAttempts: 2, Attempt: 30 * time.Second, Retry: []trace.Class{trace.Transient},
			Backoff: invariants.Backoff{Base: 500 * time.Millisecond}, Late: invariants.LateWait, Repeatable: true,
		},
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		model := s.Model("model", faultsim.Script{
			Steps: []faultsim.Step{
				faultsim.AskFor("weather", streaming.Query{City: "Pune"}),
				faultsim.Say("It is 19 °C in Pune."),
			},
			Streams: true,
			Errors: faultsim.Errors{
				trace.Transient: streaming.ErrUnavailable,
				trace.Forbidden: errors.New("no access"),
			},
		})
		a := &streaming.Assistant{
			Model: func(ctx context.Context, talk []agentloop.Message, words func(string) error) (agentloop.Turn, error) {
				said, err := model.Stream(ctx, speaker.Speaker{Tools: []string{"weather"}}.Prompt(talk), func(p trace.Piece) error {
					if p.Text == "" {
						return nil
					}
					return words(p.Text)
				})
				return speaker.Turn(said), err
			},
			Weather: faultsim.Tool(s, "weather", func(context.Context, streaming.Query) (string, error) { return "19 °C", nil },
				faultsim.Errors{trace.Transient: errors.New("service unavailable"), trace.Invalid: errors.New("no such city")}),
			Show: s.Say,
		}
		return func(ctx context.Context) (any, error) { return nil, a.Run(ctx, "How warm is it in Pune?") }
	},
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
