package faultsim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Fault is what the schedule plans for one attempt of a tool. The zero Fault
// is an answer at once: there is nothing wrong with it.
type Fault struct {
	// Class is how the tool answers; zero is trace.OK. A planned latency can
	// still turn it into a timeout of the caller.
	Class trace.Class

	// Hint is the wait that the tool asks for; 0: none. Form is how it says so
	// over HTTP.
	Hint time.Duration
	Form HintForm

	// Items are the items of a [Batch] that fail, each with its class, while
	// the others are done: "b:throttled,#3:forbidden". An item is named by its
	// id, or by its number among those that the action sends this tool, in the
	// order in which it first sends them. Class is then trace.Partial.
	Items trace.Items

	// Latency is the time until the answer.
	Latency time.Duration

	// Hang: the tool never answers; it returns when its context ends.
	Hang bool

	// Done: the tool does its work as soon as the call arrives, whatever the
	// caller sees of it. With a failing class this is the lost reply; a class
	// which means that nothing was done is then a lie, and does not fit a write
	// without a key.
	Done bool

	// Deaf: the tool ignores that its context ends, and answers in its own time.
	Deaf bool

	// Empty: the tool's answer holds nothing, as of a search that finds nothing.
	// It is a valid answer. How it looks is for the tool to say: [Errors] with a
	// [Value] for trace.OK, or a Route's Empty. Class is then zero or trace.OK.
	Empty bool

	// Cancel is when the caller cancels the action, counted from the arrival
	// of this attempt; 0: it does not. Less than Latency is a cancel in
	// flight, more is one during the wait that follows.
	Cancel time.Duration

	// Crash is when the process of the code under test dies, counted from the
	// arrival of this attempt; 0: it does not. Less than Latency is a crash in
	// flight, more is one during the wait that follows. What is under way at the
	// tool goes on, and the answer never arrives. See [Adapter].Resume.
	Crash time.Duration

	// Drain is when the process of the code under test is told to stop, counted
	// from the arrival of this attempt; 0: it is not. It has the time of
	// [Plan].Grace to end the action or to hand it back, and is killed at the end of
	// it, as by a crash. See [Adapter].HandedBack and [Stage.Draining].
	Drain time.Duration

	// Say is the words of a failing answer, whatever its class; empty: the
	// tool's own. A function tool's error reads so and unwraps to the tool's
	// own error; over HTTP it is the message in the body. Words are data: the
	// class decides.
	Say string

	// Advice is the failing tool's own word on whether it may be called again; zero:
	// it says nothing. It is data, and what it does is the policy's to say.
	Advice trace.Advice

	// Wrap is how a function tool packs its error.
	Wrap WrapForm

	// Work is when the tool does its work, from the arrival of the call, in
	// place of Done's at once: before the answer, after it, or when the caller
	// has long given up. 0: as Done says.
	Work time.Duration

	// Body is how long the body of an HTTP answer takes, from the status on: it
	// comes in pieces ([Route].Streams). Class is trace.OK, or trace.Reset where
	// the connection breaks behind the first half of it; with Hang nothing comes
	// behind that half, and no end. The status says success in all three, and
	// the tool has done its work. A model's stream over the wire can give up as well,
	// with an event that says why: trace.Transient, Throttled or QuotaExhausted
	// ([Model.Client]). 0: the body comes with the status.
	Body time.Duration

	// Twice: the network delivers the call twice, and the tool does its work
	// for each, unless it knows the key. It fits where the policy has a Key, or
	// where the action is Repeatable.
	Twice bool

	// Move is how a [Model] misbehaves in this turn, which it then answers: Class is
	// zero or trace.OK.
	Move Move

	// Valid is how long the leave of an approver is worth something; see
	// [Stage.Approver]. 0: as long as the approver says.
	Valid time.Duration

	// Panic: writing the record panics. Only a [Sink] can do that; its class is
	// then zero.
	Panic bool
}

// A HintForm is how a wait is asked for over HTTP.
type HintForm string

const (
	HintSeconds HintForm = ""     // Retry-After: 2
	HintDate    HintForm = "date" // Retry-After: Fri, 31 Dec 1999 23:59:59 GMT, with a Date header
	HintMillis  HintForm = "ms"   // Retry-After-Ms: 2000

	// HintSkewed is HintDate from a server whose clock is five minutes behind.
	// Date and Retry-After agree; the caller's clock agrees with neither.
	HintSkewed HintForm = "skewed"
)

var hintForms = []HintForm{HintSeconds, HintDate, HintSkewed, HintMillis}

// class is the planned class with the zero value read.
func (f *Fault) class() trace.Class {
	if f.Class == 0 {
		return trace.OK
	}
	return f.Class
}

// longestTime bounds each time of a fault: what takes longer could not be told
// from an action that never returns.
const longestTime = 365 * 24 * time.Hour

