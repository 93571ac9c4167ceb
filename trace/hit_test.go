package trace_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestAHitIsRecordedApartFromTheAttempts(t *testing.T) {
	r := &trace.Recorder{Clear: true, Key: "key"}
	ctx, op := r.Begin(t.Context(), "forecast")
	args := map[string]any{"city": "Pune", "key": "k1"}
	require.Equal(t, 1, r.Hit(ctx, "weather", args, 19, nil))
	require.Equal(t, 1, r.Hit(ctx, "weather", args, nil, errors.New("busy")))
	op.End(trace.Ending{Err: errors.New("busy")})
	tr := r.Trace()
	a := tr.Actions()[0]
	require.Equal(t, []int{1, 2}, a.Hits)
	require.Empty(t, a.Attempts)
	ok, failed := tr.Events[1], tr.Events[2]
	require.Equal(t, trace.OK, ok.Outcome.Class)
	require.JSONEq(t, "19", string(ok.Result))
	require.JSONEq(t, `{"city":"Pune"}`, string(ok.Args), "the key is no argument")
	require.Equal(t, trace.Unknown, failed.Outcome.Class)
	require.Equal(t, "busy", failed.Error)

	m := tr.Metrics()
	require.Equal(t, 2, m.Hits)
	require.Equal(t, 0, m.Attempts)
	require.Contains(t, m.String(), "2 hits instead of calls")

	var b strings.Builder
	_, err := tr.WriteTo(&b)
	require.NoError(t, err)
	read, err := trace.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, tr.Events, read.Events)
}

func TestAHitIsClassifiedAndRedacted(t *testing.T) {
	r := &trace.Recorder{Classify: func(error) trace.Outcome { return trace.Outcome{Class: trace.NotFound} }}
	r.Hit(t.Context(), "weather", "Pune", nil, errors.New("no such city"))
	r.Hit(t.Context(), "weather", "Pune", map[string]string{"note": "sunny"}, nil)
	tr := r.Trace()
	require.Equal(t, trace.NotFound, tr.Events[0].Outcome.Class)
	for _, e := range tr.Events {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		for _, clear := range []string{"Pune", "sunny", "no such city"} {
			require.NotContains(t, string(raw), clear)
		}
	}
}

func TestAHitOfNoActionInParticularIsAmbiguous(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	r.Begin(t.Context(), "a")
	ctx, _ := r.Begin(t.Context(), "b")
	require.Equal(t, 0, r.Hit(t.Context(), "weather", nil, 19, nil))
	require.Equal(t, 2, r.Hit(ctx, "weather", nil, 19, nil))
	tr := r.Trace()
	require.True(t, tr.Events[2].Ambiguous)
	require.Equal(t, []int{3}, tr.Actions()[1].Hits)
}
