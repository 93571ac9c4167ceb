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

	"github.com/rehearse-go/rehearse/internal/near"
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
	// of virtual time. Of code that asks several tools at once give each branch
	// an adapter of its own: what one does because another has failed is not
	// known here.
	Subject func(*Stage) Action

	// Pages is how many requests of the main tool an action needs when nothing
	// fails, one after another and each with arguments of its own: the pages of a
	// list, or the chunks of a batch. Rows of the matrix expect them, and [Check]
	// draws failures of later ones. 0: 1.
	Pages int
	// Resume builds the code anew after a crash of its process, on a stage that
	// has kept the [Disk] and nothing else, and returns the action that goes on
	// with what was interrupted. Tools are put on the stage again, by the same
	// names. With it [Check] draws crashes, and Policy.Restart must say what they
	// lead to. Nil: the process does not crash, and schedules with a crash do not
	// fit.
	Resume func(*Stage) Action

	// HandedBack tells that the error with which the action returned is no end of
	// it: the process was told to stop, and leaves the action to the next one, which
	// Resume builds. With it [Check] draws drains, and code that listens to
	// [Stage.Draining] hears of them; Policy.Drain may say whether an attempt counts
	// that such a process cut off. Nil: the process is never told to stop, and
	// schedules with a drain do not fit.
	HandedBack func(error) bool

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

	// Degraded reads the terminal reason off a result that is no answer of the
	// tool and says so, such as a value kept from before: trace.ReasonBreakerOpen
	// where it stands in for a call that the breaker refused,
	// trace.ReasonEscalated where it does so for attempts that failed. 0: the
	// result is the tool's own. It must go by what the result says of itself: one
	// that cannot be told from an answer claims a success. Nil: there are none.
	Degraded func(result any) trace.Reason

	// Wraps says that the errors which the code returns can be taken apart:
	// errors.Is finds the last failure's own error in them, as with %w and
	// errors.Join. False: it is enough that they have its words. Of an HTTP status
	// nothing is asked.
	Wraps bool

	// Attempts reads off such an error how many attempts it tells of; 0: it
	// does not say. Nil: nothing is compared.
	Attempts func(error) int

	// Accept lists known deviations, and why they are accepted: by the name of an
	// invariant, all of its findings; by "row NAME", what a row of the matrix
	// comes to; by "sin NAME", that nothing notices it. [Check] fails once a rule's
	// deviation no longer occurs in 500 trials or more, unless they were interrupted,
	// the matrix once a row's does not, and [Sabotage] once a sin is noticed more often
	// than not.
	Accept map[string]string

	// Label gives labels to a trial, by its trace, which are counted like those of
	// [Coverage]: what matters of it to the user. It may be called by several
	// goroutines at once. Nil: there are none but those.
	Label func(*trace.Trace) []string

	// Require is in which part of the trials each label must be met, above 0 and up
	// to 1: a streak of five in one of twenty is "streak 5": 0.05. [Check] runs
	// more trials than planned until that is certain, 64 times as many at most, and
	// fails where a share is too low or cannot be decided. Of shards it is the run that
	// merges them which goes on. Where the number of trials is asked for, by -short,
	// flag or variable, and in a campaign, it fails only for a share that is certainly
	// too low, and logs what is undecided. Nil: no share is required.
	Require map[string]float64

	// Unreachable lists what no trial meets, and why, of what [Check] wants of
	// every adapter: by label, "rule NAME" for a rule that never applies, "tool
	// NAME" for one that is never called, "fault TOOL KIND" for a fault that never
	// reaches its tool. Check fails once a trial meets it. See [Coverage].
	Unreachable map[string]string

	// Serial runs trials one at a time, for code with package-level state. By
	// default [Check] runs them on all cores.
	Serial bool

	// Unseeded says that the code draws its jitter from a source that a trial cannot
	// seed, such as the functions of math/rand/v2, or that its random numbers are to be
	// left to chance. Its times then differ from run to run, and where two traces of
	// one schedule are compared they are left out, with all that follows from them.
	// False: math/rand and crypto/rand are seeded where Go allows it, and the same
	// schedule gives the same trace. Jitter of [Stage.Jitter] needs neither.
	Unseeded bool

	// Breaker is the contract of the circuit breaker in front of the tools.
	// With it, [Check] draws outages as well: many actions, with pauses between
	// them. Reason must then say which error is the breaker's refusal,
	// trace.ReasonBreakerOpen. Nil: there is no breaker.
	Breaker *invariants.Breaker

	// Breakers are the contracts of the circuit breakers in front of several tools,
	// one for each, in place of Breaker: every one names its Tool.
	Breakers []invariants.Breaker
	// Allowance is the contract of a budget that many actions share. With it,
	// [Check] draws schedules that use it up as well: many actions, in turn or at
	// once. It must be small enough for a trial to reach its end. Reason must then
	// say which error tells that nothing is left, trace.ReasonBudget. Nil: there is
	// none.
	Allowance *invariants.Allowance

	// Allowed names the tools that an action may call. The stage must have one
	// that it may not call. Empty: it may call all of them.
	Allowed []string

	// EscalatesAfter is how many actions in a row may fail before the turn is handed
	// on: no tool is called any more, and Reason says trace.ReasonEscalated. A trial
	// is one turn. With it, [Check] draws such rows as well. 0: nothing is handed on.
	EscalatesAfter int

	// Spreads says that the jitter of the waits differs between callers, so that
	// those that fail together do not come back together. With it, [Check] also
	// draws [Together] callers that all fail at once. False: it may be the same
	// for all, as where a test hands in its own.
	Spreads bool

	// Observation is the contract of what the code hands on when it fails, and
	// Observe returns it: the tool result for the model, or the part of the
	// returned error that says the same. It is asked after each action and
	// returns nil where nothing failed. Where the action returned no error and
	// Observe returns something, the action counts as failed: its failure is a
	// value. With Observation, [Check] draws failures whose words hold canaries.
	// Nil: what is handed on is not judged, and without Observe not recorded.
	Observation *invariants.Observation
	Observe     func(result any, err error) any

	// Sinks are the contracts of the places that the code writes records to,
	// such as a log or an audit trail; Subject builds each with [Sink]. With
	// them, [Check] draws records that fail, hang, take long or panic.
	Sinks []invariants.Sink

	// Cache is the contract of the cache in front of a tool, or of the sharing of
	// its requests; the code tells of each hit with [Stage.Hit]. With it, [Check]
	// draws actions with pauses around its times. Nil: there is none.
	Cache *invariants.Cache

	// Repeats is the contract of a tool that is itself the code under test. It
	// is set by [Served], which such an adapter is built with. Nil: the code
	// under test calls tools.
	Repeats *invariants.Repeats
	served  *served

	// Session is the contract of the sessions with the tools, which Subject opens by
	// [Stage.Sessions]. Nil: there is none, and nothing is judged of them.
	Session *invariants.Session

	// Loop is the contract of a loop that a model drives, which Subject builds on
	// [Stage.Model]: an action is a run of it, from the user's request until it
	// returns. Policy is then that of each call of a tool in its code. With it, [Check]
	// draws how the model misbehaves as well. Nil: the code is no such loop.
	Loop *invariants.Loop

	// RecoversWithin is how long the code may take, once the faults of a schedule have
	// stopped ([Schedule].Calm), until every action that was under way has ended and
	// every new one succeeds. 0: what is declared says how long; see
	// [invariants.Contract].
	RecoversWithin time.Duration

	// Invariants are further rules of the user's own. Their findings bear the name of
	// the rule; another one that they have goes in front of their text.
	Invariants []invariants.Invariant

	// Profile says how often what goes wrong, in place of the drawing of [Check] that
	// looks for boundaries. Nil: there is none.
	Profile *Profile

	// Trials is how many trials [Check] runs, a fifth of it with -short. 0: 1000.
	// The flag -rehearse.trials and the variable REHEARSE_TRIALS go before it.
	Trials int
}

