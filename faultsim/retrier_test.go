package faultsim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A helper that drops the answer returns what a variable of the type is at first.
func TestRetrierTellsALostAnswer(t *testing.T) {
	require.True(t, losesAnswer[int](t))
	require.True(t, losesAnswer[string](t))
	require.True(t, losesAnswer[struct{ Celsius float64 }](t))
	require.False(t, losesAnswer[struct{}](t), "there is nothing to lose")
	require.False(t, losesAnswer[time.Time](t))
}

func losesAnswer[Out any](t *testing.T) bool {
	a := Retrier("lossy", homePolicy(), nil, func(ctx context.Context, op func(context.Context) (Out, error)) (out Out, err error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err = op(ctx)
		return out, err
	})
	r := Trial(t, a, One())
	require.NoError(t, r.Err)
	return len(r.Findings) > 0 && r.Findings[0].Invariant == "honest-ending"
}
