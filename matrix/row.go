package matrix

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Row is one scenario of the matrix. What it expects is not written down: it
// follows from playing the policy's automaton over the row's faults, unless
// InAll says so.
type Row struct {
	Name   string // stable, in kebab case: it names the subtest
	Proves string // one sentence

	// Schedule makes the row's faults for an adapter. It can return an error
	// made by [NotFor], which skips the row with that reason. A row whose
	// faults the tools cannot show is skipped as well; one that speaks of a
	// tool which is not on the stage fails.
	Schedule func(Setting) (faultsim.Schedule, error)
	// Group is where the grid files the row. Empty: a row of one's own.
	Group Group

	// InAll, where set, says what all actions of the row come to together: the
	// attempts of the main tool in all of them, and the terminal of the last. It
	// is asked after Schedule has made the row. Nil: calls and terminal are
	// expected of the first action, as the policy has them.
	InAll func(Setting) faultsim.Expectation
}

// A Setting is what a row can build on.
type Setting struct {
	Policy invariants.Policy
	Can    func(faultsim.Fault) bool // whether the main tool can answer so
	Tools  []string                  // names of the tools on the stage, the main one first
	Sinks  []invariants.Sink         // contracts of the sinks on the stage

	// Repeats is the contract of a tool under test; nil: the code calls tools.
	Repeats *invariants.Repeats

	Breaker *invariants.Breaker // of the main tool; else of another; nil: the adapter declares none
	Pages   int                 // requests of the main tool that an undisturbed action makes; 0: 1
	Items   int                 // that an undisturbed action sends in its first request; 0: the main tool is no batch

	guards    []invariants.Breaker  // of several tools
	allowance *invariants.Allowance // that the adapter declares; nil: none
	allowed   []string              // the tools that an action may call; empty: any
	cache     *invariants.Cache     // of the adapter; nil: none
	sessions  bool                  // the adapter has a contract of its sessions
	loop      *invariants.Loop      // of a loop that a model drives; nil: the code is none
	cast      faultsim.Cast
	recovers  time.Duration // within which it has to, as the adapter declares; 0: no time
	escalates int           // failed actions in a row after which the turn is handed on; 0: never
}

// Fixed is the Schedule of a row that is the same for every adapter.
func Fixed(s faultsim.Schedule) func(Setting) (faultsim.Schedule, error) {
	return func(Setting) (faultsim.Schedule, error) { return s, nil }
}

// NotFor is the reason why a row does not apply to an adapter.
func NotFor(format string, args ...any) error {
	return &faultsim.UnfitError{Text: fmt.Sprintf(format, args...)}
}

// Retried returns a plain failure that the policy retries and the tool can
// show: transient where possible.
func (s Setting) Retried() (faultsim.Fault, error) {
	for _, c := range append([]trace.Class{trace.Transient}, s.Policy.Retry...) {
		if f := faultsim.Fail(c); s.Policy.Retries(c) && s.Can(f) {
			return f, nil
		}
	}
	if s.Policy.Retries(trace.Timeout) && s.Policy.Attempt > 0 {
		return faultsim.Fault{Hang: true}, nil
	}
	return faultsim.Fault{}, NotFor("the policy retries nothing that the tool can answer")
}

func transientThenSuccess(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	return faultsim.One(f), err
}

// thousands is how often a tool fails whose attempts only a budget bounds: waits
// that wrap around do so late.
const thousands = 5000

func transientUntilExhausted(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	n := s.Policy.Most() + 1
	if s.Policy.Most() == invariants.Unlimited {
		n = thousands
	}
	return faultsim.One(slices.Repeat([]faultsim.Fault{f}, n)...), err
}

// successAtTheLast fails every attempt but the last one that the policy is certain to
// permit.
func successAtTheLast(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	if s.Policy.MaxAttempts == invariants.Unlimited && s.Policy.Backoff.Jitter != (invariants.Jitter{}) {
		return faultsim.Schedule{}, NotFor("thousands of windows leave open which attempt is the last")
	}
	failing, _ := transientUntilExhausted(s)
	e, ends := faultsim.ExpectPages(s.Policy, failing, s.Pages)
	if !ends || e.Least < 2 {
		return faultsim.Schedule{}, NotFor("the policy is not certain to permit a second attempt")
	}
	return faultsim.One(slices.Repeat([]faultsim.Fault{f}, e.Least-1)...), nil
}

func refusedBy(c trace.Class) func(Setting) (faultsim.Schedule, error) {
	return func(s Setting) (faultsim.Schedule, error) {
		if !s.Can(faultsim.Fail(c)) {
			return faultsim.Schedule{}, NotFor("the tool cannot answer %v", c)
		}
		return faultsim.One(faultsim.Fail(c)), nil
	}
}

// successThenStop queues a failure behind the success: whoever fetches it has
// gone on.
func successThenStop(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	return faultsim.One(faultsim.Fault{}, f), err
}

func cancelDuringDelay(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	lo, hi := s.Policy.Backoff.Window(1, 0)
	wait := lo
	if wait == 0 {
		wait = hi
	}
	if wait < 2 {
		return faultsim.Schedule{}, NotFor("the policy does not wait before the second attempt")
	}
	f.Cancel = wait / 2
	if f.Hang {
		f.Cancel += s.Policy.Attempt
	}
	return faultsim.One(f), nil
}

func ambiguousWrite(s Setting) (faultsim.Schedule, error) {
	for _, f := range []faultsim.Fault{faultsim.Lose(trace.Timeout), faultsim.Lose(trace.Reset)} {
		if s.Can(f) {
			return faultsim.One(f), nil
		}
	}
	if s.Policy.Attempt > 0 {
		return faultsim.One(faultsim.Fault{Hang: true, Done: true}), nil
	}
	return faultsim.Schedule{}, NotFor("the tool cannot time out or lose its reply")
}

func alternating(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	if err == nil && !s.Can(faultsim.Fail(trace.Invalid)) {
		err = NotFor("the tool cannot answer %v", trace.Invalid)
	}
	return faultsim.One(f, faultsim.Fail(trace.Invalid)), err
}
