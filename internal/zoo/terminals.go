package zoo

import (
	"context"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

func terminals() []Specimen {
	return []Specimen{
		{"cancelled-and-completed", "The handling of a cancel publishes its end, and the common way out publishes another after it.",
			"F044", "one-terminal", publishing(publishesTwice)},
		{"deferred-failure", "A deferred publication reports failure on every way out, the successful one included.",
			testingRetries, "one-terminal", publishing(defersFailure)},
		{"silent-on-cancel", "The way out of a cancelled wait publishes nothing.",
			testingRetries, "one-terminal", publishing(silentOnCancel)},
	}
}

// publish tells the user how the action ended.
type publish = func(context.Context, trace.Reason)

func publishing(agent func(context.Context, tool, publish) (forecast, error)) faultsim.Adapter {
	return built(policy(), failures(), func(s *faultsim.Stage) ask {
		return func(ctx context.Context, call tool) (forecast, error) { return agent(ctx, call, s.Publish) }
	})
}

// reason is how an action with this error ended.
func reason(ctx context.Context, err error) trace.Reason {
	switch {
	case err == nil:
		return trace.ReasonSuccess
	case ctx.Err() == context.Canceled:
		return trace.ReasonCancelled
	case ctx.Err() != nil:
		return trace.ReasonDeadline
	}
	return trace.ReasonExhausted
}

func publishesTwice(ctx context.Context, call tool, tell publish) (forecast, error) {
	f, err := patient(ctx, call)
	if ctx.Err() == context.Canceled {
		tell(ctx, trace.ReasonCancelled)
	}
	tell(ctx, reason(ctx, err))
	return f, err
}

func defersFailure(ctx context.Context, call tool, tell publish) (forecast, error) {
	defer tell(ctx, trace.ReasonExhausted)
	f, err := patient(ctx, call)
	if err == nil {
		tell(ctx, trace.ReasonSuccess)
	}
	return f, err
}

func silentOnCancel(ctx context.Context, call tool, tell publish) (forecast, error) {
	f, err := patient(ctx, call)
	if ctx.Err() != nil {
		return forecast{}, ctx.Err()
	}
	tell(ctx, reason(ctx, err))
	return f, err
}
