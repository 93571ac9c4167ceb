package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
	"github.com/stretchr/testify/require"
)

func sunny(context.Context, json.RawMessage) (mcp.Result, error) { return mcp.Text("19 degrees"), nil }

var doors = map[string]door{"in memory": mcp.Serve, "over HTTP": mcp.ServeHTTP}

func right(*agent) {}

// A case gives the same trace each time, although goroutines of client and server
// hand it on.
func TestACaseComesBackAsItWas(t *testing.T) {
	sched, err := faultsim.Parse(`rehearse schedule 1
action deadline=20s
  weather 1 reset done after=70ns
  weather 2 hang
  weather 3 not-connected
action cancel=1s
  weather 1 ok after=5ms
  weather 2 ok
action cancel=3ms
  weather 1 hang
`)
	require.NoError(t, err)
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			first := ""
			for n := range 50 {
				r := faultsim.Trial(t, over(serve, readPolicy, right), sched)
				require.NoError(t, r.Err)
				require.Empty(t, r.Findings)
				if n == 0 {
					first = r.Trace.Timeline()
				}
				require.Equal(t, first, r.Trace.Timeline(), "run %d", n)
			}
		})
	}
}

func TestRightReaderKeepsItsPolicy(t *testing.T) {
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			t.Run("matrix", func(t *testing.T) { matrix.Run(t, over(serve, readPolicy, right)) })
			t.Run("check", func(t *testing.T) { faultsim.Check(t, over(serve, readPolicy, right)) })
		})
	}
}
