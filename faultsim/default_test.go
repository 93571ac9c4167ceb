package faultsim_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// packageLevel is code that cannot be handed a client.
func packageLevel(serial bool) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "status", Serial: serial,
		Policy: invariants.Policy{ID: "status/v1", MaxAttempts: 1, Repeatable: true, Late: invariants.LateWait},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			s.ReplaceDefaultTransport(faultsim.Route{
				Tool: "status", Host: "status.test",
				Failures: map[trace.Class]http.Handler{trace.Malformed: nil}, // nobody reads the body
			})
			return func(ctx context.Context) (any, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://status.test/health", nil)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return nil, err
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return nil, fmt.Errorf("status %d", resp.StatusCode)
				}
				return "up", nil
			}
		},
	}
}

func TestDefaultTransportIsReplacedForTheTrial(t *testing.T) {
	before := http.DefaultTransport
	tr := faultsim.Run(t, packageLevel(true), faultsim.One(faultsim.Fail(trace.Transient)))
	require.Len(t, tr.Actions()[0].Attempts, 1)
	require.Same(t, before, http.DefaultTransport)
	faultsim.Check(t, packageLevel(true))
	require.Same(t, before, http.DefaultTransport)
}

func TestDefaultTransportNeedsASerialAdapter(t *testing.T) {
	r := faultsim.Trial(t, packageLevel(false), faultsim.One())
	require.ErrorContains(t, r.Err, "set the adapter's Serial")
}
