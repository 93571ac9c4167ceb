package trace_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestRecordedFunctionShowsAttemptsOfItsAction(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	n := 0
	tool := trace.Record(r, "weather", func(ctx context.Context, city string) (int, error) {
		if n++; n < 3 {
			return 0, errors.New("503")
		}
		return 19, nil
	})
	got, err := trace.Do(t.Context(), r, "forecast", func(ctx context.Context) (int, error) {
		for {
			if out, err := tool(ctx, "Pune"); err == nil {
				return out, nil
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 19, got)
	actions := r.Trace().Actions()
	require.Len(t, actions, 1)
	require.Len(t, actions[0].Series, 1)
	require.Len(t, actions[0].Series[0].Attempts, 3)
	require.Equal(t, 3, actions[0].Attempts[2].N)
}
