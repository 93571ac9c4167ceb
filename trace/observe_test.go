package trace_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestAnObservationIsRecordedAndReadsBack(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "forecast")
	r.Observe(ctx, map[string]any{"retryable": true, "error": "unavailable"})
	op.Observe(`{"b": 1, "a": 2}`)
	op.Observe([]byte("ERROR: 500"))
	op.Observe(nil)
	op.End(trace.Ending{Err: errors.New("busy")})
	tr := r.Trace()
	a := tr.Actions()[0]
	require.Equal(t, []int{1, 2, 3, 4}, a.Observed)
	var got []string
	for _, i := range a.Observed {
		got = append(got, string(tr.Events[i].Result))
	}
	require.Equal(t, []string{`{"error":"unavailable","retryable":true}`, `{"a":2,"b":1}`, `"ERROR: 500"`, ""}, got)

	var b strings.Builder
	_, err := tr.WriteTo(&b)
	require.NoError(t, err)
	require.Contains(t, b.String(), `"kind":"observation","action":"forecast","result":{"error":"unavailable","retryable":true}`)
	read, err := trace.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, tr.Events, read.Events)
}

func TestAnObservationOfNoActionInParticularIsAmbiguous(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	r.Begin(t.Context(), "a")
	ctx, _ := r.Begin(t.Context(), "b")
	r.Observe(t.Context(), "whose?")
	r.Observe(ctx, "mine")
	tr := r.Trace()
	require.True(t, tr.Events[2].Ambiguous)
	require.Empty(t, tr.Actions()[0].Observed)
	require.Equal(t, []int{3}, tr.Actions()[1].Observed)
}

// The flag has two values only, and stays readable where nothing else is.
func TestAnObservationIsRedacted(t *testing.T) {
	r := &trace.Recorder{}
	_, op := r.Begin(t.Context(), "forecast")
	op.Observe(map[string]any{"retryable": true, "error": "unavailable", "attempts": 3})
	var got map[string]any
	require.NoError(t, json.Unmarshal(r.Trace().Events[1].Result, &got))
	require.Equal(t, true, got["retryable"])
	require.Regexp(t, `^~`, got["error"])
	require.Regexp(t, `^~`, got["attempts"])
}
