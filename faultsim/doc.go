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
// each minute and throttles what is over it until the minute ends. Times count
// from the begin of the first action. An outage goes before a quota, and that
// before the attempt's own fault.
//
// "expiry at=1.5s" is the instant at which all credentials that were issued before
// expire; it needs a [Stage.Issuer]. "serial weather" is a tool that serves one
// call at a time, while the others wait.
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
// [Check] draws schedules through rapid: streaks of none to one more than
// MaxAttempts failures, all of the same frequency; each class that the tool
// has; hints below, at and above the policy's limit; latencies and deadlines a
// nanosecond on either side of a limit; cancels in flight, in the wait, and a
// nanosecond around an answer; several actions, one after another or at once.
// Now and then a failure has the words of a lie, or is packed with %w or
// errors.Join, the work of a lost reply comes late, a tool has an outage or a
// quota, or serves actions at once one by one. Trials run on all cores; the first that fails, by number, is the one
// that counts, whatever the number of workers.
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
// The failing schedule is run again alone, twenty times. If it always fails it
// shrinks to the smallest that breaks the same invariant. If it fails now and
// then, a race in the code under test decides, and the message says how often.
// If it passes, some state survives between trials: a package-level breaker,
// limiter or client; see [Adapter] for Serial. So it does where trials that
// passed before fail from then on. Neither is saved.
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
// reason. All this takes 500 trials: of a shorter run the log says that nothing was
// demanded. Single faults are not demanded: those behind the last attempt are there to
// show that it is the last.
//
// [Adapter].Label gives labels of one's own, and Require the part of the trials that
// must meet a label:
//
//	adapter.Require = map[string]float64{"streak 3": 0.05, "rule one-effect": 0.2}
//
// It is decided as QuickCheck's checkCoverage does: with twice as many trials each
// time, until it is certain (one wrong verdict in a thousand million) that the share is
// nine tenths of what is wanted, or more, or that it is below it; 64 times the planned
// trials at most.
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
// text that can be read, changed and reviewed; commit it. [Check] replays the
// cases of its test before anything else, until the file is deleted; rename the
// folder with the test. A case that no longer fits (its tool is gone, its
// invariant has another name) fails the test, and the message names the file and
// the line. Where the file cannot be written, the message carries its content.
//
// The message ends in a command that runs the test again. The seed of a property
// follows from the test's name, so that the same commit gives the same answer;
// a trial's seed follows from it and the trial's number.
//
//	flag               variable           meaning
//	-rehearse.trials   REHEARSE_TRIALS    trials of each property; 0: 1000, or 200 with -short
//	-rehearse.seed     REHEARSE_SEED      base seed, as a failure prints it; 0: from the test's name
//	-rehearse.explore  REHEARSE_EXPLORE   true: a fresh base seed for each run, which is printed
//
// A flag goes before any variable. Variables suit "go test ./...", where some
// packages do not know the flags. A seed and exploring exclude each other.
//
// Rapid's own flags do not change what Check draws, and its fail files are not
// written: neither disturbs rapid properties of the same test binary.
//
// # What a bubble cannot do
//
//   - A panic in a goroutine of the code under test ends the test binary. A panic
//     in the action itself, or in Subject, is reported.
//   - A goroutine that waits for a [sync.Mutex] whose holder waits for time stops
//     virtual time, and so do a real connection, file or process, and a channel or
//     WaitGroup made outside the bubble. After ten seconds of real time the test
//     fails with the place and the cause; the goroutine cannot be ended.
//   - What was made in one bubble cannot be used in another: no pools, timers or
//     clients in package variables. Build everything in Subject. http.DefaultTransport
//     keeps goroutines; [Stage.ReplaceDefaultTransport] replaces it.
//   - Package-level state sees time go back from one trial to the next.
//   - Two events at one virtual instant come in either order. Schedules that Check
//     draws keep their instants apart; give those that you write an odd nanosecond
//     where a deadline or cancel would fall on a wait.
//   - Jitter from math/rand/v2 or crypto/rand cannot be repeated; that of
//     [Stage.Jitter] can, and "jitter least" and "jitter greatest" pin it. Windows are
//     judged and not values, so the verdict is the same; the trace is not.
//   - Of the test's t, Subject and the action may use Log, Error, Helper, TempDir
//     and Setenv. t.Fatal and t.FailNow end the trial, and the test says so. t.Run,
//     t.Parallel and t.Deadline are not for use there, and t.Cleanup runs outside
//     the bubble: give what must be closed to [Stage.Close].
//   - Neither [Run] nor [Check] may be called inside a bubble.
package faultsim
