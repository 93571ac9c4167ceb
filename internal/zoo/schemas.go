package zoo

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// Subjects whose tool changes the values that it takes.
func schemas() []Specimen {
	return []Specimen{
		{"rejected-arguments-again", "The definition is fetched anew, and the call is made from the arguments that were kept.",
			testingRetries, "rejected-payload", measuring((*gauge).stubborn)},
		{"correction-forgotten", "The correction holds for one call, and the retry after a passing failure begins with the old arguments.",
			testingRetries, "rejected-payload", measuring((*gauge).relapsing)},
		{"unit-guessed", "A unit that was rejected is written out in full, and nobody looks at what the tool takes.",
			testingRetries, "correction-grounded", measuring((*gauge).guessing)},
		{"corrects-until-it-fits", "Each rejection brings another look and another unit, and nobody counts.",
			testingRetries, "corrected-once", measuring((*gauge).tireless)},
		{"city-corrected-too", "The whole call is written anew for the new schema, and the city comes out in capitals.",
			testingRetries, "protected-arguments", measuring((*gauge).tidying)},
	}
}

type (
	reading struct{ City, Unit string }
	measure = func(context.Context, reading) (forecast, error)
)

var errUnit = errors.New("weather: unit must be celsius or fahrenheit")

// units are the schemas of the tool, one after another.
var units = []string{`{"unit":["C","F"]}`, `{"unit":["celsius","fahrenheit"]}`, `{"unit":["degree_celsius","degree_fahrenheit"]}`}

// celsius are names of one and the same thing.
var celsius = []string{"C", "celsius", "degree_celsius"}

// unitPolicy lets the unit be corrected by what the definition says.
func unitPolicy() invariants.Policy {
	return with(func(p *invariants.Policy) {
		p.ID, p.Correct = "weather-units/v1", invariants.Correct{Once: true, Fields: []string{"Unit"}}
	})
}

// toldUnits lets it be corrected by what the error says.
func toldUnits() invariants.Policy {
	p := unitPolicy()
	p.ID, p.Correct.FromError = "weather-units/v2", true
	return p
}

// A gauge asks for the temperature in a unit that the tool takes.
type gauge struct {
	call measure
	look func(context.Context) (faultsim.Definition, error)

	mu   sync.Mutex
	unit string // the one that fits what was last read
}

func measuring(act func(*gauge, context.Context) (forecast, error)) faultsim.Adapter {
	return measuringUnder(unitPolicy(), act)
}

func measuringUnder(p invariants.Policy, act func(*gauge, context.Context) (forecast, error)) faultsim.Adapter {
	return faultsim.Adapter{
		Name: "forecast", Policy: p, Want: forecast{Celsius: 19},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			errs := throttling()
			errs[trace.Invalid] = errUnit
			g := &gauge{unit: "C", look: s.Definitions("weather", units...).Aside("tools/list")}
			g.call = faultsim.Tool(s, "weather", func(context.Context, reading) (forecast, error) {
				return forecast{Celsius: 19}, nil
			}, errs)
			return func(ctx context.Context) (any, error) { return act(g, ctx) }
		},
	}
}

// ask is one attempt.
func (g *gauge) ask(ctx context.Context, r reading) (forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.call(ctx, r)
}

// A mend makes other arguments of those that were rejected; none where it cannot.
type mend func(context.Context, reading) (r reading, ok bool)

// loop is the right loop around the habit of what is done about a rejection.
func (g *gauge) loop(ctx context.Context, r reading, correct mend) (forecast, error) {
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := g.ask(ctx, r)
		if err == nil {
			return f, nil
		}
		if n == attempts || ctx.Err() != nil {
			return forecast{}, err
		}
		if errors.Is(err, errUnit) {
			again, ok := correct(ctx, r)
			if !ok {
				return forecast{}, err
			}
			r = again
			continue
		}
		if !retryable(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

// first lets a mend be made once.
func first(do mend) mend {
	done := false
	return func(ctx context.Context, r reading) (reading, bool) {
		if done {
			return r, false
		}
		done = true
		return do(ctx, r)
	}
}

// reads looks at the definition and takes the name of the same unit that stands
// there, if there is one and it is another.
func (g *gauge) reads(ctx context.Context, r reading) (reading, bool) {
	d, err := g.look(ctx)
	if err != nil {
		return r, false
	}
	var schema struct{ Unit []string }
	if json.Unmarshal([]byte(d.Text), &schema) != nil {
		return r, false
	}
	for _, unit := range schema.Unit {
		if slices.Contains(celsius, unit) && unit != r.Unit {
			g.keep(unit)
			return reading{r.City, unit}, true
		}
	}
	return r, false
}

func (g *gauge) keep(unit string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unit = unit
}

func (g *gauge) kept() reading {
	g.mu.Lock()
	defer g.mu.Unlock()
	return reading{"Pune", g.unit}
}

var inC = reading{"Pune", "C"}

// corrected keeps what it has read for the actions that follow.
func (g *gauge) corrected(ctx context.Context) (forecast, error) {
	return g.loop(ctx, g.kept(), first(g.reads))
}

// forgetful begins each action with the unit that it was written for.
func (g *gauge) forgetful(ctx context.Context) (forecast, error) {
	return g.loop(ctx, inC, first(g.reads))
}

func (g *gauge) plain(ctx context.Context) (forecast, error) {
	return g.loop(ctx, inC, func(context.Context, reading) (reading, bool) { return inC, false })
}

// told takes the unit that the error speaks of.
func (g *gauge) told(ctx context.Context) (forecast, error) {
	return g.loop(ctx, inC, first(func(context.Context, reading) (reading, bool) {
		return reading{"Pune", "celsius"}, strings.Contains(errUnit.Error(), "celsius")
	}))
}

func (g *gauge) stubborn(ctx context.Context) (forecast, error) {
	return g.loop(ctx, inC, first(func(ctx context.Context, r reading) (reading, bool) {
		_, err := g.look(ctx)
		return r, err == nil
	}))
}

// relapsing corrects inside the attempt, so that the next one knows nothing of it.
func (g *gauge) relapsing(ctx context.Context) (forecast, error) {
	correct := first(g.reads)
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		f, err := g.ask(ctx, inC)
		if errors.Is(err, errUnit) && n < attempts && ctx.Err() == nil {
			if r, ok := correct(ctx, inC); ok {
				n++
				f, err = g.ask(ctx, r)
			}
		}
		if err == nil {
			return f, nil
		}
		if n >= attempts || ctx.Err() != nil || !retryable(err) {
			return forecast{}, err
		}
		if err := sleep(ctx, max(wait, hinted(err))); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}

func (g *gauge) guessing(ctx context.Context) (forecast, error) {
	return g.loop(ctx, inC, first(func(_ context.Context, r reading) (reading, bool) {
		return reading{r.City, "celsius"}, true
	}))
}

func (g *gauge) tireless(ctx context.Context) (forecast, error) {
	return g.loop(ctx, g.kept(), g.reads)
}

func (g *gauge) tidying(ctx context.Context) (forecast, error) {
	return g.loop(ctx, g.kept(), first(func(ctx context.Context, r reading) (reading, bool) {
		again, ok := g.reads(ctx, r)
		again.City = strings.ToUpper(again.City)
		return again, ok
	}))
}
