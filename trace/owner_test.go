package trace_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A call without the action's context could be the first of an action that has
// made none, though another one has sent the same arguments.
func TestCallThatMayBeAnActionsFirstIsAmbiguous(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	args := json.RawMessage(`{"city":"Pune"}`)
	ctx, _ := r.Begin(t.Context(), "forecast")
	r.Begin(t.Context(), "forecast")
	require.Equal(t, 1, r.Call(ctx, trace.Call{Tool: "weather", Args: args}).Action())
	require.Equal(t, 0, r.Call(context.Background(), trace.Call{Tool: "weather", Args: args}).Action())
}
