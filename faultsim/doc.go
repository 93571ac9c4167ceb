// Package faultsim runs code that calls tools under simulated faults, in
// virtual time, and holds it to its declared retry policy.
//
// An [Adapter] plugs code in: the policy that it promises to keep, and a
// function that builds it on a [Stage] of doubles. [Check] then looks for faults
// under which it breaks the promise, and [Run] plays faults that are written
// down:
//
//	func adapter() faultsim.Adapter {
//		return faultsim.Adapter{
//			Name:   "forecast",
//			Policy: policy,
//			Subject: func(s *faultsim.Stage) faultsim.Action {
//				agent := New(faultsim.Tool(s, "weather", fake, faultsim.Errors{
//					trace.Transient: ErrUnavailable,
//					trace.Invalid:   ErrNoSuchCity,
//				}))
//				return func(ctx context.Context) (any, error) { return agent.Forecast(ctx, "Pune") }
//			},
//		}
//	}
//
//	func TestFaults(t *testing.T) { faultsim.Check(t, adapter()) }
//
// # The bubble and its phases
//
// A trial plays one schedule on a fresh subject in a bubble of virtual time
// (see [testing/synctest]): a sleep of an hour takes a microsecond, and nothing
// waits in real time. The clock begins at a date in 2026. A trial has phases:
//
//   - build: Subject builds the code under test on the stage.
//   - act: the actions of the schedule run, one after another or at once, on
//     that one instance. An action that has not returned when all that the
//     policy, the hints and the latencies allow is over is a hang.
//   - settle: virtual time runs on for as long again, so that a retry which was
//     left behind comes to light.
//   - close: the callers' contexts end, and the functions given to [Stage.Close]
//     run, last registered first.
//   - census: what is still blocked then is a leak.
//
// The trace of the trial is read when the bubble is gone. All that
// [invariants.Policy.Invariants] returns is checked, with the user's own rules.
//
// # Schedules and their text
//
// A [Schedule] says, for each action, tool and attempt, what goes wrong: a class
// of failure, a hint to wait, a latency, a hang, a reply that is lost after the
// work was done, a cancel. Attempts that it does not list are answered at once.
// Which fault a call gets depends on its action, its tool and the number of the
// attempt, never on the order in which the calls of several actions arrive. A
// call belongs to the action whose context it carries; where it carries none,
// to the one that used the same key, or to the only one that is under way. A
// call that could belong to several is answered at once and judged by nothing.
// What Subject itself calls, such as a login, is answered at once.
// Within one action, the calls that it makes of one tool at the same time are
// numbered as they arrive.
//
// A schedule has a text form, one attempt a line, which [Parse] reads strictly:
//
//	rehearse schedule 1
//	action deadline=3s
//	  weather 1 transient after=200ms
//	  weather 2 throttled hint=2s form=date
//	  weather 3 hang done
//	action cancel=before
//	at-once
//
// The options of an attempt are empty (the answer holds nothing), items= (of a
// [Batch], the items that fail),
// hint=, form=date, form=ms or form=skewed, after= (the latency), hang, done (the work is done
// whatever the caller sees), deaf (the end of the context changes nothing),
// cancel= (counted from the attempt's arrival), crash= (likewise), say="…" (the words of a failure,
// which are data and may lie), advice=retry or advice=stop (what it says itself of
// another attempt), wrap=wrapped or wrap=joined (how a function tool packs its
// error), work= (when the work is done, counted from the arrival), body= (how long
// the body of an HTTP answer takes to come, in pieces) and twice (the network
// delivers the call twice); of a model move=, and of an approver valid=. A record to a [Sink] is planned in the same form, and
// can panic. Those of an action are again, after= (a pause before it begins),
// deadline=, cancel=, crash-before-write=, crash-after-write= and restart=; of a
// call of a tool under test also key= and other. The tool * is the first that
// Subject puts on the stage.
//
// What depends on the time and not on the number of the attempt stands in lines
// of its own, behind the actions: "outage weather from=1s to=3s transient" is a
// tool that is down, and "quota weather 3 per=1m" one that grants three calls in
// each minute and throttles what is over it until the minute ends; "bucket weather
// 5 every=200ms" is a token bucket, which grants five calls at once, and from then on
// five in a second. Times count from the begin of the first action. An outage goes
// before a bucket, that before a quota, and that before the attempt's own fault.
//
// "expiry at=1.5s" is the instant at which all credentials that were issued before
// expire; it needs a [Stage.Issuer]. "serial weather" is a tool that serves one
// call at a time, while the others wait. "seed 7" is the seed of the random numbers.
//
// "calm at=30s" is the instant at which all faults stop ([Schedule].Calm). Calls that
// arrive then or later are answered; one that is under way is not mended, so that a
// hang goes on until its caller gives it up. What the code still does wrong from there
// on is its own doing: [invariants.Recovers] judges it, and [trace.Trace.Recovery] has
// the time that it took and the attempts of each action, to be asserted in a test:
//
//	r := faultsim.Run(t, adapter, schedule).Recovery()
//	require.Less(t, r.Time, 35*time.Second)
//	require.LessOrEqual(t, r.During, 3.0)
//
// A line or its end that begins with # is a comment.
//
// # Fleets
//
// A [Fleet] is many agents against one [Service] with workers, a line before them, a
// quota and outages. [Play] judges each of them, and returns the [Load] as numbers:
// how far retries multiply the calls, how high they peak, and whether they come in
// waves. docs/fleets.md says more.
//
//	load := faultsim.Play(t, faultsim.Fleet{
//		Adapter: adapter(), Agents: 1000, Arrive: faultsim.Evenly(10 * time.Second),
//		Service: faultsim.Service{Workers: 20, Serve: 50 * time.Millisecond, Queue: 100},
//	})
//	require.Less(t, load.Synchrony(10*time.Millisecond), 2.0)
//
// # Function tools and HTTP tools
//
// [Tool] is a double of a Go function. Its [Errors] say how each class of failure
// looks at this tool; a class that is not there cannot happen to it. [Hinted]
// makes an error that carries a wait, [Advised] one that says itself whether the
// tool may be called again; [Value] answers a class with a value and no
// error, as tools do that put their failures into the result, and for trace.OK the
// answer that holds nothing. [Stage.Client] is
// an HTTP client whose routes are tools: failures are statuses, Retry-After in
// its forms, resets and refused connections. [Batch] is a double of a function
// that does several items in one call, and fails in single items as well; over
// HTTP it is a [Route] with a Batch.
// [Retrier] is the adapter of a retry library. A stage can have several tools of
// both kinds.
//
// # Calls side by side
//
// One action may call tools from several goroutines and join what they say, as a
// worker does that searches the shards of an index. Calls of one tool that are under
// way at once and differ in their arguments are a series each, so that each branch is
// held to the policy by itself: MaxAttempts and Backoff are those of a branch, Budget
// and the caller's deadline those of the action. A failure that is answered at once
// comes when everything else has got as far as it can at that instant: so branches
// that begin together are under way at once, whatever their tool's latency.
//
//	index := faultsim.Tool(s, "index", look, errs) // one tool: the branches differ in their arguments
//	return func(ctx context.Context) (any, error) { return search(ctx, index) }
//
//	for i := range index { // a tool for each branch: schedules and the matrix can tell them apart
//		index[i] = faultsim.Tool(s, fmt.Sprint("index", i), look, errs)
//	}
//
// What can be told apart, and what to declare:
//
//   - Over one tool, attempts are numbered in the order in which they arrive, over all
//     branches, and at one instant chance decides who is first. Give each branch a tool
//     of its own where a schedule is to speak of one of them, or traces are compared
//     (-rehearse.twice).
//   - The rows of the matrix count the calls of the first tool: give them a tool for
//     each branch, or one branch as the action.
//   - What the action returns is no tool's answer: say it in [Adapter].Want. Where a
//     branch may fail and the rest is handed on, say so in [Adapter].Degraded.
//   - Branches that send the same arguments to one tool cannot be told apart: they read
//     as a repeat, or as calls that overlap. Give each a tool, or an action.
//   - A goroutine that goes on to the next item when one has failed reads as a retry
//     with other arguments: one thing after another is an action each, or a [Batch].
//   - [trace.Layer] and [trace.CallID] do not part branches: the first is for layers
//     that retry each other's failures, the second for what a model has asked for.
//
// examples/fanout has the adapters, the matrix, and workers that are found to be wrong.
//
// # Loops that a model drives
//
// [Stage.Model] is the double of a model: it follows a [Script], and misbehaves where
// the schedule plans it, turn by turn: it asks again, changes an argument, invents a
// tool, writes arguments that are no JSON, claims a success; see [Move]. With
// [Adapter].Loop an action is a run, from a user's request until the loop returns,
// and is held to that contract and to the policy of each call. [Stage.Approver] is
// somebody who is asked for leave, [Agent] wraps a child with a model of its own, and
// [Stage.Say] tells what the user is shown. docs/loops.md has a whole test.
//
//	action
//	  model 1 throttled hint=2s
//	  model 2 ok move=garble
//	  model 3 reset body=400ms     the stream breaks
//	  owner 1 ok after=1h valid=1m leave comes late, and holds a minute
//	  weather 1 transient
//
// # Credentials
//
// [Stage.Issuer] issues tokens, and every tool that can answer unauthenticated
// then takes only those. Where a call carries its token is for the policy to say,
// in Refresh.Credential; it is in the trace, and no part of the arguments. An
// attempt that is planned unauthenticated expires the token that it carries, so
// that whoever sends it again is refused again. Check lets tokens expire in half
// of the schedules of such an adapter.
//
//	fetch := s.Issuer().Aside("auth") // a call of trace.RoleAuth
//	call := faultsim.Tool(s, "weather", answer, faultsim.Errors{trace.Unauthenticated: ErrToken})
//
// # Definitions
//
// [Stage.Definitions] puts the definition of a tool on the stage, such as the
// schema of its arguments, in its successive versions. A planned invalid is then a
// schema that has moved on: the same arguments are rejected from then on, and
// others are taken once the definition was read anew. Each call is recorded with
// the version that the program has. What a correction may do is for the policy to
// say, in Correct.
//
//	look := s.Definitions("weather", `{"unit":["C"]}`, `{"unit":["celsius"]}`).Aside("tools/list")
//	call := faultsim.Tool(s, "weather", answer, faultsim.Errors{trace.Invalid: ErrUnit})
//
// # Sessions
//
// [Stage.Sessions] puts sessions with a tool on the stage, for code that dials,
// keeps a connection and opens another when it is lost. Each call goes over one,
// by its context; a planned reset or not-connected loses it, and in an outage of
// class not-connected no other can be opened. The contract is the adapter's Session.
//
//	sessions := s.Sessions("orders")
//	c, err := sessions.Dial(ctx)          // a call of trace.RoleConnect
//	r, err := place(c.Over(ctx), order)   // place is the tool
//
// # Limiters
//
// [Stage.Turn] puts the waits at a limiter of the program's own into the trace, so
// that they count for no delay of the loop's; [invariants.RateLimit] and
// [invariants.Concurrency], among the adapter's Invariants, judge the limiter.
//
// # The tool as the subject
//
// A model repeats a call whether or not that is safe, so safety is for the tool
// to bring. [Served] makes the tool the code under test: Subject builds it on
// doubles of the tools below it and returns what its callers call, and the stage
// calls it, as a model would, again and again. Each action of a schedule is then
// one call:
//
//	rehearse schedule 1
//	action
//	  bank 1 reset done
//	action
//	action other
//	action after=1h key=2
//	action key=none
//
// A line that says nothing else is a call with the first key and the usual
// arguments. key= takes another of the adapter's keys, or none, and other the
// other arguments, which with the same key are a clash. Faults are those of the
// tools below. A caller whose reply is lost, or that leaves, is one that calls
// again.
//
// What is judged is [invariants.Repeats]: the work of a key is done once, by the
// effects at the doubles below or by [Stage.Effect]; a repeat gets the result; a
// clash is refused; a failure that passes is forgotten; a key is not in progress
// for ever. Where good tools differ, the contract says what holds: whether a
// repeat at once waits or is refused, whether definite failures are kept, what a
// call without a key gets, how long keys are kept. A tool may instead look at
// the state first (invariants.ByState). Where the tool sets Restarts, its process
// dies as well, in a call, and is built anew on the same [Stage.Disk]:
//
//	rehearse schedule 1
//	action restart=2m
//	  bank 1 ok after=1s done crash=500ms
//	action
//
// How the tool itself retries below, as a caller, is for an adapter of its own.
//
// # Check
//
// [Check] draws schedules: streaks of none to one more than
// MaxAttempts failures, all of the same frequency; each class that the tool
// has; hints below, at and above the policy's limit; latencies and deadlines a
// nanosecond on either side of a limit; cancels in flight, in the wait, and a
// nanosecond around an answer; several actions, one after another or at once.
// Now and then a failure has the words of a lie, or is packed with %w or
// errors.Join, the work of a lost reply comes late, a tool has an outage, a
// quota or a token bucket, or serves actions at once one by one. In half of the
// trials each kind of fault is off with the chance of a half, so that what hides
// behind others shows. Trials run on all cores; the first that fails, by number, is
// the one that counts, whatever the number of workers.
//
// A decision is drawn from the trial's seed and from its address: the action, the
// tool and the attempt that it is about. One more tool on the stage, or a longer
// streak in another action, moves nothing of it.
//
// The faults of one schedule in eight stop, with one to three actions behind them and
// pauses around the cooldown, the budget and the lifetime of a kept failure. Where the
// adapter says RecoversWithin, those of half of them do. Schedules with a crash or a
// drain, of a loop or for a tool under test have no calm.
//
// Where the adapter declares a Breaker, half of the schedules take it through its
// states: up to twelve actions that fail, are left by their callers or recover,
// with pauses around the cooldown between them, in turn or at once. Of several
// Breakers one comes under strain in a schedule. A result that stands in for an
// answer while a breaker refuses is read by Degraded, and is no success.
//
// Where the adapter declares Pages, pages succeed now and then among the failures,
// so that later ones fail too.
//
// Where the adapter declares an Allowance, half of the schedules use it up: up to
// twelve actions that fail throughout or are answered, in turn or at once.
//
// Where it EscalatesAfter so many failures, a quarter of the schedules are turns
// in which most actions fail.
//
// Where its jitter Spreads, one schedule in eight has [Together] callers at once
// that all fail in the same way.
//
// Of a tool under test two to five calls are drawn, most with one key, in turn or
// at once, with pauses up to the end of the retention, callers that leave, and
// failures, lost replies and hangs of the tools below in the first ones.
//
// Where the adapter declares an Observation, in half of the actions all failures
// say [CanaryWords]: a secret, an internal host and a stack trace, none of which
// may be in what the code hands on.
//
// Where the adapter declares Sinks, in half of the actions the first records to
// each of them fail, hang, take long or panic.
//
// Where only a budget bounds the attempts, the main tool now and then fails
// thousands of times in a row.
//
// Where the adapter declares a Cache, half of the schedules have further actions,
// at once and with pauses around the times for which answers and failures may be
// served; the code tells of each hit with [Stage.Hit].
//
// The failing schedule is run again alone and shrinks to the smallest that breaks the
// same invariant, which is run a hundred times. If that does not always fail, so is the
// first one, which shrinks with more care where it does. If it fails now and then, it is
// tried with a hundred seeds of its random numbers, twice each, and kept with the first
// that fails if all of them decide; without such seeds a race in the code under test does.
// If it never fails, some state survives between trials: a package-level breaker,
// limiter or client; see [Adapter] for Serial. So it does where trials that
// passed before fail from then on. Neither is saved.
//
// A trial that breaks several invariants is told by the first of them, in the order of
// the contract, and names the others. One of thousands of events that does not return is
// told by what it broke first, which far fewer attempts show.
//
// # Sabotage
//
// A check that passes may have looked at nothing. [Sabotage] has the stage commit
// sins in the place of the code, which is right, between the code and its tools: an
// attempt too many, a call after a refusal, a cancel or the end, a wait that is cut
// short or stretched, a hint that is ignored, an argument or key that changes, a
// context that the tool is not given, a result that is dropped, altered or made up,
// an error that is swallowed, a goroutine that is left behind. There is one in each
// trial, recorded as the code's own, and each must be noticed at least once:
//
//	func TestWouldNotice(t *testing.T) { faultsim.Sabotage(t, adapter()) }
//
// What is a sin follows from the policy, whose automaton the saboteur plays along:
// a wait within its window is none. What no rule notices is a blind spot, and the
// message says which declaration would see it; Accept takes "sin NAME" with a
// reason. [ExploreSabotage] returns the same as data, also for a test written by
// hand, as a [Test]: some schedules, and a function that judges their traces.
//
// # Profiles
//
// What Check draws looks for boundaries, and is no weather that anybody has. With
// [Adapter].Profile it draws what was measured or assumed: how long streaks of
// failures are or how bursts come ([GilbertElliott]), of which classes they are, how
// long answers take, which waits the tools ask for, when they are down and what
// they grant, when callers leave and processes die.
//
//	adapter.Profile = &faultsim.Profile{
//		Tools: map[string]faultsim.Behaviour{faultsim.Main: {
//			Streak:  faultsim.Geometric(0.7),
//			Classes: faultsim.Weights{trace.Transient: 3, trace.Throttled: 1},
//			Latency: faultsim.Lognormal(200*time.Millisecond, 0.8),
//		}},
//		Cancel: faultsim.Cancels{Share: 0.05},
//	}
//
// A [Distribution] is one of counts or of times: [Fixed], [Even], [Geometric],
// [DiscretePareto] and [Frequencies]; [Constant], [Uniform], [Exponential],
// [Lognormal], [Pareto] and [Empirical]; [AtMost] bounds either. Each is drawn by its
// quantile function from fair bits, so that it is what it says, and shrinks to its
// least value. [Generator] draws one in a rapid property.
//
// [Fit] makes a profile of recorded traces, and a profile prints as Go code with %#v:
//
//	profile, err := faultsim.Fit(traces...)
//	fmt.Printf("%#v\n", profile)
//
// # Coverage
//
// A check that could not have failed proves nothing. Check counts over all trials what
// they have met, in [Coverage], and logs the table; it shows with go test -v. The run
// fails where
//
//   - a rule never applied: nothing in any trial could have broken it. Only what the
//     adapter brings about is demanded: hint-honoured needs a tool that can ask for a
//     wait, one-key a policy with a Key. Rules about what a program may do and need
//     not, such as no-effect-after-end, are not demanded either. The table says of each
//     rule that did not apply why it need not. Rules of one's own are demanded, unless
//     they have the leave of [invariants.WhereItApplies];
//   - a tool, model, approver or sink was never called, and faults were planned for it;
//   - a kind of fault was planned a hundred times for a tool that was called, and never
//     reached it.
//
// What no trial of an adapter can meet is for [Adapter].Unreachable to say, with the
// reason. All this takes 500 trials, and so does it to demand that what [Adapter].Accept
// lists occurs: of a shorter run the log says that nothing was demanded. Single faults are
// not demanded: those behind the last attempt are there to show that it is the last.
//
// [Adapter].Label gives labels of one's own, and Require the part of the trials that
// must meet a label:
//
//	adapter.Require = map[string]float64{"streak 3": 0.05, "rule one-effect": 0.2}
//
// It is decided as QuickCheck's checkCoverage does: with twice as many trials each
// time, until it is certain (one wrong verdict in a thousand million) that the share is
// nine tenths of what is wanted, or more, or that it is below it; 64 times the planned
// trials at most. What is undecided then, or when go test's own -timeout comes near, fails.
// The trials of shards are looked at together, and the run that merges them plays the
// further ones. A run whose length is asked for (-rehearse.trials, -short, a campaign) is
// no longer for it, and logs what is undecided.
//
// [Run], and a saved case, fail where the schedule plans faults for a tool that the
// trial never calls.
//
// # Crashes
//
// A schedule can let the process of the code under test die: some time after the
// arrival of an attempt ([Fault].Crash), or at one of its writes to the stage's
// [Disk], before it is durable or after ([Plan]). After a while (Plan.Restart) the
// adapter's Resume builds the code anew. The disk is all that it finds; tools
// remember the keys whose work they have done. Code that takes the id of a
// request from its caller can have [trace.ActionName], which is the same before
// and after:
//
//	build := func(s *faultsim.Stage) faultsim.Action {
//		w := job.NewWorker(s.Disk(), faultsim.Tool(s, "bank", settle, failures))
//		return func(ctx context.Context) (any, error) { return w.Pay(ctx, trace.ActionName(ctx), bill) }
//	}
//	adapter := faultsim.Adapter{Name: "pay", Policy: policy, Subject: build, Resume: build}
//
// A Subject that is asked again by the same id is its own Resume. What a crashed
// process still does is cut off: its calls of tools, disk and sleeper block until
// the trial closes and are in no trace, a call that was under way is done at the
// tool and answered to nobody, and what its action returns is dropped. The
// attempts of the action are numbered on. The policy says what a restart leads
// to, see [invariants.AfterRestart], and what is left of the action's own budget,
// see [invariants.BudgetAfterRestart]; Check then draws a crash in half of its
// schedules, but for those with actions at once.
//
// # Drains
//
// A process can also be told to stop ([Fault].Drain), and is killed when its time of
// grace (Plan.Grace) is over. The code hears it by [Stage.Draining], a context that
// ends as that of signal.NotifyContext does. What its action returns by then is an
// end of it, unless the adapter's HandedBack says that it was handed back: Resume
// then builds the next process, as after a crash. Whether an attempt counts that was
// cut off says the policy, see [invariants.DrainedAttempt].
//
//	adapter.HandedBack = func(err error) bool { return errors.Is(err, job.ErrStopping) }
//
// # An operator's retry
//
// An action that has ended can be done again at somebody's word: Plan.Again, in
// the text "action again". The adapter's Again builds the code for it on the disk
// of the trial. It is an action of its own, with its own attempts, clock and end,
// and the same intention: [trace.ActionName] is that of the first time, and
// [invariants.OperatorRetry] holds it to the key where something may have been
// done before.
//
// # Cases and reproducing
//
// A failing schedule is saved below testdata/rehearse, in a folder for each
// test, as a file with the name of the broken invariant and the schedule. It is
// text that can be read, changed and reviewed; commit it. It also holds the trial
// and the seed by which it was found, and the policy of then: where that has changed
// since, a failure says in which fields. [Check] replays the
// cases of its test before anything else, until the file is deleted; rename the
// folder with the test. A second Check in one test has a folder, a seed and results of
// its own, by the adapter's name. A case that no longer fits (its tool is gone, its
// invariant has another name, the policy no longer allows the attempt of a fault) fails
// the test, and the message names the file and the line. One whose code does not go so
// far any more, since its bug is mended, stays as it is. Where the file cannot be
// written, the message carries its content.
// Cases of the first version of the format, without origin and policy, are read too.
//
// The smallest schedule is run a hundred times more, or less often where its trace is
// long, and its traces are compared by [trace.Diff]. The message says that they are the
// same ("deterministic"), or else which event is the first that differs and how many of
// a hundred runs fail (-rehearse.reruns: of another number). Where all runs fail and
// differ at a tie only, the failure is deterministic too, and the message names the tie.
// It also names the other invariants that the fifty trials behind the failing one
// break.
//
// A tie is an instant at which the schedule puts two things that the code does not
// put in order: a cancel, a deadline or a crash beside something else, the work of
// two attempts, or calls of several actions at a tool that counts them.
//
// The message ends in a command that runs the test again. The seed of a property
// follows from the test's name, so that the same commit gives the same answer;
// a trial's seed follows from it and the trial's number. With -rehearse.gotest a
// failing schedule is printed as a Go test as well, which [Schedule.GoTest] makes.
//
// With -rehearse.twice, trials run one at a time, and each that passes runs a second
// time; where the traces differ, the test fails with the first event that does. A
// tie does not count. What goroutines of one action do of one tool at one instant
// does, since nothing tells their calls apart.
//
//	flag               variable          meaning
//	-rehearse.accept   REHEARSE_ACCEPT   write the matrix's baselines, and the rates of samples, anew: what has changed, or has certainly fallen, fails until it is accepted
//	-rehearse.explore  REHEARSE_EXPLORE  a fresh base seed for each run, which is printed
//	-rehearse.for      REHEARSE_FOR      campaign: go on for a time (10m) or a count (1000000x), past failures
//	-rehearse.gotest   REHEARSE_GOTEST   true: a failure prints its schedule as a Go test too
//	-rehearse.merge    REHEARSE_MERGE    folder with the files of all shards: report them as one run
//	-rehearse.reruns   REHEARSE_RERUNS   how often a failing schedule is run again to see whether it always fails; 0: 100, or fewer where its trace is long
//	-rehearse.results  REHEARSE_RESULTS  folder for a file of results of each property
//	-rehearse.seed     REHEARSE_SEED     base seed, as a failure prints it; 0: from the test's name
//	-rehearse.shard    REHEARSE_SHARD    0/3: play the first of three parts of the trials
//	-rehearse.trials   REHEARSE_TRIALS   trials of each property; 0: 1000, or 200 with -short
//	-rehearse.twice    REHEARSE_TWICE    true: passing trials run twice, and their traces are compared
//
// A flag goes before any variable. Flags are there where the test binary links this
// package, that of accept where it links matrix; variables suit "go test ./...",
// where some packages do not know the flags. They are read by the test that they
// are for, so that go test keeps a passed run for each value. It keeps those with a
// fresh seed and campaigns too: give -count=1 with their variables. A seed and
// exploring exclude each other. Folders are seen from the package, unless their
// path is absolute.
//
// # Campaigns, shards and fuzzing
//
// With -rehearse.for, [Check] is a campaign: it goes on for that time or number of
// trials, reports and saves the first failing trial of each invariant within a
// second or so, and prints its progress on standard error. It stops in time before
// go test's own -timeout, and cleanly when it is interrupted.
//
// Shards part the trials of a property by their numbers: set -rehearse.shard, or
// TEST_TOTAL_SHARDS and TEST_SHARD_INDEX as Bazel does. A binary of rules_go parts
// its test functions by these already, so there only -rehearse.shard parts trials.
// Saved cases are replayed in every shard: they are few, and none of the shards has
// anything to say of code that breaks one. With -rehearse.results, or under Bazel
// in TEST_UNDECLARED_OUTPUTS_DIR, each shard leaves a file. Copied into one folder,
// -rehearse.merge reports them as the run of one machine. What must occur in a run,
// such as accepted deviations, is held against the merged run and not a shard.
//
// [Fuzz] gives the trials to the fuzzer of go test. docs/campaigns.md shows each.
//
// Rapid's own flags do not change what Check draws, and its fail files are not
// written: neither disturbs rapid properties of the same test binary.
//
// # Random numbers
//
// A trial that has the process to itself seeds, before Subject is called, the sources
// of random numbers that belong to the process, by [Schedule].Seed: crypto/rand, by
// [testing/cryptotest], and the functions of math/rand, by rand.Seed, which GODEBUG's
// randseednop=0 turns on for that call alone. So jitter and ids that come from them
// are the same each time. Behind the trial crypto/rand is what it was; math/rand is
// left to chance again when the test is over.
//
//   - Seeded are the trials of [Run], [Trial] and the matrix, saved cases, and all that
//     Check runs again alone; also the drawn trials of a Serial adapter and of
//     -rehearse.twice, each with its number as the seed.
//   - Not seeded are drawn trials on several cores, trials of a test that is parallel or
//     has a parent that is, calls of Trial that overlap, the samples of
//     matrix.Sample, trials of an adapter that is Unseeded, and those beside a trial
//     whose clock stands still, until that one ends.
//   - The functions of math/rand/v2, maphash, the order of maps and the choice of a select
//     have no seed in Go. Hand a source in, see [Stage.Jitter]; where the times alone
//     hang on it, set Unseeded.
//   - In a binary with the Go Cryptographic Module v1.0.0 nothing is seeded.
//   - A variable of a package that is set from the clock, or at random, before the trial
//     is the same in all runs of one process, and another in the next.
//
// # What a bubble cannot do
//
//   - A panic in a goroutine of the code under test ends the test binary. A panic
//     in the action itself, or in Subject, is reported.
//   - A goroutine that waits for a [sync.Mutex] whose holder waits for time stops
//     virtual time, and so do a real connection, file or process, and a channel or
//     WaitGroup made outside the bubble. After ten seconds of real time the test
//     fails with the place and the cause; the goroutine cannot be ended.
//   - Doubles wait for the bubble to be idle ([synctest.Wait]), and only one goroutine
//     may do so at a time: code under test that waits so itself, beside a call, panics.
//   - What was made in one bubble cannot be used in another: no pools, timers or
//     clients in package variables. Build everything in Subject. http.DefaultTransport
//     keeps goroutines; [Stage.ReplaceDefaultTransport] replaces it.
//   - Package-level state sees time go back from one trial to the next.
//   - Two events at one virtual instant come in either order. Schedules that Check
//     draws keep their instants apart; give those that you write an odd nanosecond
//     where a deadline or cancel would fall on a wait.
//   - Jitter from math/rand/v2 cannot be repeated; that of [Stage.Jitter] can, and
//     "jitter least" and "jitter greatest" pin it. Windows are judged and not values, so
//     the verdict is the same; the trace is not.
//   - Of the test's t, Subject and the action may use Log, Error, Helper, TempDir
//     and Setenv. t.Fatal and t.FailNow end the trial, and the test says so. t.Run,
//     t.Parallel and t.Deadline are not for use there, and t.Cleanup runs outside
//     the bubble: give what must be closed to [Stage.Close].
//   - Neither [Run] nor [Check] may be called inside a bubble.
package faultsim
