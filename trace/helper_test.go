package trace_test

import "context"

var ctxBackground = context.Background()
