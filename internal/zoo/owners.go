package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var errUnreachable = errors.New("weather: connection refused")

func owners() []Specimen {
	return []Specimen{
		{"both-layers-retry-throttling", "The adapter waits when it is throttled, and since an update of the transport so does that.",
			testingRetries, "retry-owner", split(tiers{transportThrottles: true})},
		{"adapter-connects-again", "The transport's retries were switched off in a test and stayed so, and the adapter makes up for it.",
			testingRetries, "retry-owner", split(tiers{transportIdle: true})},
	}
}

// split plugs in an adapter over a transport: the transport retries connections and
// timeouts of a safe read, the adapter throttling, four attempts in all.
func split(s tiers) faultsim.Adapter {
	errs := faultsim.Errors{
		trace.NotConnected: errUnreachable, trace.Invalid: errInvalid, trace.Forbidden: errForbidden,
		trace.Throttled: faultsim.Hinted(func(hint time.Duration) error { return &busyError{hint} }),
	}
	p := with(func(p *invariants.Policy) {
		p.ID, p.MaxAttempts, p.Backoff.Factor = "weather/split", 4, 1
		p.Retry = []trace.Class{trace.NotConnected, trace.Throttled, trace.Timeout}
	})
	a := agents(p, errs, s.forecast)
	a.Invariants = []invariants.Invariant{
		invariants.PhysicalAttempts(4), invariants.Attributed(),
		invariants.RetryOwners(map[trace.Class]string{
			trace.NotConnected: "transport", trace.Timeout: "transport", trace.Throttled: "adapter",
		}),
	}
	return a
}

// Tiers are an adapter over a transport. They share the attempts of an action,
// which the adapter hands down.
type tiers struct{ transportThrottles, transportIdle bool }

func (s tiers) forecast(ctx context.Context, call tool) (forecast, error) {
	ctx = trace.Layer(ctx, "adapter")
	left := 4
	for {
		f, err := s.send(ctx, call, &left)
		if err == nil || ctx.Err() != nil || left == 0 || !s.adapterRetries(err) {
			return f, err
		}
		if err := sleep(ctx, max(base, hinted(err))); err != nil {
			return forecast{}, err
		}
	}
}

func (s tiers) adapterRetries(err error) bool {
	_, busy := errors.AsType[*busyError](err)
	return busy || s.transportIdle && unheard(err)
}

// send is the transport, with retries of its own.
func (s tiers) send(ctx context.Context, call tool, left *int) (forecast, error) {
	ctx = trace.Layer(ctx, "transport")
	for {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		*left--
		f, err := once(ctx, call, pune)
		if err == nil || ctx.Err() != nil || *left == 0 || !s.transportRetries(err) {
			return f, err
		}
		if err := sleep(ctx, max(base, hinted(err))); err != nil {
			return forecast{}, err
		}
	}
}

func (s tiers) transportRetries(err error) bool {
	_, busy := errors.AsType[*busyError](err)
	return unheard(err) && !s.transportIdle || busy && s.transportThrottles
}

// unheard reports whether the connection failed, or the time of one attempt.
func unheard(err error) bool {
	return errors.Is(err, errUnreachable) || errors.Is(err, context.DeadlineExceeded)
}
