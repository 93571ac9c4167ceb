package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// An Action is one intended operation of the code under test. It can be called
// again, and by several goroutines at once.
type Action = func(context.Context) (any, error)

// An Adapter plugs code into trials: how to build it, and what it promises.
type Adapter struct {
	// Name is the adapter's name in reports, and the name of its actions.
	Name string

	// Policy is the contract that the code is held to.
	Policy invariants.Policy

	// Subject builds the code under test on the stage's doubles and returns
	// one action of it. It is called afresh for each trial, inside the bubble
	// of virtual time.
	Subject func(*Stage) Action

	// Resume builds the code anew after a crash of its process, on a stage that
	// has kept the [Disk] and nothing else, and returns the action that goes on
	// with what was interrupted. Tools are put on the stage again, by the same
	// names. With it [Check] draws crashes, and Policy.Restart must say what they
	// lead to. Nil: the process does not crash, and schedules with a crash do not
	// fit.
	Resume func(*Stage) Action

	// Again builds the code for an operator who has an action that has ended
	// done again, on a stage that has kept the [Disk], and returns the action that
	// does so; [trace.ActionName] is that of the first time. With it [Check] draws
	// such retries. Nil: there are none, and schedules with one do not fit.
	Again func(*Stage) Action

	// Want is what a right action returns. Nil: the tool's own answer, where
	// the action returns a value of the same type.
	Want any

	// Reason reads the terminal reason off an error that the action returned.
	// It is compared with what the attempts amount to. Nil: nothing is compared.
	Reason func(error) trace.Reason

	// Attempts reads off such an error how many attempts it tells of; 0: it
	// does not say. Nil: nothing is compared.
	Attempts func(error) int

	// Accept lists known deviations: the name of an invariant, and why its
	// findings are accepted. [Check] fails once such a deviation no longer occurs.
	Accept map[string]string

	// Serial runs trials one at a time, for code with package-level state. By
	// default [Check] runs them on all cores.
	Serial bool

	// Breaker is the contract of the circuit breaker in front of the tools.
	// With it, [Check] draws outages as well: many actions, with pauses between
	// them. Reason must then say which error is the breaker's refusal,
	// trace.ReasonBreakerOpen. Nil: there is no breaker.
	Breaker *invariants.Breaker

	// Observation is the contract of what the code hands on when it fails, and
	// Observe returns it: the tool result for the model, or the part of the
	// returned error that says the same. It is asked after each action and
	// returns nil where nothing failed. Where the action returned no error and
	// Observe returns something, the action counts as failed: its failure is a
	// value. With Observation, [Check] draws failures whose words hold canaries.
	// Nil: what is handed on is not judged, and without Observe not recorded.
	Observation *invariants.Observation
	Observe     func(result any, err error) any

	// Repeats is the contract of a tool that is itself the code under test. It
	// is set by [Served], which such an adapter is built with. Nil: the code
	// under test calls tools.
	Repeats *invariants.Repeats
	served  *served

	// Invariants are further rules of the user's own.
	Invariants []invariants.Invariant

	// Trials is how many trials [Check] runs, a fifth of it with -short. 0: 1000.
	// The flag -rehearse.trials and the variable REHEARSE_TRIALS go before it.
	Trials int
}

// invariants returns all rules that the adapter is held to.
func (a *Adapter) invariants() []invariants.Invariant {
	implied := contractOf(&a.Policy).invariants
	if a.served != nil {
		implied = a.served.rules
	}
	if a.Breaker != nil {
		implied = a.Breaker.Invariants(a.Policy)
	}
	if a.Observation != nil { // after the policy's: a wrong attempt is not the observation's fault
		implied = slices.Concat(implied, a.Observation.Invariants(a.Policy))
	}
	if len(a.Invariants) == 0 {
		return implied
	}
	all := make([]invariants.Invariant, 0, len(a.Invariants)+len(implied))
	for _, inv := range a.Invariants {
		all = append(all, guarded(inv))
	}
	return append(all, implied...)
}

// guarded is a rule of the user's own whose panic is a finding: trials are
// judged in goroutines of the toolkit, where it would end the test binary.
func guarded(inv invariants.Invariant) invariants.Invariant {
	check := inv.Check
	if check == nil {
		return inv // an error of the adapter
	}
	inv.Check = func(tr *trace.Trace) (v invariants.Verdict) {
		defer func() {
			if p := recover(); p != nil {
				v = invariants.Verdict{Applied: 1, Findings: []invariants.Finding{{
					Invariant: inv.Name,
					Text:      fmt.Sprintf("the rule itself panicked: %v at %s", p, panicSite()),
					Advice:    "a rule must be able to read every trace, also one without attempts or without an end",
				}}}
			}
		}()
		return check(tr)
	}
	return inv
}

