package faultsim

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// CanaryWords are the words of a failure that tells what it must not: a
// credential, an internal host and where in its own code it broke. Whoever hands
// the words of a tool on hands these on too. See [invariants.Canaries].
const CanaryWords = "login failed at " + invariants.CanaryHost + ":5432 with token " + invariants.CanarySecret +
	"\ngoroutine 17 [running]:\nmain.query(...)\n\t/srv/store.go:42 +0x1d"

// errHandedOn stands for the error of an action whose failure is a value.
var errHandedOn = errors.New("the failure was handed on as a value")

// validateObservation reports what makes the contract unusable.
func (a *Adapter) validateObservation() error {
	var errs []error
	if err := a.Observation.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("adapter %q: %w", a.Name, err))
	}
	if a.Observe == nil {
		errs = append(errs, fmt.Errorf("adapter %q: there is an Observation and Observe is nil: give the function that returns what the model or the caller is handed", a.Name))
	}
	return errors.Join(errs...)
}

// observe asks the adapter what was handed on; nil: nothing. A pointer or map
// that is nil is nothing too: Observe returns what a typed function gave it.
func (x *trial) observe(out any, err error) (seen any) {
	if x.a.Observe == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			x.stage.misused(fmt.Errorf("faultsim: Observe of %q panicked: %v at %s: it is asked after every action, with the result or with the error", x.a.Name, p, panicSite()))
		}
	}()
	seen = x.a.Observe(out, err)
	switch v := reflect.ValueOf(seen); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return nil
		}
	}
	return seen
}

// plant puts canaries, or an order, into the words of failures, where the tool can say them:
// in half of the actions all failures say them, so that the last one does.
func (d *drawer) plant(t *source, s *Schedule) {
	for i := range s.Actions {
		if !coin(t) {
			continue
		}
		words := CanaryWords
		if d.loop != nil && coin(t) {
			words = invariants.CanaryOrder
		}
		for n := range d.tools {
			tool := &d.tools[n]
			for n := range s.Actions[i].Faults[tool.name] {
				tool.plant(&s.Actions[i].Faults[tool.name][n], words)
			}
		}
	}
}

func (t *drawnTool) plant(f *Fault, words string) {
	if f.Hang || f.class() == trace.OK {
		return
	}
	g := *f
	g.Say = words
	if t.can(&g) {
		*f = g
	}
}
