package trace_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// The version of the schema is on record with each call, in clear, also where
// nothing else is.
func TestTheVersionOfTheDefinitionIsRecorded(t *testing.T) {
	version := "v1"
	r := &trace.Recorder{Definition: func(tool string) string { return tool + "/" + version }}
	ask := trace.Record(r, "weather", func(context.Context, string) (int, error) { return 19, nil })
	_, _ = ask(t.Context(), "celsius")
	version = "v2"
	_, _ = ask(t.Context(), "celsius")
	r.Call(t.Context(), trace.Call{Tool: "weather", Definition: "said"})

	attempts := r.Trace().Actions()[0].Attempts
	require.Equal(t, []string{"weather/v1", "weather/v2", "said"}, []string{attempts[0].Definition, attempts[1].Definition, attempts[2].Definition})
	require.Equal(t, attempts[0].Args, attempts[1].Args, "it is no argument")
	require.Contains(t, r.Trace().Timeline(), "definition weather/v1")
	require.Contains(t, r.Trace().Timeline(), "definition weather/v2, it was weather/v1")
	require.Contains(t, written(t, r.Trace()), `"definition":"weather/v2"`)
}

func TestAPanicOfDefinitionSaysNothing(t *testing.T) {
	r := &trace.Recorder{Definition: func(string) string { panic("no catalogue") }}
	r.Call(t.Context(), trace.Call{Tool: "weather"})
	require.Empty(t, r.Trace().Events[0].Definition)
}

func TestAPendingCallKnowsItsArguments(t *testing.T) {
	r := &trace.Recorder{Clear: true, Key: "key"}
	p := r.Call(t.Context(), trace.Call{Tool: "bank", Args: json.RawMessage(`{"key":"k", "cents":5}`)})
	require.JSONEq(t, `{"cents":5}`, string(p.Args()))
}
