package faultsim_test

import (
	"context"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/assert"
)

func TestRetrierPlugsInAnythingThatRunsAnOperation(t *testing.T) {
	a := home(3)
	a.Subject = faultsim.Retrier(func(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
		return retry(ctx, func(ctx context.Context, _ string) (int, error) { return op(ctx) }, "", 3)
	}, 19, faultsim.Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})

	tr := faultsim.Run(t, a, faultsim.One(faultsim.Fail(trace.Transient)))
	action := tr.Actions()[0]
	assert.Len(t, action.Attempts, 2)
	assert.Equal(t, "operation", action.Attempts[0].Tool)
	assert.JSONEq(t, "19", string(action.Result))
}