// validate reports what makes the fault unplayable.
func (f *Fault) validate() error {
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{{"Hint", f.Hint}, {"Latency", f.Latency}, {"Cancel", f.Cancel}, {"Crash", f.Crash}, {"Drain", f.Drain}, {"Work", f.Work}, {"Body", f.Body}, {"Valid", f.Valid}} {
		if d.value < 0 {
			return fmt.Errorf("%s is %v: times are counted forward; 0 is none", d.field, d.value)
		}
		if d.value > longestTime {
			return fmt.Errorf("%s is %v: a trial plays a year (%v) at most", d.field, d.value, longestTime)
		}
	}
	if err := f.validateItems(); err != nil {
		return err
	}
	switch {
	case f.Class > trace.Unknown:
		return fmt.Errorf("Class is %v, which does not exist", f.Class)
	case !slices.Contains(hintForms, f.Form):
		return fmt.Errorf("Form is %q: say HintSeconds, HintDate, HintSkewed or HintMillis", f.Form)
	case f.Form != HintSeconds && f.Hint == 0:
		return fmt.Errorf("Form is %q and Hint is 0: say how long the wait is that the tool asks for, or clear Form", f.Form)
	case f.Empty && (f.class() != trace.OK || f.Hang):
		return errors.New("Empty is a valid answer, and this attempt has none: clear Class and Hang, or Empty")
	case f.Hang && f.Latency > 0:
		return errors.New("Hang and Latency contradict each other: a tool that hangs does not answer; clear one")
	}
	if err := f.validMove(); err != nil {
		return err
	}
	if err := f.validWork(); err != nil {
		return err
	}
	if err := f.validBody(); err != nil {
		return err
	}
	return f.validWords()
}

// Fail is a fault of the class, at once.
func Fail(c trace.Class) Fault { return Fault{Class: c} }

// Lose is the lost reply: the tool does its work, and the caller sees class c.
func Lose(c trace.Class) Fault { return Fault{Class: c, Done: true} }

// Throttle is a throttled answer that asks for a wait.
func Throttle(hint time.Duration) Fault { return Fault{Class: trace.Throttled, Hint: hint} }

// Main stands for the adapter's main tool: the first one that its Subject
// puts on the stage. Rows that fit any adapter use it.
const Main = "*"

// A Plan is one action of a schedule.
type Plan struct {
	// After is a pause before the action begins: from the end of the one before
	// it, or from its begin where the actions run at once. 0: none.
	After time.Duration

	// Again: an operator has the action before it done again, which has ended.
	// It is the same intention, and begins with attempts and a clock of its own.
	// See [Adapter].Again.
	Again bool

	// Faults holds, for each tool by name, the faults of its first attempt in
	// this action, its second, and so on. Attempts beyond the list are
	// answered at once.
	Faults map[string][]Fault

	// Deadline is the caller's deadline, counted from the action's begin; 0: none.
	Deadline time.Duration

	// Cancel is when the caller cancels, counted from the action's begin; 0:
	// never. Negative: before the action begins, which the text form writes as
	// cancel=before.
	Cancel time.Duration

	// Key is which of the adapter's keys the call carries, and Other whether
	// it has the other arguments, where the code under test is a tool; see
	// [Served]. 0 is the first key.
	Key   int
	Other bool
	// CrashBeforeWrite and CrashAfterWrite are the numbers of the action's
	// writes to the [Disk], counted from 1 over all its lives, at which the
	// process dies: as the write is about to become durable, or as soon as it
	// is. 0: at none.
	CrashBeforeWrite, CrashAfterWrite int

	// Restart is how long the process is down after each crash of the action, and
	// after each drain. 0: a second.
	Restart time.Duration

	// Grace is how long the process has after each drain of the action, before it
	// is killed. 0: half a minute, as Kubernetes gives.
	Grace time.Duration
}

// NoKey is the [Plan].Key of a call that carries none.
const NoKey = -1

// A Schedule is the faults of one trial. It is data with a text form: see
// [Parse] and [Schedule.String].
type Schedule struct {
	// Actions are the actions that run, on one instance of the subject. Empty:
	// one action and no faults.
	Actions []Plan

	// AtOnce: the actions begin together, 3 ns apart so that their
	// order is data, instead of one after another.
	AtOnce bool

	// Outages and Quotas are what a tool does by the time, and not by the
	// number of the attempt. An outage goes before a quota, and that before
	// the attempt's own fault.
	Outages []Outage
	Quotas  []Quota

	// Jitter pins the numbers of [Stage.Jitter] to one end.
	Jitter JitterPin

	// Serial are tools that serve one call at a time; [Main] is the adapter's
	// first. Calls that arrive meanwhile wait in the order of their arrival, and
	// one whose context ends leaves. A call that nobody cancels keeps its place
	// until it is answered, and those behind it wait.
	Serial []string

	// Expiries are the instants, from the begin of the first action, at which
	// all credentials that were issued before expire: see [Stage.Issuer].
	Expiries []time.Duration

	// Calm is the instant, from the begin of the first action, at which the faults
	// stop: no attempt, record or dial that begins then or later meets any, no outage
	// and no quota holds, and no process dies. A call that is under way is answered as
	// it was planned to be, late or never: a service that is up again has forgotten
	// what hung in it, and it is for the caller to give such a call up. What a caller
	// does, a deadline or a cancel, is no fault and stays; so do Expiries, Serial and
	// Jitter. The trace has the instant: see [trace.Trace.Recovery]. 0: never.
	Calm time.Duration
}

// One is the schedule of a single action in which the main tool has the
// faults, attempt by attempt.
func One(faults ...Fault) Schedule {
	return Schedule{Actions: []Plan{{Faults: map[string][]Fault{Main: faults}}}}
}

// plans returns the actions, at least one.
func (s *Schedule) plans() []Plan {
	if len(s.Actions) == 0 {
		return make([]Plan, 1)
	}
	return s.Actions
}