// validate reports what makes the adapter unusable.
func (a *Adapter) validate() error {
	var errs []error
	if a.Name == "" {
		errs = append(errs, errors.New("adapter: Name is empty: give the adapter a name for reports and files"))
	}
	if strings.ContainsFunc(a.Name, unicode.IsControl) {
		errs = append(errs, fmt.Errorf("adapter %q: Name has a control character, which would break the lines of reports: take it out", a.Name))
	}
	if a.Subject == nil {
		errs = append(errs, fmt.Errorf("adapter %q: Subject is nil: give a function that builds the code under test", a.Name))
	}
	if a.Trials < 0 {
		errs = append(errs, fmt.Errorf("adapter %q: Trials is %d: say 0 for the usual number", a.Name, a.Trials))
	}
	if _, err := json.Marshal(a.Want); err != nil {
		errs = append(errs, fmt.Errorf("adapter %q: Want cannot be written as JSON (%v): give a value that can be compared with what the action returns", a.Name, err))
	}
	for i, inv := range a.Invariants {
		if inv.Name == "" || inv.Check == nil {
			errs = append(errs, fmt.Errorf("adapter %q: Invariants[%d] has no Name or no Check: give it both", a.Name, i))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Accept)) {
		if !slices.ContainsFunc(a.invariants(), func(inv invariants.Invariant) bool { return inv.Name == name }) {
			errs = append(errs, fmt.Errorf("adapter %q: Accept names %q, which is none of its invariants: correct the name, or take it out", a.Name, name))
		}
		if strings.TrimSpace(a.Accept[name]) == "" {
			errs = append(errs, fmt.Errorf("adapter %q: Accept gives no reason for %q: say why the deviation is accepted", a.Name, name))
		}
	}
	if a.Repeats != nil {
		errs = append(errs, a.validateServed())
	}
	if a.Breaker != nil {
		errs = append(errs, a.validateBreaker())
	}
	if a.Observation != nil {
		errs = append(errs, a.validateObservation())
	}
	errs = append(errs, a.validateRestart()...)
	return errors.Join(append(errs, contractOf(&a.Policy).err)...)
}

// Errors says how a function tool's failures look: the tool's own error for
// each class. A class that is absent cannot happen to the tool; schedules that
// need it do not apply. A tool that can ask for a wait has a [Hinted] error, and
// one that answers with a value instead of an error has a [Value].
type Errors map[trace.Class]error

// Hinted is an error that carries the wait the tool asks for: make is called
// with the hint of each fault, which is 0 where there is none.
func Hinted(make func(hint time.Duration) error) error { return &hinted{make} }

type hinted struct{ make func(time.Duration) error }

func (h *hinted) Error() string { return h.make(0).Error() }

// can reports whether the tool can answer as the fault plans.
func (e Errors) can(f *Fault) bool {
	if f.class() == trace.OK || f.Hang {
		return true
	}
	err, ok := e[f.class()]
	if !ok {
		return false
	}
	_, hints := err.(*hinted)
	_, isValue := err.(*value)
	return (f.Hint == 0 || hints) && !(f.packed() && isValue)
}

// forms says that a function tool asks for waits in one form, if it has any
// error that carries one.
func (e Errors) forms() []HintForm {
	for _, err := range e {
		if _, ok := err.(*hinted); ok {
			return []HintForm{HintSeconds}
		}
	}
	return nil
}

// unusable reports entries that could not be shown.
func (e Errors) unusable() error {
	var wrong error
	lowest := ^trace.Class(0)
	for c, err := range e {
		if c > lowest {
			continue // one at a time, and always the same
		}
		h, hints := err.(*hinted)
		switch {
		case !fails(c):
			wrong = fmt.Errorf("Errors lists %v, which is no class of failure: take it out", c)
		case err == nil:
			wrong = fmt.Errorf("Errors[%v] is nil: give the tool's error, or leave the class out where it cannot happen", c)
		case hints && h.make == nil:
			wrong = fmt.Errorf("Errors[%v] is Hinted(nil): give the function that makes the error", c)
		default:
			continue
		}
		lowest = c
	}
	return wrong
}

// fails reports whether c is the class of a failure.
func fails(c trace.Class) bool { return c > trace.OK && c <= trace.Unknown }

// render is the tool's error for the fault.
func (e Errors) render(f *Fault) error {
	err := e[f.class()]
	if h, ok := err.(*hinted); ok {
		return h.make(f.Hint)
	}
	return err
}
