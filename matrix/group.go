package matrix

import (
	"slices"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A Group files the rows of the matrix by what they are about.
type Group string

// The first four and the recovery are run for every adapter, the others for those
// that give reason to.
const (
	Basics      Group = "basics"      // calls and ends
	Timing      Group = "timing"      // cancels, deadlines and hints
	Writes      Group = "writes"      // effects and what actions share
	Adversarial Group = "adversarial" // what a hostile or muddled tool sends
	Streaming   Group = "streaming"   // answers that come over time, where a route has such
	Paged       Group = "pages"       // later requests that fail, where an action needs several
	Batches     Group = "batch"       // single items that fail, where the main tool is a faultsim.Batch
	Breakers    Group = "breaker"     // many actions before a breaker, where one is declared
	Layers      Group = "layers"      // failures of all kinds through all layers, where the physical attempts are bounded
	Budgets     Group = "budgets"     // what one action may spend and what many share, where that is declared
	Restarts    Group = "restart"     // crashes of the process, where the adapter has a Resume, drains of it, where it has HandedBack, and an operator's retries, where it has Again
	Access      Group = "access"      // credentials that expire, where the policy refreshes them
	Definitions Group = "definitions" // schemas that change, where the policy lets arguments be corrected
	Sessions    Group = "sessions"    // sessions that are lost, where there are such
	Observed    Group = "observation" // what is handed on of a failure, where that is declared
	Records     Group = "records"     // logs and audits that fail, where there are sinks
	Recoveries  Group = "recovery"    // faults that stop, for every adapter but those of loops and tools
	Loops       Group = "loop"        // a loop that a model drives, in place of the groups above but observation and records
	Leaves      Group = "leave"       // somebody who is asked before a call, where there is one
	Talks       Group = "talk"        // replies that come in pieces, where they do
	Repeated    Group = "repeats"     // what a tool under test makes of a second call, in place of all others
)

// own is the group of rows that name none.
const own Group = "own"

func (g Group) orOwn() Group {
	if g == "" {
		return own
	}
	return g
}

// A shelf is rows of a group. runs says which adapters run them; nil: all.
type shelf struct {
	group Group
	rows  func() []Row
	runs  func(*Setting, *faultsim.Adapter) bool
}

// shelves are in the order of the grid.
func shelves() []shelf {
	return []shelf{
		{Basics, basicRows, nil},
		{Basics, toolRows, func(s *Setting, _ *faultsim.Adapter) bool { return len(s.Policy.Tools) > 0 }},
		{Timing, timingRows, nil},
		{Timing, winnerRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Winner != invariants.WinnerEither }},
		{Timing, spreadRows, func(_ *Setting, a *faultsim.Adapter) bool { return a.Spreads }},
		{Timing, jitterRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Backoff.Jitter != (invariants.Jitter{}) }},
		{Writes, writeRows, nil},
		{Adversarial, adversarialRows, nil},
		{Adversarial, adviceRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Advice != invariants.AdviceIgnored }},
		{Adversarial, allowedRows, func(s *Setting, _ *faultsim.Adapter) bool { return len(s.allowed) > 0 }},
		{Streaming, streamingRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.streams() }},
		{Paged, pageRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Pages > 1 }},
		{Batches, batchRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Items > 0 }},
		{Breakers, breakerRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Breaker != nil }},
		{Layers, layerRows, func(_ *Setting, a *faultsim.Adapter) bool { return bounded(a) }},
		{Budgets, spendRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Spend > 0 }},
		{Budgets, escalationRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.escalates > 0 }},
		{Budgets, allowanceRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.allowance != nil }},
		{Restarts, restartRows, func(_ *Setting, a *faultsim.Adapter) bool { return a.Resume != nil }},
		{Restarts, drainRows, func(_ *Setting, a *faultsim.Adapter) bool { return a.HandedBack != nil }},
		{Restarts, operatorRows, func(_ *Setting, a *faultsim.Adapter) bool { return a.Again != nil }},
		{Access, accessRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Refresh.Once }},
		{Definitions, definitionRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Policy.Of(s.Tools[0]).Correct.Once }},
		{Sessions, sessionRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.sessions }},
		{Observed, observationRows, func(_ *Setting, a *faultsim.Adapter) bool { return a.Observation != nil }},
		{Records, recordRows, func(s *Setting, _ *faultsim.Adapter) bool { return len(s.Sinks) > 0 }},
		{Recoveries, calmRows, nil},
		{Recoveries, guardedCalmRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Breaker != nil }},
		{Loops, loopRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.loop != nil }},
		{Loops, goalRows, func(s *Setting, _ *faultsim.Adapter) bool {
			return s.loop != nil && s.loop.Goal != "" && s.loop.Goal != s.Tools[0] && slices.Contains(s.Tools, s.loop.Goal)
		}},
		{Leaves, leaveRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.loop != nil && len(s.cast.Approvers) > 0 }},
		{Talks, talkRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.loop != nil && s.talks() }},
		{Repeated, repeatRows, func(s *Setting, _ *faultsim.Adapter) bool { return s.Repeats != nil }},
	}
}

