package zoo

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
)

// Subjects that leave a call at work.
func together() []Specimen {
	return []Specimen{
		{"leaves-the-other-at-work", "Two tools are asked at once, one of them fails, and the other does its work after the action has returned.",
			"F076", "no-effect-after-end", gathering(leavesTheOther)},
		{"stops-listening", "After a time of its own the agent stops listening, and the tool goes on for nobody.",
			"F030", "no-effect-after-end", agents(patientlyOnce(), failures(), stopsListening)},
	}
}

var errSlow = errors.New("weather: it takes too long")

// A gather asks two tools at once.
type gather = func(ctx context.Context, first, second func(context.Context) (forecast, error)) (forecast, error)

func gathering(g gather) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "outlook", Policy: tries(1),
		Subject: func(s *faultsim.Stage) faultsim.Action {
			weather, tides := faultsim.Tool(s, "weather", sunny, failures()), faultsim.Tool(s, "tides", sunny, failures())
			of := func(t tool) func(context.Context) (forecast, error) {
				return func(ctx context.Context) (forecast, error) { return onceAlive(ctx, t) }
			}
			return func(ctx context.Context) (any, error) { return g(ctx, of(weather), of(tides)) }
		},
	}
}

// onceAlive is one attempt, and none on a context that is over.
func onceAlive(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	return once(ctx, call, pune)
}

// An outlook is what one of the tools came to.
type outlook struct {
	f   forecast
	err error
}

func asks(ctx context.Context, call func(context.Context) (forecast, error), outlooks chan<- outlook) {
	go func() {
		f, err := call(ctx)
		outlooks <- outlook{f, err}
	}()
}

// asksBoth asks the first, and the second once the first has had a head start, and
// returns at the first failure. waited is how many have come to an end.
func asksBoth(ctx context.Context, first, second func(context.Context) (forecast, error), outlooks chan outlook) (f forecast, waited int, err error) {
	asks(ctx, first, outlooks)
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case o := <-outlooks:
		if waited++; o.err != nil {
			return forecast{}, 2, o.err // the second was never asked
		}
	case <-timer.C:
	}
	asks(ctx, second, outlooks)
	for waited < 2 {
		o := <-outlooks
		if waited++; o.err != nil {
			return forecast{}, waited, o.err
		}
		f = o.f
	}
	return f, waited, nil
}

func leavesTheOther(ctx context.Context, first, second func(context.Context) (forecast, error)) (forecast, error) {
	f, _, err := asksBoth(ctx, first, second, make(chan outlook, 2))
	return f, err
}

func waitsForBoth(ctx context.Context, first, second func(context.Context) (forecast, error)) (forecast, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outlooks := make(chan outlook, 2)
	f, waited, err := asksBoth(ctx, first, second, outlooks)
	cancel()
	for ; waited < 2; waited++ {
		<-outlooks
	}
	return f, err
}

// patientlyOnce is the contract of one attempt without a limit of its own.
func patientlyOnce() invariants.Policy {
	p := tries(1)
	p.ID, p.Attempt = "weather-once/v1", 0
	return p
}

// stopsListening gives up after a while, by a timer of its own, and
// leaves the call as it is.
func stopsListening(ctx context.Context, call tool) (forecast, error) {
	if err := ctx.Err(); err != nil {
		return forecast{}, err
	}
	outlooks := make(chan outlook, 1)
	asks(ctx, func(ctx context.Context) (forecast, error) { return call(ctx, pune) }, outlooks)
	timer := time.NewTimer(75 * time.Millisecond)
	defer timer.Stop()
	select {
	case o := <-outlooks:
		return o.f, o.err
	case <-timer.C:
		return forecast{}, errSlow
	case <-ctx.Done():
		return forecast{}, ctx.Err()
	}
}
