package faultsim

import (
	"context"

	"github.com/rehearse-go/rehearse/invariants"
)

// Retrier is the adapter of a retry library or helper: anything that takes an
// operation and runs it until it succeeds or the library gives up. The
// operation is the main tool, named "op"; do is called afresh for each action,
// so that state which do makes is not shared. What it returns must be the
// operation's answer.
//
//	matrix.Run(t, faultsim.Retrier("backoff", policy, errs,
//		func(ctx context.Context, op func(context.Context) (int, error)) (int, error) {
//			return backoff.Retry(ctx, func() (int, error) { return op(ctx) }, backoff.WithMaxTries(3))
//		}))
func Retrier[Out any](name string, p invariants.Policy, errs Errors, do func(ctx context.Context, op func(context.Context) (Out, error)) (Out, error)) Adapter {
	return Adapter{
		Name:   name,
		Policy: p,
		Subject: func(s *Stage) Action {
			tool := Tool[struct{}, Out](s, "op", nil, errs)
			op := func(ctx context.Context) (Out, error) { return tool(ctx, struct{}{}) }
			return func(ctx context.Context) (any, error) { return do(ctx, op) }
		},
	}
}
