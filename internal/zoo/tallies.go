package zoo

import (
	"context"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects that count their retries, and that keep the ends of their actions.
func tallies() []Specimen {
	return []Specimen{
		{"first-attempt-counted", "The counter of retries stands at the head of the loop, and counts the first attempt too.",
			threeLayer, "metrics-true", tallying(func(c *tallier) { c.first = true })},
		{"retry-counted-in-two-layers", "The client has a hook for retries, the loop around it has another, and both write the same metric.",
			threeLayer, "metrics-true", tallying(func(c *tallier) { c.twice = true })},
		{"last-retry-not-counted", "A retry is counted when the next one is decided on, and the last has none behind it.",
			threeLayer, "metrics-true", tallying(func(c *tallier) { c.late = true })},
		{"both-ends-kept", "The handling of a cancel stores its end, and the common way out stores another after it.",
			"F044", "ends-recorded", storing(func(ctx context.Context, call tool, k keep) (forecast, error) {
				f, err := patient(ctx, call)
				if ctx.Err() == context.Canceled {
					k(ctx, trace.ReasonCancelled)
				}
				k(ctx, reason(ctx, err))
				return f, err
			})},
		{"cancelled-end-not-kept", "The end is stored in the caller's context, and a cancelled one stores nothing.",
			testingRetries, "ends-recorded", storing(func(ctx context.Context, call tool, k keep) (forecast, error) {
				f, err := patient(ctx, call)
				if ctx.Err() == nil {
					k(ctx, reason(ctx, err))
				}
				return f, err
			})},
	}
}

// A tallier writes a metric for each retry.
type tallier struct {
	write func(context.Context, string)

	first, twice, late bool
	decides            bool // a retry counts when it is decided, before the wait
}

// besideTheWork returns a function that writes a record in a goroutine of its
// own, under its own limit.
func besideTheWork(write func(context.Context, string) error) func(context.Context, string) {
	return func(ctx context.Context, record string) {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logLimit)
			defer cancel()
			_ = write(ctx, record)
		}()
	}
}

func tallying(change func(*tallier)) faultsim.Adapter {
	a := built(policy(), throttling(), func(s *faultsim.Stage) ask {
		c := &tallier{write: besideTheWork(faultsim.Sink[string](s, "retries"))}
		change(c)
		return c.forecast
	})
	a.Sinks = []invariants.Sink{{Name: "retries", Counts: invariants.CountRetries}}
	return a
}

func (c *tallier) forecast(ctx context.Context, call tool) (forecast, error) {
	n := 0
	return patient(ctx, func(ctx context.Context, q query) (forecast, error) {
		n++
		if c.counts(n) {
			c.write(ctx, "weather")
		}
		if n > 1 && c.twice {
			c.write(ctx, "weather")
		}
		f, err := call(ctx, q)
		if c.decides && err != nil && n < attempts && retryable(err) {
			c.write(ctx, "weather")
		}
		return f, err
	})
}

// counts reports whether the tallier counts attempt n before it makes it.
func (c *tallier) counts(n int) bool {
	switch {
	case c.decides:
		return false
	case c.late:
		return n > 2
	}
	return n > 1 || c.first
}

// keep stores how an action ended.
type keep = func(context.Context, trace.Reason)

func storing(agent func(context.Context, tool, keep) (forecast, error)) faultsim.Adapter {
	a := built(policy(), failures(), func(s *faultsim.Stage) ask {
		write := faultsim.Sink[trace.Reason](s, "states")
		return func(ctx context.Context, call tool) (forecast, error) {
			return agent(ctx, call, func(ctx context.Context, r trace.Reason) { shelve(ctx, write, r) })
		}
	})
	a.Sinks = []invariants.Sink{{Name: "states", Counts: invariants.CountEnds, Wait: logLimit}}
	return a
}

// shelve writes the state, once more where it fails at once.
func shelve(ctx context.Context, write func(context.Context, trace.Reason) error, r trace.Reason) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logLimit)
	defer cancel()
	for range 2 {
		if err := safely(func() error { return write(ctx, r) }); err == nil || ctx.Err() != nil {
			return
		}
	}
}

// safely turns a panic into an error.
func safely(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errUnavailable
		}
	}()
	return f()
}

func keepsOnce(ctx context.Context, call tool, k keep) (f forecast, err error) {
	defer func() { k(ctx, reason(ctx, err)) }()
	return patient(ctx, call)
}
