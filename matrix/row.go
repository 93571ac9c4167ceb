package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Row is one scenario of the matrix. What it expects is not written down: it
// follows from playing the policy's automaton over the row's faults.
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
}

// A Setting is what a row can build on.
type Setting struct {
	Policy invariants.Policy
	Can    func(faultsim.Fault) bool // whether the main tool can answer so
	Tools  []string                  // names of the tools on the stage, the main one first

	// Repeats is the contract of a tool under test; nil: the code calls tools.
	Repeats *invariants.Repeats

	breaker *invariants.Breaker // that the adapter declares; nil: none
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

// Rows returns the rows that every adapter runs, group by group. The first of
// each group are those of the regression matrix in "Testing Agent Tool-Call
// Retry Behavior", in its order, and the alternating errors of its adversarial
// section; behind them is what else a tool and a caller can do.
func Rows() []Row {
	rows := append(articleRows(), furtherRows()...)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Group.place(), b.Group.place()) })
	return rows
}

func articleRows() []Row {
	return []Row{
		{"immediate-success", "A tool that answers is called once.",
			func(Setting) (faultsim.Schedule, error) { return faultsim.One(), nil }, Basics},
		{"transient-then-success", "One passing failure costs one more attempt, and its answer is returned.", transientThenSuccess, Basics},
		{"transient-until-exhausted", "The attempts end exactly at the budget, with one honest failure.", transientUntilExhausted, Basics},
		{"invalid-arguments", "Arguments that the tool rejects are not sent again unchanged.", refusedBy(trace.Invalid), Basics},
		{"permission-denied", "A refusal ends the action and is not circumvented.", refusedBy(trace.Forbidden), Basics},
		{"success-then-stop", "After a success nothing is called again.", successThenStop, Basics},
		{"cancel-during-delay", "A cancel interrupts the wait, and no attempt follows.", cancelDuringDelay, Timing},
		{"ambiguous-write-timeout", "A reply lost after the effect is reconciled, repeated with the same key, or reported as unknown.", ambiguousWrite, Writes},
		{"transient-invalid-success", "A refusal ends the action though an earlier failure was transient; the success behind it stays unused.", alternating, Adversarial},
	}
}

func transientThenSuccess(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	return faultsim.One(f), err
}

func transientUntilExhausted(s Setting) (faultsim.Schedule, error) {
	f, err := s.Retried()
	n := s.Policy.MaxAttempts + 1
	if s.Policy.MaxAttempts == invariants.Unlimited {
		n = 200
	}
	faults := make([]faultsim.Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faultsim.One(faults...), err
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
