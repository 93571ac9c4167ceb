// Package matrix runs the regression matrix of a tool adapter: one row for
// each thing that a tool can do to its caller, each on a fresh subject in
// virtual time.
//
//	func TestMatrix(t *testing.T) {
//		matrix.Run(t, faultsim.Adapter{
//			Name:   "forecast",
//			Policy: policy, // what the code promises
//			Subject: func(s *faultsim.Stage) faultsim.Action {
//				agent := weather.New(faultsim.Tool(s, "weather", answer, failures))
//				return func(ctx context.Context) (any, error) { return agent.Forecast(ctx, "Pune") }
//			},
//		})
//	}
//
// # What a row expects
//
// Nobody writes down how many calls a row should make. A row is only a
// schedule of faults; the calls and the terminal that are wanted come from
// playing the policy's automaton over it ([faultsim.Expect]). A policy of five
// attempts is held to five, and one that stops after an ambiguous timeout to
// one. Where jitter leaves a choice, the wanted calls are a range. An end can
// have several true reasons, such as a cancel that leaves a write's outcome
// unknown: the adapter may say any of them.
//
// A row fails where calls or terminal differ, and where any invariant that the
// policy implies is broken: the rows of a matrix see waits, keys, arguments,
// effects and leaks as well as counts. The failure leads with the rule that
// broke, and shows the timeline and the schedule, which can be handed to
// [faultsim.Run].
//
// # Groups
//
// The grid files the rows by [Group]: the basics of calls and ends; timing,
// with cancels, deadlines and hints a nanosecond before and after what they
// meet; writes, with effects and with what two actions share; and what a hostile
// tool sends. In each of them the rows of the article come first, in its order.
//
// Further rows are run where the adapter gives reason to, and left out elsewhere:
// in basics, further tools with policies of their own, where the policy has
// Tools; in timing, a success behind a cancel, where the policy names the Winner,
// the ends of a jitter that the stage can pin, and callers that fail together, where the jitter Spreads; in adversarial,
// a tool's own word on retrying, where the policy reads its Advice, and allowed
// tools that are all down, where some are Allowed; and the groups
//
//   - streaming: answers that come in pieces, break or stop half-way, where a
//     route has Streams
//   - pages: later pages that fail, where it declares Pages
//   - batch: single items that fail, where the main tool is a [faultsim.Batch].
//     The rows count requests; that a retry holds exactly the items that failed is
//     judged where invariants.BatchRetry is among the adapter's Invariants
//   - breaker: its states over many actions, where it declares one. The rows count
//     the calls of all their actions, which follow from the contract: so many until
//     it opens, none while it is open, and its probes
//   - layers: failures of all kinds, where it bounds what its layers send together
//     (with invariants.PhysicalAttempts)
//   - budgets: the end of what an action may spend, of what many share, and failures
//     in a row, where there is a Spend, an Allowance or EscalatesAfter
//   - restart: crashes of the process in flight, in the wait and at each write of its
//     disk, where the adapter has a Resume; drains of it, where it has HandedBack; an
//     operator's retry, where it has Again
//   - access: credentials that expire, where the policy refreshes them
//   - definitions: schemas that change, where the policy lets arguments be corrected
//   - sessions: sessions that are lost and cannot be opened, where the adapter declares them
//   - observation: failures whose words leak, where it declares an Observation
//   - records: logs and audits that fail, where it declares Sinks
//   - recovery, for every adapter: faults that stop, before an action ends, behind its
//     end, in a call that hangs and, where it declares a Breaker, while that is open
//
// # Rows of a tool
//
// A tool that is itself the code under test ([faultsim.Served]) has the rows
// of the group [Repeated] in place of the others: it is called again after a success, a lost reply, an
// outage or a crash, at once, with other arguments, with keys that look alike and
// with none. They want what the contract declares and nothing else. The grid shows
// how the calls end, and so does a baseline.
//
// # Which rows apply
//
// An adapter can do what its doubles can show. A row that needs a class which
// the tool's [faultsim.Errors] do not list is skipped, and the grid says why.
// So is a row that the policy makes pointless, such as a cancel during a wait
// where there is no wait. A row of one's own that speaks of a tool which is not
// on the stage fails.
//
// # Rows of one's own
//
// A [Row] is plain data. The errors that only this tool has, and the sequences
// that hurt it before, belong behind the default ones:
//
//	matrix.Run(t, adapter, matrix.Row{
//		Name:     "quota-after-throttle",
//		Proves:   "A used-up quota is final though it comes with the status of throttling.",
//		Schedule: matrix.Fixed(faultsim.One(faultsim.Fail(trace.Throttled), faultsim.Fail(trace.QuotaExhausted))),
//	})
//
// Calls and terminal are expected of the first action and the main tool, the
// first that Subject puts on the stage. Further actions, and actions in which
// another tool fails too, are held to the rules alone, unless InAll says what
// all actions of the row come to together.
//
// # Baselines
//
// With -rehearse.accept a matrix is written down beside the test: the content of
// the policy and of what the adapter declares beside it, such as a breaker, and
// calls, terminal and effects of each row. From then on a change
// of either is a difference that a reviewer reads, and fails until somebody
// accepts it in the same way. What is declared and changes under the policy's ID
// fails in any case: a rollout must not change how a payment is repeated
// without anybody noticing. Rows that are new only warn, also where they fail,
// until they are adopted. The payment example keeps one.
//
// # Known deviations
//
// What is known to deviate and will stay so is accepted in the adapter, with the
// reason: by the name of a rule, or of a row. The grid shows it.
//
//	Accept: map[string]string{
//		"waits-in-window":               "the vendor rounds to seconds",
//		"row transient-until-exhausted": "the vendor makes one attempt more, ticket 4711",
//	}
//
// An accepted row fails once it deviates no longer, as [faultsim.Check] does for
// an accepted rule.
//
// # Limits
//
// A client whose limits can be set is run at their edges by [Limits]: one
// attempt, two, and zero, of which [Zeros] says what it means.
//
// # Samples
//
// A loop that a model drives does not do the same each time. [Sample] plays each
// scenario by each variant, a model or a version of one, several times:
//
//	func TestModels(t *testing.T) {
//		matrix.Sample(t, matrix.Samples{
//			Scenarios: []matrix.Scenario{{Name: "unavailable", Schedule: faultsim.One(faultsim.Fail(trace.Transient))}},
//			Variants:  []matrix.Variant{{Name: "model", Version: "2026-10", Adapter: driven}}, // func(sample int) faultsim.Adapter
//			N:         60,
//			Soft:      []matrix.Soft{{Name: "asked for the city", Pass: askedFor("Pune"), AtLeast: 0.8}},
//		})
//	}
//
// Hard rules hold in each sample without exception. A finding that several samples
// show is told once, with the number of the first, which is all that it takes to
// see it again. Where the contract asks of a model what only code can promise, such
// as the instants of its calls, Hard names the rules that are meant.
//
// Soft checks hold in most samples. How far so many samples carry is the Wilson
// interval of the share that passed ([Rate.Interval]): a check fails where all of
// it lies below what is wanted, passes where all of it lies at or above, and is
// undecided in between, with the number of samples that would decide. Few samples
// carry little: 20 of 20 is a share of 83.8 % or more.
//
// With -rehearse.accept the rates are kept beside the test, with the version of
// each variant and the content of its contract. A later run is compared with them
// row by row, and a rate that has certainly fallen fails ([Rate.Since]). A variant
// that Replaces another is compared with it too, in the same run or out of the
// file.
//
// The arithmetic takes each sample for a draw of its own. Three recorded
// conversations that are played twenty times each are three samples, and not sixty.
// And it takes each row alone: of forty rows in which nothing has changed, one may
// well read as regressed when a real model is sampled anew; a higher Confidence
// makes that rarer.
//
// What a message says is not judged: the same thing comes in other words in each
// sample. A check reads the trace, which says what was done.
//
// A model that is asked over a network has no place in virtual time. Record it with
// a [trace.Recorder] where it runs, keep the files, and hand the traces in as a
// variant that is Recorded. They are judged in the same way. examples/assistant has
// a loop whose code keeps the hard rules whatever the model does.
//
// # What is not covered
//
// A matrix is a list of exact examples. What they do not list is explored by
// [faultsim.Check], with the same adapter.
package matrix
