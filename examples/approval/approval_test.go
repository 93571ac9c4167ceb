package approval_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/examples/agentloop"
	"github.com/rehearse-go/rehearse/examples/approval"
	"github.com/rehearse-go/rehearse/examples/internal/speaker"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

var adapter = faultsim.Adapter{
	Name:   "pay back",
	Policy: invariants.Policy{ID: "one try/v1", MaxAttempts: 1, Attempt: 5 * time.Second},
	Loop: &invariants.Loop{
		ID:        "refund/v1",
		Turns:     6,
		Intention: 1,
		Goal:      "refund",
		Tools:     []string{"refund"},
		Protected: []string{"refund.invoice", "refund.cents"},
		Approve:   []string{"refund"},
		Evidence:  []string{"R-77"},
		Model:     invariants.Policy{ID: "one try", MaxAttempts: 1},
	},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		ask := s.Approver("owner", time.Hour)
		agent := &approval.Agent{
			Model: speaker.Speaker{Tools: []string{"refund"}, Reply: s.Model("model", faultsim.Script{
				Steps: []faultsim.Step{
					faultsim.AskFor("refund", approval.Refund{Invoice: "7", Cents: 4200}),
					faultsim.Say("The money was paid back: R-77."),
				},
			}).Reply},
			Ask: func(ctx context.Context, c agentloop.Call) (approval.Leave, error) {
				a, err := ask(ctx, trace.ToolCall(c))
				return approval.Leave{Granted: a.Granted, Until: a.Expires}, err
			},
			Pay: faultsim.Tool(s, "refund", func(context.Context, approval.Refund) (string, error) { return "R-77", nil }, faultsim.Errors{
				trace.Transient: errors.New("service unavailable"),
				trace.Forbidden: fmt.Errorf("no such invoice: %w", approval.ErrRefused),
				trace.Reset:     errors.New("connection reset"),
			}),
		}
		faultsim.Tool(s, "payout", func(context.Context, any) (string, error) { return "", nil }, nil) // which nobody may call
		return func(ctx context.Context) (any, error) { return agent.Run(ctx, "Pay invoice 7 back, please.") }
	},
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter) }
