package faultsim

import (
	"context"

	"github.com/rehearse-go/rehearse/trace"
)

// Retrier is the Subject of code that retries whatever operation it is given,
// such as a retry library. The operation is the tool "operation": it answers
// with answer, and errs says how its failures look.
func Retrier[Out any](retry func(ctx context.Context, operation func(context.Context) (Out, error)) (Out, error), answer Out, errs Errors) func(*Stage) Action {
	type none struct{}
	return func(s *Stage) Action {
		fake := func(context.Context, none) (Out, error) { return answer, nil }
		operation := Tool(s, "operation", trace.Func[none, Out](fake), errs)
		return func(ctx context.Context) (any, error) {
			return retry(ctx, func(ctx context.Context) (Out, error) { return operation(ctx, none{}) })
		}
	}
}
