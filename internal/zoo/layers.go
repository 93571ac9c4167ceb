package zoo

import (
	"context"
	"errors"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

func layers() []Specimen {
	return []Specimen{
		{"app-over-sdk", "The app tries four times, and nobody has switched off the three tries of the SDK under it.",
			"F050", "physical-attempts", layered(4, settings{app: 4, sdk: 3})},
		{"one-knob-two-layers", "One setting for the number of retries feeds the router and the SDK, and 1+N is squared.",
			"F050", "physical-attempts", layered(3, knob(2))},
		{"retry-with-a-fresh-context", "The retry of the SDK makes its own context, and its attempt belongs to no layer.",
			"F050", "attributed", layered(3, settings{app: 1, sdk: 3, fresh: true})},
		{"each-layer-has-its-kind", "The app tries again where it is throttled and the SDK where the tool is down, each three times.",
			"F050", "physical-attempts", layeredOn(throttling(), 3, app{settings{app: 3, sdk: 3}}.divided)},
	}
}

// settings say how often each layer tries.
type settings struct {
	app, sdk int
	fresh    bool // retries of the SDK do not get the caller's context
}

// knob makes settings of one number of retries.
func knob(retries int) settings { return settings{app: 1 + retries, sdk: 1 + retries} }

// layered plugs in an app over an SDK that promises n attempts in all.
func layered(n int, set settings) faultsim.Adapter {
	return layeredOn(failures(), n, app{set}.forecast)
}

func layeredOn(errs faultsim.Errors, n int, ask ask) faultsim.Adapter {
	even := with(func(p *invariants.Policy) { p.MaxAttempts, p.Backoff.Factor = n, 1 })
	a := agents(even, errs, ask)
	a.Invariants = []invariants.Invariant{invariants.PhysicalAttempts(n), invariants.Attributed()}
	return a
}

// An app asks its SDK, as often as it is set to.
type app struct{ settings }

func (a app) forecast(ctx context.Context, call tool) (forecast, error) {
	ctx = trace.Layer(ctx, "app")
	return a.repeat(ctx, a.app, retryable, func(int) (forecast, error) { return a.get(ctx, call, retryable) })
}

// divided gives each layer a kind of failure of its own.
func (a app) divided(ctx context.Context, call tool) (forecast, error) {
	ctx = trace.Layer(ctx, "app")
	busy := func(err error) bool { _, ok := errors.AsType[*busyError](err); return ok }
	down := func(err error) bool { return retryable(err) && !busy(err) }
	return a.repeat(ctx, a.app, busy, func(int) (forecast, error) { return a.get(ctx, call, down) })
}

// get is the SDK's request, with retries of its own.
func (a app) get(ctx context.Context, call tool, again func(error) bool) (forecast, error) {
	ctx = trace.Layer(ctx, "sdk")
	return a.repeat(ctx, a.sdk, again, func(n int) (forecast, error) {
		if a.fresh && n > 1 {
			return once(context.Background(), call, pune)
		}
		return once(ctx, call, pune)
	})
}

func (app) repeat(ctx context.Context, tries int, again func(error) bool, try func(n int) (forecast, error)) (forecast, error) {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := try(n)
		if err == nil || n >= tries || ctx.Err() != nil || !again(err) {
			return f, err
		}
		if err := sleep(ctx, max(base, hinted(err))); err != nil {
			return forecast{}, err
		}
	}
}