// AcceptedRow begins the keys of [Adapter].Accept that speak of a row of the matrix.
const AcceptedRow = "row "

// acceptsElsewhere reports whether a key of Accept speaks of no invariant.
func acceptsElsewhere(key string) bool {
	return strings.HasPrefix(key, AcceptedRow) || strings.HasPrefix(key, AcceptedSin)
}

// Contract is what the adapter declares, apart from rules of its own.
func (a *Adapter) Contract() invariants.Contract {
	return invariants.Contract{
		Policy: a.Policy, Breakers: a.guards(), Allowance: a.Allowance, Allowed: a.Allowed,
		EscalatesAfter: a.EscalatesAfter, Spreads: a.Spreads,
		Sinks: a.Sinks, Cache: a.Cache, Observation: a.Observation, Session: a.Session, Loop: a.Loop, RecoversWithin: a.RecoversWithin,
	}
}

// invariants returns all rules that the adapter is held to.
func (a *Adapter) invariants() []invariants.Invariant {
	implied := contractOf(&a.Policy).invariants
	if a.served != nil {
		implied = a.served.rules
	} else if c := a.Contract(); !c.Plain() {
		implied = c.Invariants()
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

// guarded is a rule of the user's own whose findings have its name, by which failures
// are told apart (another one that they had goes into their text), and whose panic is a
// finding: trials are judged in goroutines of the toolkit, where it would end the test
// binary.
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
		v = check(tr)
		unnamed := func(f invariants.Finding) bool { return f.Invariant != inv.Name }
		if slices.ContainsFunc(v.Findings, unnamed) {
			v.Findings = slices.Clone(v.Findings) // the rule may hand the same out to other trials
			for i := range v.Findings {
				f := &v.Findings[i]
				if f.Invariant != "" && f.Invariant != inv.Name {
					f.Text = f.Invariant + ": " + f.Text
				}
				f.Invariant = inv.Name
			}
		}
		return v
	}
	return inv
}

