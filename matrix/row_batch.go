package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// batchRows fail single items of a batch. That a retry holds exactly the items
// that failed is the business of invariants.BatchRetry, where the adapter
// declares it; calls and terminal follow from the policy as ever.
func batchRows() []Row {
	return []Row{
		{Name: "item-refused", Proves: "An item that fails for good is not sent again, and is named.", Schedule: itemRefused},
		{Name: "item-passes", Proves: "An item whose failure may pass is sent again, and nothing else is.", Schedule: itemPasses},
		{Name: "items-pass-in-turn", Proves: "Each further request holds those items that still fail.", Schedule: itemsPassInTurn},
		{Name: "items-all-fail", Proves: "A request that is a success as a whole has failed where all of its items have.", Schedule: itemsAllFail},
		{Name: "items-of-both-kinds", Proves: "One item is sent again and another is not, each by its own class.", Schedule: itemsOfBothKinds},
		{Name: "item-until-exhausted", Proves: "An item that fails every time ends the batch at the attempts of the policy, as a failure.", Schedule: itemUntilExhausted},
		{Name: "item-then-request-fails", Proves: "A retry that fails as a whole leaves open the items that it held, and no others.", Schedule: itemThenRequest},
		{Name: "item-asks-for-a-wait", Proves: "An item that is throttled is sent again when the tool allows it.", Schedule: itemAsksForAWait},
	}
}

// itemsOf counts the items that an undisturbed action sends in its first
// request; 0: the main tool is no batch, or nothing can be learned.
func itemsOf(tr *trace.Trace, main string) int {
	if tr == nil {
		return 0
	}
	act := declared(tr)
	if act == nil {
		return 0
	}
	for i := range act.Attempts {
		if at := &act.Attempts[i]; at.Tool == main {
			return len(at.Items.List())
		}
	}
	return 0
}

// batches reports whether the main tool fails in single items.
func (s Setting) batches() bool {
	for _, c := range trace.Classes() {
		if s.Can(failing(item(1, c))) {
			return true
		}
	}
	return false
}

// item is the nth item of the action with a class, as schedules write it.
func item(n int, c trace.Class) string { return fmt.Sprintf("#%d:%v", n, c) }

// failing is a request in which the items fail and the others are done.
func failing(items ...string) faultsim.Fault {
	return faultsim.Fault{Class: trace.Partial, Items: trace.Items(strings.Join(items, ","))}
}

// passing is the class of an item's failure that the policy retries.
func (s Setting) passing() (trace.Class, error) {
	for _, c := range append([]trace.Class{trace.Transient, trace.Throttled}, s.Policy.Retry...) {
		if s.Policy.Retries(c) && s.Can(failing(item(1, c))) {
			return c, nil
		}
	}
	return 0, NotFor("the policy retries no failure that an item can have")
}

// final is the class of an item's failure that no retry mends.
func (s Setting) final() (trace.Class, error) {
	for _, c := range []trace.Class{trace.Invalid, trace.Forbidden, trace.NotFound, trace.Conflict, trace.Unauthenticated} {
		if !s.Policy.Retries(c) && s.Can(failing(item(1, c))) {
			return c, nil
		}
	}
	return 0, NotFor("no item can fail for good")
}

// several wants a batch with so many items, and a policy with so many attempts.
func (s Setting) several(items, attempts int) error {
	switch {
	case s.Items < items:
		return NotFor("the action sends %s in a request", plural(s.Items, "item"))
	case s.Policy.MaxAttempts > 0 && s.Policy.MaxAttempts < attempts:
		return NotFor("the policy has %s", plural(s.Policy.MaxAttempts, "attempt"))
	}
	return nil
}

func itemRefused(s Setting) (faultsim.Schedule, error) {
	c, err := s.final()
	return faultsim.One(failing(item(1, c))), err
}

func itemPasses(s Setting) (faultsim.Schedule, error) {
	c, err := s.passing()
	return faultsim.One(failing(item(1, c))), err
}

func itemsPassInTurn(s Setting) (faultsim.Schedule, error) {
	c, err := s.passing()
	if err == nil {
		err = s.several(2, 3)
	}
	return faultsim.One(failing(item(1, c), item(2, c)), failing(item(2, c))), err
}

func itemsAllFail(s Setting) (faultsim.Schedule, error) {
	c, err := s.passing()
	if err == nil {
		err = s.several(2, 1)
	}
	all := make([]string, s.Items)
	for i := range all {
		all[i] = item(i+1, c)
	}
	return faultsim.One(failing(all...)), err
}

func itemsOfBothKinds(s Setting) (faultsim.Schedule, error) {
	final, err := s.final()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	passing, err := s.passing()
	if err == nil {
		err = s.several(2, 1)
	}
	return faultsim.One(failing(item(1, final), item(2, passing))), err
}

func itemUntilExhausted(s Setting) (faultsim.Schedule, error) {
	c, err := s.passing()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	return s.throughout(failing(item(1, c)))
}

func itemThenRequest(s Setting) (faultsim.Schedule, error) {
	c, err := s.passing()
	if err != nil {
		return faultsim.Schedule{}, err
	}
	f, err := s.answering()
	if err == nil {
		err = s.several(2, 3)
	}
	return faultsim.One(failing(item(1, c)), f), err
}

func itemAsksForAWait(s Setting) (faultsim.Schedule, error) {
	for _, c := range s.Policy.Retry {
		f := failing(item(1, c))
		if f.Hint = 2 * time.Second; s.reads(c) && s.Can(f) {
			return faultsim.One(f), nil
		}
	}
	return faultsim.Schedule{}, NotFor("no item's failure that the policy retries can ask for a wait")
}

// handed adds the success with a report: an action whose items failed for good
// may return their names instead of an error. Whether it did is the business of
// invariants.HonestEnding.
func (s *Setting) handed(r *faultsim.Result, seen trace.Reason, e faultsim.Expectation) faultsim.Expectation {
	if s.Items > 0 && seen == trace.ReasonSuccess && len(r.Findings) == 0 && slices.Contains(e.Reasons, trace.ReasonPartial) {
		e.Reasons = append([]trace.Reason{trace.ReasonSuccess}, e.Reasons...)
	}
	return e
}
