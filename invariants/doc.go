// Package invariants judges traces of retrying programs: was what happened
// what the declared policy allows?
//
// # From policy to verdict
//
// A [Policy] is the contract of retrying one tool, as plain data: how many
// attempts, which failures are retried, how long the waits are, what a tool's
// own hint does, what happens when time runs short. It is written once, beside
// the adapter, and reviewed like code.
//
// The policy is also an automaton. [Policy.Start] begins a [Series]; after each
// answer [Series.Next] says what is allowed: stop, for a reason; go on, after a
// wait within a window; or either. [Conforms] plays the automaton along a trace
// and compares. So the count is exact, giving up too early is found as surely
// as going on too long, and the program under test need not cooperate: in
// virtual time every gap is visible.
//
// # Worth retrying, safe to retry
//
// These are two questions, and a policy answers both. Worth retrying is a
// matter of the class: [Policy.Retry] lists the failures that may pass. Every
// other class is a refusal, and trace.Unknown is no exception. Safe to retry is
// a matter of the action: a read (Repeatable), a write with an idempotency key
// (Key), or an outcome that proves that nothing was done (by its class, by
// Undone, or by what the tool says). A timeout of a payment without a key is
// worth retrying and not safe: the automaton stops with outcome-unknown.
// [Policy.Validate] refuses a policy that asks for the impossible.
//
// # Done already
//
// A delete whose reply was lost is repeated and finds nothing: it has succeeded.
// [Policy.Desired] lists the classes that mean so when they answer a repeat
// after an attempt whose effect is not known. The same answer to a first attempt
// is a refusal, and so is one that follows attempts which surely did nothing. A
// conflict that answers such a repeat of a write and is not in the list may be
// with the own attempt: the end is outcome-unknown, and "refused" would be untrue.
//
// # Credentials
//
// An unauthenticated answer is a refusal, unless [Policy.Refresh] promises that it
// is mended: by one refresh (a call of trace.RoleAuth) and one repeat. The second
// in a row is a refusal again. [NewCredentialUsed], [RefreshedOnce] and
// [RefreshShared] name what goes wrong in it.
//
// # Corrections
//
// An invalid answer ends an action, unless [Policy.Correct] allows one correction:
// the schema may have changed, so the tool's definition is looked at anew (a call
// of trace.RoleDefinitions), and what has a safe mapping is sent once more.
// [RejectedPayload], [CorrectionGrounded], [ProtectedArguments] and [CorrectedOnce]
// name what goes wrong in it.
//
// # Sessions
//
// A [Session] is the contract of connections whose state is apart from the outcome
// of a call: one that was lost is not used again, one that others use is not
// closed, and dials are counted and spaced. It is beside the policy, which says
// what may be repeated after the loss.
//
// # Limiters
//
// [RateLimit] and [Concurrency] hold what reaches a tool, over all actions, to the
// promise of a limiter in front of it. No policy implies them: hand them to the
// adapter. The time in which the program waits there is no part of a backoff where
// the trace shows it, as a call of trace.RoleTurn.
//
// # Narrow invariants
//
// Each names one fault, needs no policy or little of it, and reads well in a
// report: [MaxAttempts], [NoRetryAfter], [StopAfterSuccess], [SameArguments],
// [OneKey], [OneEffect], [NoFirstDelay], [NoLastDelay], [WaitsInWindow],
// [HintHonoured], [WithinDeadline], [WithinBudget], [WithinSpend], [AdviceHeeded], [AttemptTimeout], [WholeAttempt],
// [NoAttemptAfterCancel], [NoCallOnDeadContext], [EndsAtCancel],
// [CancelReachesTool], [NoAttemptAfterEnd], [NoEffectAfterEnd], [HonestEnding], [OneTerminal],
// [NothingLeft], [Returns], [NoPanic], [NoSpin], [SurvivesRestart],
// [InterruptedAuditable], [OperatorRetry]. [Policy.Invariants] is all
// that a policy implies, narrow ones first and Conforms last. An invariant of
// your own is a literal of [Invariant].
//
// # Verdicts
//
// A check returns a [Verdict]. Applied counts how often the rule could have
// been broken. A check that never applied has proved nothing, and [Verify]
// reports it; [WhereItApplies] gives leave, for one set of rules over many
// traces, and those of [Policy.Invariants] have it. [Find] is the same without a test.
//
//	func TestForecastSurvivesTwo503(t *testing.T) {
//		weather := scripted.NewTool[Query, Forecast](t, "weather").
//			Fail(trace.Transient, errUnavailable).Times(2).
//			Return(Forecast{Celsius: 19})
//		if _, err := agent.Forecast(t.Context(), weather.Call, "Pune"); err != nil {
//			t.Fatal(err)
//		}
//		invariants.Verify(t, weather.Trace(), invariants.MaxAttempts(3), invariants.SameArguments())
//	}
//
// # Several tools
//
// [Policy.Tools] holds the policies of tools that have one of their own: three
// attempts for a read, five for a write with a key, one for a mail. Each series
// is judged by its tool's policy, with a budget of its own from its first attempt,
// and the end of an action is that of its last series.
//
// # Cost
//
// [Policy.Price] is what one attempt costs, whatever becomes of it, and
// [Policy.Spend] what the attempts of one action may cost in all: tokens, cents
// or metered requests. The automaton stops with the reason budget where the next
// attempt would exceed it, and [WithinSpend] names the attempt that did.
//
// # Callers in step
//
// A window is kept by a jitter that is the same for all callers too.
// [JitterSpreads] compares the waits of several actions, where chance would make
// them all the same less than once in 1e9. It is declared, not implied: a test may
// hand in a jitter of its own.
//
// # Tools that an action may call
//
// A retry budget gives no further rights. [AllowedTools] names the tools that an
// action may call, and finds the one that it turned to when those were down.
//
// # Trajectories
//
// Which calls a run makes is a rule of its own, apart from how each is retried. A
// [Step] names a tool and what its arguments have to be: all of them
// (StepMatcher.Args), some (Partial, Only), what a function says (Where), or
// anything. Five rules compare each action's calls with a list of steps, and a
// sixth orders two:
//
//	            order   a step without a call   a call without a step
//	Exact       yes     a fault                 a fault
//	InOrder     yes     a fault                 fine
//	Unordered   free    a fault                 a fault
//	AtLeast     free    a fault                 fine
//	AtMost      free    fine                    a fault
//
// [Before] wants one call answered before another is made. A call with its retries
// is one step, unless a [Trajectory] says otherwise. A finding takes calls for
// steps so that most of them fit, tells the first difference, and shows both lists
// beside each other.
//
//	invariants.Verify(t, tr, invariants.InOrder(
//		invariants.Step("search").Args(`{"city":"Pune"}`),
//		invariants.Step("book").Partial(map[string]any{"room": 7})))
//
// Where faults are drawn, an action that one of them ends has made some of the
// steps only: say Trajectory{Succeeded: true}.
//
// # Failures in a row
//
// [EscalatesAfter] counts failed actions over the trace, which is one turn of an
// agent: once so many in a row have failed, no tool is called any more, and the
// next action ends as escalated.
//
// # Recovery
//
// What was learned of an outage must not outlast it. Where a trace has the instant at
// which its faults stop (trace.Recorder.Calm, or the calm of a schedule), [Recovers]
// wants every action that was under way to end, and every new one to succeed. What is
// declared may delay that: a breaker by its cooldown, a cache by the lifetime of a
// failure, or a time for the whole ([Contract].RecoversWithin). A breaker's Fallback is
// left again once there is no reason for it.
//
// # Loops that a model drives
//
// A [Loop] is the contract of a run: what holds over all turns of a model, whatever it
// asks for. It judges the program and not the model. [Loop.Invariants] holds each call
// that the model asks for to the policy of its tool, as an action by itself, each turn to
// the policy of the model, and the run to what it declares: how many turns and attempts,
// which tools and which leave, which arguments stay, what the user is told and when, what
// it costs.
//
//	loop := invariants.Loop{Turns: 8, Tools: []string{"weather", "pay"}, Approve: []string{"pay"}, Goal: "pay"}
//	invariants.Verify(t, tr, loop.Invariants(policy)...)
//
// # What many actions share
//
// An [Allowance] is a budget that all actions use together: calls, cost or the
// tools' time of a session. It lies beside the policy, as a breaker does.
// [WithinAllowance] counts the attempts of the whole trace, also those of actions
// at once, and finds what is refused while something is left; a refused action
// ends as budget. [Contract] puts policy, breaker and allowance together.
//
// # Restarts
//
// [Policy.Restart] says what becomes of an action when the program's process
// dies under it. Where retries are persisted ([RestartResumes]) the automaton goes
// on as if nothing had happened: [SurvivesRestart] names what was lost. Where they
// are in memory ([RestartInterrupts]) the action ends as interrupted and calls
// nothing: [InterruptedAuditable]. A program that died at the instant of an answer
// may not have written it down, and one that died at a write may have written
// down an attempt that it never made: both are legal either way. Whether the time
// in which the process was down counts for the action's own budget, or each restart
// begins it anew, is [Policy.RestartBudget].
//
// A process that is told to stop, and has time for it, drains: [DrainHandsBack]
// wants it to end no action for that, and [NoAttemptWhileDraining] to begin none.
// Whether an attempt that it cut off counts is [Policy.Drain], and [DrainCounted]
// names who counts otherwise. One that comes to its answer in the grace counts as
// ever; one that is killed under its attempt has crashed.
//
// # Circuit breakers
//
// A [Breaker] is a contract of its own, beside the policy: a breaker counts the
// attempts of all actions, where a policy judges one. [CircuitBreaker] follows
// its states along the whole trace, and [Policy.Guarded] is all that policy and
// breakers imply together. Of several tools each has a breaker of its own. A refusal shows as an action that ends as
// breaker-open. What the trace leaves open, as at ties of instants, is legal
// both ways: the automaton keeps every state in which the breaker may be.
//
// # Layers
//
// A retrying caller over a retrying client multiplies. Where trace.Layer names
// the layers, every attempt tells which made it; [PhysicalAttempts] bounds what
// an action costs over all layers and tools and shows the product,
// [Attributed] wants no attempt without a layer, and [RetryOwners] says for each
// class which layer may retry it. None of them is part of a policy.
//
// # Batches
//
// An answer that is partial tells, in trace.Outcome.Items, what became of each
// item. The policy then decides by the classes of the items: a retry is due
// where one of them is retried. [BatchRetry] wants it to hold exactly those, and
// a success only where no item is open. [SameArguments] and [NoRetryAfter] leave
// the requests of a batch to it. [OneEffect] wants each item done once, by what
// the tool did.
//
// [ItemsNamed] wants each item that failed in the report, for programs that
// promise two lists instead of one flat error.
//
// A program that has many items may send them chunk by chunk. Each chunk is then
// a series: it is brought to its end before the next, or what is left of all
// chunks is sent when all have been, in one request or in several. No item is
// asked for more often than the policy has attempts.
//
// # Observations
//
// What is handed on of a failure is the prompt for what the model does next. An
// [Observation] names the fields of it, and [Observation.Invariants] holds them
// to the trace: the flag to the policy and the class of the last failure, the
// count to the attempts, the whole to a length; and neither a stack trace nor a
// canary may be in it. The retryable flag speaks of the failure: a transient one
// stays retryable when the attempts are used up, since the same call may do
// better later, and a refusal never is. Without a contract nothing is judged.
//
//	told := invariants.Observation{Code: "error", Message: "message", Retryable: "retryable", Attempts: "attempts", Limit: 500}
//	invariants.Verify(t, tr, told.Invariants(policy)...)
//
// # Sinks
//
// A log or a metric that fails must change nothing, and an audit trail may have
// to be kept. A [Sink] declares which of the two a place for records is, whether
// a mandatory record comes before the call or after it, how an action ends
// without it, and for how long a record may hold the action up.
// A sink that gets one record of each retry, or of each end, says so in Counts.
// [Sink.Invariants] are the rules; put them before those of the policy, which
// leave the time of records out of their windows.
//
// # Caches and shared requests
//
// What a cache serves is no attempt: the trace has it as a hit. A [Cache] says
// for how long answers and failures may be served, and [Cache.Invariants] hold
// the hits to it and to the answers that they repeat. An action that waits for
// a request which another one has under way is served by a hit too.
//
// # Tools that can be called again
//
// [Repeats] is the contract of a tool, where the others are those of its callers:
// what a second call gets that means the same as the first. Its calls are the
// actions of a trace that trace.Recorder.Serve has recorded, with key and
// arguments, and [Repeats.Invariants] holds them to each other and to the ledger
// of effects. A repeat that comes after a failure is owed the work where the
// failure passes and certainly did nothing, or where the tools below know keys
// (Key); after an outcome that nobody knows, an honest error is enough.
//
//	refund := invariants.Repeats{AtOnce: invariants.AtOnceWaits, Retention: 24 * time.Hour}
//	invariants.Verify(t, tr, refund.Invariants()...)
//
// # Contested points
//
// Good libraries differ, so the policy declares:
//
//   - what a failure's own word on retrying does: Advice (nothing, stops, decides)
//   - a hint against the own backoff: Hint.Use (greater, replace, ignore)
//   - a hint above the limit: Hint.Limit and Hint.Over (stop, clamp, ignore)
//   - whether a hint starts the backoff anew: Hint.Resets
//   - jitter, and whether the cap comes before or after it: Backoff.Jitter, Backoff.CapIs
//   - a next attempt that does not fit: Late for the caller's deadline, BudgetLate for the own budget (stop at once, or begin the wait)
//   - what a restart leads to: Restart (it resumes, or it interrupts), and whether the own budget goes on or begins anew: RestartBudget
//   - whether the budget ends an attempt under way: BudgetCuts
//   - which wins, a cancel or a success of a tool that ignores it: Winner
//   - whether attempts may overlap, when and how many: Hedge
//   - whether the repeat after a refresh counts, callers share one, and credentials are fetched early: Refresh.Extra, Shared, Early
//   - whether rejected arguments may be corrected, on what evidence and in which fields: Correct.Once, FromError, Fields
//   - how many dials an action may make, and how long it waits behind one that failed: Session.Dials, Pause
//   - what an observation promises, and its length: Observation
//   - whether a record is mandatory, precedes the call, and fails the action: Sink.Mandatory, Before, Degraded
//   - what a breaker counts, how many probes must succeed, whether a refusal closes it or counts for nothing, how long a probe keeps its place: Breaker.Failures, Successes, RefusalsNeutral, Lease
//   - what a repeat gets at once, after a definite failure, without a key, and for how long: Repeats.AtOnce, Failures, Keyless, Retention
//   - what a model's asking again does: Loop.Intention, Failing and PerTool; how failures of one turn count: Loop.Count; whether the conversation may be shortened: Loop.Compacts
//   - zero attempts: an error, since it means default, unlimited or none elsewhere; [Unlimited] needs a Budget
//
// What is a coin flip in any program is legal both ways: an attempt at the very
// instant of a deadline or cancel, an answer at the instant at which its
// context ends. One end can have several true reasons ([Decision.Allows]).
//
// # What is not judged
//
//   - Actions during which an ambiguous call came, where a call that is missing would matter.
//   - What follows the last event of a trace: an action that is still waiting is no finding.
//   - The upper end of a wait in which the program fetched credentials or asked what became of an attempt counts from that call's answer.
//   - Where the policy declares Hedge, [Conforms] and the rules of waits follow a series up to its first hedge, and [Hedged] judges what runs beside each other: whether a round of hedges counts as one failure for the backoff is not known, nor whether it was given up too early.
//   - What follows a repeat that Desired reads as done: a next request to the same tool in the same action counts as drift, since the trace alone does not know of the success.
//   - The retryable flag where two tools failed and the policy says different things of them, where items of a batch have a class each, where the outcome can be read in two ways, and where a breaker, the caller or the action's own time ended it.
//   - Whether the key of a repeat that the model asks for is that of the first: the key must belong to the intent, and outlive the action.
//   - Requests of one batch at once.
//   - Waits, and whether an action gave up too early, where a dial failed while it ran: in one program that is an attempt, in another it is none.
//   - Why a series stops where another one decides that began at the same instant:
//     an action that asks several tools at once is best plugged in branch by
//     branch, with an adapter for each.
//   - Requests that several actions share and that live on when the caller who
//     began them has left. They look like calls after its end: a [Cache] judges
//     requests that live in the context of one of the callers.
//   - A breaker around the whole action, that counts actions and not attempts.
//   - Repeats after the retention of their key, and what a caller gets that has left.
//   - Whether a process that is told to stop should have waited for an answer, or cut
//     the attempt off.
//   - The items of a batch after a restart, and a budget that goes on over the
//     death of the process before the first attempt: what was written down by
//     then is not seen.
//   - Of a trajectory, whether calls that run at once were meant to: order is that in which the tools were reached. A step that a cache serves is a hit, and no call.
//   - What a model should have asked for, and what it makes of a failure: see [Loop].
//   - Asks for the same in one turn, each by itself.
//   - The windows are exact. They suit virtual time, not recordings in real time.
package invariants