// validate reports what makes the adapter unusable.
func (a *Adapter) validate() error { return a.validateFor(sharingActions) }

// validateFor is validate for trials in which so many actions share a process.
func (a *Adapter) validateFor(actions int) error {
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
	if a.Pages < 0 {
		errs = append(errs, fmt.Errorf("adapter %q: Pages is %d: say how many requests an action needs, or 0 for one", a.Name, a.Pages))
	}
	if a.Pages > mostCounted {
		errs = append(errs, fmt.Errorf("adapter %q: Pages is %d, and a trial counts to %d at most: build the code with fewer in Subject", a.Name, a.Pages, mostCounted))
	}
	if a.RecoversWithin < 0 {
		errs = append(errs, fmt.Errorf("adapter %q: RecoversWithin is %v: say how long the code may take once the faults have stopped, or 0 for what follows from the rest", a.Name, a.RecoversWithin))
	}
	if a.RecoversWithin != 0 && (a.Loop != nil || a.served != nil) {
		errs = append(errs, fmt.Errorf("adapter %q: RecoversWithin is about code that calls tools, and not about a loop or a tool under test: clear it", a.Name))
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
	var rules []string
	if len(a.Accept) > 0 {
		for _, inv := range a.invariants() {
			rules = append(rules, inv.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Accept)) {
		if !acceptsElsewhere(name) && !slices.Contains(rules, name) {
			errs = append(errs, fmt.Errorf("adapter %q: Accept names %q, which is none of its invariants: correct the name, take it out, or say \"row NAME\" for a row of the matrix and \"sin NAME\" for one of Sabotage%s", a.Name, name, near.Meant(name, rules)))
		}
		if strings.TrimSpace(a.Accept[name]) == "" {
			errs = append(errs, fmt.Errorf("adapter %q: Accept gives no reason for %q: say why the deviation is accepted", a.Name, name))
		}
	}
	if a.Repeats != nil {
		errs = append(errs, a.validateServed())
	}
	errs = append(errs, a.validateBreakers())
	if a.Allowance != nil {
		errs = append(errs, a.validateAllowance(actions))
	}
	if a.EscalatesAfter != 0 {
		errs = append(errs, a.validateEscalation())
	}
	if a.Spreads {
		errs = append(errs, a.validateSpread())
	}
	if a.Observation != nil {
		errs = append(errs, a.validateObservation())
	}
	errs = append(errs, a.validateSinks(), a.validateCache(), a.validateSession(), a.validateLoop(), a.validateProfile(), a.validateCoverage())
	errs = append(errs, a.validateRestart()...)
	if a.served == nil { // else the policy is made of the contract, which has been looked at
		errs = append(errs, contractOf(&a.Policy).err)
	}
	return errors.Join(errs...)
}

// Errors says how a function tool's failures look: the tool's own error for
// each class, and for trace.OK a [Value]: its answer that holds nothing, where it
// has one. A class that is absent cannot happen to the tool; schedules that
// need it do not apply. A tool that can ask for a wait has a [Hinted] error, and
// one that answers with a value instead of an error has a [Value].
type Errors map[trace.Class]error

// Hinted is an error that carries the wait the tool asks for: make is called
// with the hint of each fault, which is 0 where there is none.
func Hinted(make func(hint time.Duration) error) error { return &hinted{make} }

type hinted struct{ make func(time.Duration) error }

func (h *hinted) Error() string { return h.make(0).Error() }

// Advised is an error that says itself whether the tool may be called again, as
// one with a flag or a method Retryable does: make is called with the word of each
// fault, which can be none, and with its hint, which is 0 where there is none.
func Advised(make func(advice trace.Advice, hint time.Duration) error) error { return &advised{make} }

type advised struct {
	make func(trace.Advice, time.Duration) error
}

func (a *advised) Error() string { return a.make(trace.AdviceNone, 0).Error() }

// can reports whether the tool can answer as the fault plans.
func (e Errors) can(f *Fault) bool {
	if f.Empty {
		_, ok := e[trace.OK].(*value)
		return ok
	}
	if f.class() == trace.OK || f.Hang {
		return true
	}
	err, ok := e[f.class()]
	if !ok {
		return false
	}
	_, hints := err.(*hinted)
	_, advises := err.(*advised)
	_, isValue := err.(*value)
	return (f.Hint == 0 || hints || advises) && (f.Advice == trace.AdviceNone || advises) && !(f.packed() && isValue)
}

// forms says that a function tool asks for waits in one form, if it has any
// error that carries one.
func (e Errors) forms() []HintForm {
	for _, err := range e {
		switch err.(type) {
		case *hinted, *advised:
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
		_, isValue := err.(*value)
		ad, advises := err.(*advised)
		switch {
		case c == trace.OK && isValue:
			continue
		case c == trace.OK:
			wrong = errors.New("Errors lists ok, which is no failure: take it out, or give a Value there, the answer that holds nothing")
		case !fails(c):
			wrong = fmt.Errorf("Errors lists %v, which is no class of failure: take it out", c)
		case err == nil:
			wrong = fmt.Errorf("Errors[%v] is nil: give the tool's error, or leave the class out where it cannot happen", c)
		case hints && h.make == nil:
			wrong = fmt.Errorf("Errors[%v] is Hinted(nil): give the function that makes the error", c)
		case advises && ad.make == nil:
			wrong = fmt.Errorf("Errors[%v] is Advised(nil): give the function that makes the error", c)
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
	switch e := err.(type) {
	case *hinted:
		return e.make(f.Hint)
	case *advised:
		return e.make(f.Advice, f.Hint)
	}
	return err
}