// Groups returns all groups in the order of the grid.
func Groups() (list []Group) {
	for _, s := range shelves() {
		list = append(list, s.group)
	}
	return slices.Compact(list)
}

// RowsOf returns the rows of a group, also of one that only some adapters run.
// The first ones of the first four are those of the regression matrix in
// "Testing Agent Tool-Call Retry Behavior", in its order, and the alternating
// errors of its adversarial section; behind them is what else a tool and
// a caller can do.
func RowsOf(g Group) (rows []Row) {
	for _, s := range shelves() {
		if s.group == g {
			rows = append(rows, s.filed()...)
		}
	}
	return rows
}

// filed returns the rows with their group.
func (s *shelf) filed() []Row {
	rows := s.rows()
	for i := range rows {
		rows[i].Group = s.group
	}
	return rows
}

// Rows returns the rows that every adapter runs, group by group.
func Rows() (rows []Row) {
	for _, s := range shelves() {
		if s.runs == nil {
			rows = append(rows, s.filed()...)
		}
	}
	return rows
}

// forLoops are the groups of a loop that a model drives. The others are about one
// action of one tool.
var forLoops = []Group{Observed, Records, Loops, Leaves, Talks}

// talks reports whether a reply of the model can come in pieces.
func (s *Setting) talks() bool {
	return len(s.cast.Models) > 0 && s.cast.Can(s.cast.Models[0], faultsim.Fault{Body: 1})
}

// rowsFor returns the rows that the adapter runs.
func (s *Setting) rowsFor(a *faultsim.Adapter) (rows []Row) {
	if s.Repeats != nil {
		return RowsOf(Repeated)
	}
	for _, sh := range shelves() {
		if s.loop != nil && !slices.Contains(forLoops, sh.group) {
			continue
		}
		if sh.runs == nil || sh.runs(s, a) {
			rows = append(rows, sh.filed()...)
		}
	}
	return rows
}

func basicRows() []Row {
	return []Row{
		{Name: "immediate-success", Proves: "A tool that answers is called once.", Schedule: Fixed(faultsim.One())},
		{Name: "transient-then-success", Proves: "One passing failure costs one more attempt, and its answer is returned.", Schedule: transientThenSuccess},
		{Name: "transient-until-exhausted", Proves: "The attempts end exactly at the budget, with one honest failure.", Schedule: transientUntilExhausted},
		{Name: "invalid-arguments", Proves: "Arguments that the tool rejects are not sent again unchanged.", Schedule: refusedBy(trace.Invalid)},
		{Name: "permission-denied", Proves: "A refusal ends the action and is not circumvented.", Schedule: refusedBy(trace.Forbidden)},
		{Name: "success-then-stop", Proves: "After a success nothing is called again.", Schedule: successThenStop},
		{Name: "unknown-failure", Proves: "A failure that nobody can read is not tried again unless the policy says so.", Schedule: refusedBy(trace.Unknown)},
		{Name: "business-decline", Proves: "A business no is a valid answer, and neither a failure nor a reason to ask again.", Schedule: refusedBy(trace.Declined)},
		{Name: "empty-answer", Proves: "An answer that holds nothing is an answer: no failure, not asked for again, and not filled.", Schedule: emptyAnswer},
		{Name: "malformed-answer", Proves: "An answer without what it must have is no evidence of a success.", Schedule: refusedBy(trace.Malformed)},
		{Name: "success-at-the-last-attempt", Proves: "The answer of the last attempt that is permitted is the action's, as any other is.", Schedule: successAtTheLast},
	}
}

// emptyAnswer queues a failure behind the answer, for whoever asks again.
func emptyAnswer(s Setting) (faultsim.Schedule, error) {
	empty := faultsim.Fault{Empty: true}
	if !s.Can(empty) {
		return faultsim.Schedule{}, NotFor("the tool has no answer that holds nothing")
	}
	f, err := s.Retried()
	if err != nil {
		return faultsim.One(empty), nil
	}
	return faultsim.One(empty, f), nil
}
