package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/scripted/mcp"
)

func sunny(context.Context, json.RawMessage) (mcp.Result, error) { return mcp.Text("19 degrees"), nil }

var doors = map[string]door{"in memory": mcp.Serve, "over HTTP": mcp.ServeHTTP}

func right(*agent) {}

func TestRightReaderKeepsItsPolicy(t *testing.T) {
	for name, serve := range doors {
		t.Run(name, func(t *testing.T) {
			t.Run("matrix", func(t *testing.T) { matrix.Run(t, over(serve, readPolicy, right)) })
			t.Run("check", func(t *testing.T) { faultsim.Check(t, over(serve, readPolicy, right)) })
		})
	}
}
