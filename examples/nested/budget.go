package nested

import (
	"context"
	"sync/atomic"
)

type budgetKey struct{}

// WithBudget puts the attempts of one request on the context of all that works for it.
func WithBudget(ctx context.Context) context.Context {
	left := new(atomic.Int64)
	left.Store(attempts)
	return context.WithValue(ctx, budgetKey{}, left)
}

// spend takes one attempt; false: there is none left. Without a budget there is none.
func spend(ctx context.Context) bool {
	left, ok := ctx.Value(budgetKey{}).(*atomic.Int64)
	return ok && left.Add(-1) >= 0
}
