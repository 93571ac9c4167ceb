package invariants

import (
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Unlimited as MaxAttempts means that only Budget or Spend bounds the attempts.
const Unlimited = -1

// A Policy is the declared contract of retrying one tool: what the code under
// test promises to do after each answer. It is plain data; its whole content
// goes into traces and case files.
//
// The zero Policy is not valid: say at least MaxAttempts.
type Policy struct {
	// ID names the policy and its version, such as "weather/v2".
	ID string

	// MaxAttempts is the number of physical executions of the tool for one
	// action, the first included. 1: never retry. [Unlimited]: no bound but
	// Budget or Spend, one of which must then be set. 0 is an error, because
	// libraries differ on whether it means default, unlimited or none.
	MaxAttempts int

	// Attempt is the time that one attempt may take; the attempt then counts
	// as a timeout. 0: an attempt may take as long as the deadline allows.
	Attempt time.Duration

	// Budget is the action's own time for all attempts and waits, counted from
	// its begin, or anew from each restart (see RestartBudget). 0: none. The
	// caller's deadline is apart from it.
	Budget time.Duration

	// BudgetCuts says that an attempt under way ends with the budget. False:
	// the budget is looked at only before the next attempt.
	BudgetCuts bool

	// Price is what one attempt costs, failures included, in a unit of the
	// author's choice, such as tokens or cents; Spend is what the attempts of
	// one action may cost in all. The action ends where the next attempt would
	// exceed it. Both are set, or neither. 0: nothing is counted.
	Price, Spend int

	// Retry lists the classes that are retried. Every other failure is a
	// refusal and ends the action; trace.Unknown is no exception.
	Retry []trace.Class

	// Advice is what a failure's own word on retrying does. Zero: nothing.
	Advice AdviceUse

	// Undone lists further classes whose answer proves that the tool did
	// nothing, beside those where this lies in the meaning of the class
	// (throttled, not-connected, forbidden and the like). A service that sheds
	// load before it works can put trace.Transient here.
	Undone []trace.Class

	// Desired lists classes that mean "it is done already" when they answer a
	// repeat after an attempt whose effect is not known: not-found on a
	// repeated delete, conflict on a repeated create. The action has then
	// succeeded. Answering the first attempt they are refusals as ever.
	Desired []trace.Class

	// Backoff is the wait before the next attempt.
	Backoff Backoff

	// Hint is what a wait asked for by the tool (Retry-After) does.
	Hint Hint

	// Late is what happens when the next attempt no longer fits before the
	// caller's deadline; BudgetLate is the same for Budget.
	Late, BudgetLate Late

	// Key is where the idempotency key travels: the dotted path of a JSON
	// field in the arguments, or the name of an HTTP header. Empty: there is
	// none. With a key, the tool is expected to do the work of one key once. It is
	// wanted at every tool: where only some have one, since reads need none, it goes
	// into Tools, and Key here stays empty.
	Key string

	// Reconcile says that after an outcome that is not known the program asks
	// the tool what became of the attempt (calls of trace.RoleReconcile) and
	// goes by the answer: done is a success, not done may be repeated.
	Reconcile bool

	// Winner says which event decides where a tool that ignores the caller's
	// cancel succeeds after it.
	Winner Winner

	// Hedge says whether attempts of one action may overlap.
	Hedge Hedge

	// Restart is what becomes of an action when the program's process dies under
	// it and comes back. Empty: nothing is promised.
	Restart AfterRestart

	// RestartBudget says whether a restart begins Budget anew. Empty: it goes on,
	// and the time in which the process was down counts.
	RestartBudget BudgetAfterRestart

	// Drain says whether an attempt counts that was cut off because the program's
	// process was told to stop, and that was given back. Empty: either is right.
	Drain DrainedAttempt

	// Repeatable says that repeating the action is harmless, as with a read.
	Repeatable bool

	// Tools are the policies of tools that have one of their own, by their names
	// in traces: five attempts for one, and a single one for a write that is not
	// idempotent. Every other tool has this policy. Each series of attempts is
	// judged by its tool's; a Budget there counts from the first attempt of the
	// series. Keys are in one place for all. Nil: one policy for all tools.
	Tools map[string]Policy
	// Refresh is what the code does about credentials that expire.
	Refresh Refresh

	// Correct is what the code does about arguments that a tool rejects.
	Correct Correct
}

// Backoff is the law of the waits between attempts. The zero Backoff waits
// not at all.
type Backoff struct {
	Base   time.Duration // after the first failure
	Factor float64       // growth per failure; 0: 2, which doubles; 1: constant
	Cap    time.Duration // longest wait; 0: none
	CapIs  CapRule       // where the cap applies when there is jitter
	Jitter Jitter        // zero: none
	Delays []time.Duration
	// Delays, where set, lists the waits instead of Base and Factor; the last
	// one repeats.
}

// A CapRule says where the cap applies when there is jitter. Published
// algorithms differ: AWS caps before the jitter, so that its full jitter stays
// under the cap; gRPC's jitter may exceed the cap by a fifth.
type CapRule string

const (
	CapBefore CapRule = ""      // the interval is capped, then jittered
	CapAfter  CapRule = "after" // the interval is jittered, then capped
	CapBoth   CapRule = "both"  // capped, jittered, and capped again
)

// Jitter spreads a wait over a window: between Low and High times the interval.
// The zero Jitter is none.
type Jitter struct {
	Low, High float64
	// Decorrelated draws between the base and three times the wait before,
	// capped; Low and High are then not used.
	Decorrelated bool
}

// The published kinds of jitter (AWS Architecture Blog, "Exponential Backoff
// And Jitter", 2015).
var (
	FullJitter         = Jitter{Low: 0, High: 1}
	EqualJitter        = Jitter{Low: 0.5, High: 1}
	DecorrelatedJitter = Jitter{Decorrelated: true}
)

// Proportional jitter spreads the interval by the fraction f on both sides,
// as gRPC (0.2, gRFC A6) and cenkalti/backoff (0.5) do. f is at most 1.
func Proportional(f float64) Jitter { return Jitter{Low: 1 - f, High: 1 + f} }

// Between is jitter between low and high times the interval. Between(0, 0) is
// the zero Jitter, which is none.
func Between(low, high float64) Jitter { return Jitter{Low: low, High: high} }

// none reports whether the wait is exact.
func (j Jitter) none() bool { return j == Jitter{} }

// Hint is what a wait asked for by the tool (Retry-After, RFC 9110 section
// 10.2.3) does. The zero Hint takes the greater of the hint and the own
// backoff, without limit but the deadline.
type Hint struct {
	Use     HintUse
	Limit   time.Duration // longest hint that is followed; 0: any
	Over    HintOver      // what a hint above Limit does
	Jitter  float64       // the wait may exceed the hint by this fraction, never undercut it
	Classes []trace.Class // classes whose hint is read; empty: every class
	Resets  bool          // a hint starts the backoff series anew
}

// HintUse says how a hint and the own backoff combine.
type HintUse string

const (
	HintMax     HintUse = ""        // the greater of the two
	HintReplace HintUse = "replace" // the hint, even where it is shorter
	HintIgnore  HintUse = "ignore"  // the own backoff
)

// HintOver says what a hint above the limit does.
type HintOver string

const (
	OverStop   HintOver = ""       // the action ends; the caller can be told the hint
	OverClamp  HintOver = "clamp"  // the wait is the limit, which is earlier than the tool allows
	OverIgnore HintOver = "ignore" // as if there were no hint
)

// Late says what happens when the next attempt does not fit in time.
type Late string

const (
	LateStop Late = ""     // the action ends at once
	LateWait Late = "wait" // the wait begins, and the limit ends it; ending at once is legal too
)

// A Winner says which event decides an action that its caller has cancelled and
// whose tool, which ignores that, answers with a success behind the cancel.
type Winner string

const (
	WinnerEither  Winner = ""        // either, and the action ends once
	WinnerSuccess Winner = "success" // the action waits for the answer, and succeeds
	WinnerCancel  Winner = "cancel"  // the action ends as cancelled, and the answer is not used
)

// Retries reports whether the policy retries a failure of class c.
func (p *Policy) Retries(c trace.Class) bool { return slices.Contains(p.Retry, c) }

// harmless lists the classes whose meaning is that the tool did nothing.
var harmless = classSet(trace.Throttled, trace.QuotaExhausted, trace.NotConnected, trace.Invalid,
	trace.Unauthenticated, trace.Forbidden, trace.NotFound, trace.Conflict, trace.Declined)

// Effect is what the caller can know of an outcome's effect under the policy:
// what the outcome itself says, else what its class means.
func (p *Policy) Effect(o trace.Outcome) trace.Effect { return p.effect(&o) }

func (p *Policy) effect(o *trace.Outcome) trace.Effect {
	switch {
	case o.Effect != trace.EffectUnstated:
		return o.Effect
	case o.Class == trace.OK:
		return trace.EffectDone
	case harmless.has(o.Class), slices.Contains(p.Undone, o.Class):
		return trace.EffectNotDone
	}
	return trace.EffectUnknown
}

// safe reports whether the action may be repeated after the outcome.
func (p *Policy) safe(o *trace.Outcome) bool {
	return p.Repeatable || p.Key != "" || p.Reconcile || p.effect(o) == trace.EffectNotDone
}

// classes is a set of classes.
type classes uint32

func classSet(list ...trace.Class) classes {
	var s classes
	for _, c := range list {
		s |= 1 << c
	}
	return s
}

func (s classes) has(c trace.Class) bool { return s&(1<<c) != 0 }
