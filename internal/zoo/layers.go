package zoo

import (
	"context"

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
	even := with(func(p *invariants.Policy) { p.MaxAttempts, p.Backoff.Factor = n, 1 })
	a := agents(even, failures(), app{set}.forecast)
	a.Invariants = []invariants.Invariant{invariants.PhysicalAttempts(n), invariants.Attributed()}
	return a
}

// An app asks its SDK, as often as it is set to.
type app struct{ settings }

func (a app) forecast(ctx context.Context, call tool) (forecast, error) {
	ctx = trace.Layer(ctx, "app")
	return a.repeat(ctx, a.app, func(int) (forecast, error) { return a.get(ctx, call) })
}

// get is the SDK's request, with retries of its own.
func (a app) get(ctx context.Context, call tool) (forecast, error) {
	ctx = trace.Layer(ctx, "sdk")
	return a.repeat(ctx, a.sdk, func(n int) (forecast, error) {
		if a.fresh && n > 1 {
			return once(context.Background(), call, pune)
		}
		return once(ctx, call, pune)
	})
}

func (app) repeat(ctx context.Context, tries int, try func(n int) (forecast, error)) (forecast, error) {
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := try(n)
		if err == nil || n >= tries || final(ctx, err) {
			return f, err
		}
		if err := sleep(ctx, base); err != nil {
			return forecast{}, err
		}
	}
}
