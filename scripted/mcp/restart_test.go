package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rehearse-go/rehearse/examples/job"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/rehearse-go/rehearse/trace"
)

// A client whose process dies and comes back, and goes on with what it finds on
// its disk: the worker of examples/job, whose bank is behind an MCP server.

func bank(_ context.Context, args json.RawMessage) (mcp.Result, error) {
	var r job.Refund
	if err := json.Unmarshal(args, &r); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Structured(job.Receipt{ID: "rcpt-" + r.Payment, Cents: r.Cents}), nil
}

func newWorker(s *faultsim.Stage) job.Worker {
	server := mcp.Serve(s, mcp.StageTool{Name: "refund", Fake: bank, Failures: faultsim.Errors{
		trace.Throttled:    mcp.ToolError("throttled", "there were too many requests"),
		trace.Invalid:      mcp.ProtocolError(jsonrpc.CodeInvalidParams, "there is nothing to refund"),
		trace.Reset:        mcp.ErrLost,
		trace.NotConnected: mcp.ErrNotSent,
	}})
	client := newClient()
	server.Watch(client)
	a := newAgent(client, server.Transport)
	s.Close(a.close)
	return job.Worker{Store: s.Disk(), Refund: func(ctx context.Context, r job.Refund) (job.Receipt, error) {
		return refundBy(ctx, a, r)
	}}
}

// refundBy makes one attempt, over the agent's session.
func refundBy(ctx context.Context, a *agent, r job.Refund) (receipt job.Receipt, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return receipt, err
	}
	res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "refund", Arguments: r})
	if err == nil && !res.IsError {
		return receipt, unmarshalAny(res.StructuredContent, &receipt)
	}
	if err == nil {
		return receipt, fmt.Errorf("%w: %s", job.ErrBusy, words(res))
	}
	_, err = a.failed(ctx, s, err)
	if errors.Is(err, errRefused) {
		err = fmt.Errorf("%w: %w", job.ErrRejected, err)
	}
	return receipt, err
}

var refunding = faultsim.Adapter{
	Name: "refund",
	Policy: invariants.Policy{
		ID: "refund-mcp/v1", MaxAttempts: 4, Attempt: 5 * time.Second,
		Retry:   []trace.Class{trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected},
		Backoff: invariants.Backoff{Base: 500 * time.Millisecond},
		Late:    invariants.LateWait, Key: "idempotencyKey", Restart: invariants.RestartResumes,
	},
	Session: &invariants.Session{},
	Subject: func(s *faultsim.Stage) faultsim.Action {
		w := newWorker(s)
		return func(ctx context.Context) (any, error) { return w.Do(ctx, trace.ActionName(ctx), "payment-7", 4200) }
	},
	Resume: func(s *faultsim.Stage) faultsim.Action {
		w := newWorker(s)
		return func(ctx context.Context) (any, error) {
			if err := w.Resume(ctx); err != nil {
				return nil, err
			}
			return w.Do(ctx, trace.ActionName(ctx), "payment-7", 4200)
		}
	},
	Want: job.Receipt{ID: "rcpt-payment-7", Cents: 4200},
}

func TestAClientThatRestarts(t *testing.T) {
	t.Run("matrix", func(t *testing.T) { matrix.Run(t, refunding) })
	faultsim.Check(t, refunding)
}
