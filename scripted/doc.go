// Package scripted has doubles of tools, of HTTP servers, of models and of those
// who give leave, whose answers a person writes down, one step after another, for
// a test of how an agent deals with them.
//
// A double is a strict queue. Each call takes the next step; a call after the
// last step, and a step that nobody took, is a mistake that the double reports
// to the test, once, with the file and line of the script. While it answers it
// writes down what happened in a [trace.Trace], which the test asserts on or
// hands to package invariants.
//
// # A whole test
//
// A forecast is asked for at most three times, after 100 and then 200 ms, always
// for the same city, and no more once it is there:
//
//	func TestForecastComesAtTheThirdAttempt(t *testing.T) {
//		weather := scripted.NewTool[Query, Forecast](t, "weather").
//			Fail(trace.Transient, errUnavailable).Times(2).
//			Return(Forecast{Celsius: 19})
//		var sleeper scripted.Sleeper
//
//		agent := Agent{Weather: weather.Call, Sleep: sleeper.Sleep}
//		got, err := agent.Forecast(t.Context(), "Pune")
//
//		require.NoError(t, err)
//		require.Equal(t, 19, got.Celsius)
//		require.Equal(t, []Query{{"Pune"}, {"Pune"}, {"Pune"}}, weather.Args())
//		require.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, sleeper.Waits())
//	}
//
// A fourth call would fail this test with
//
//	scripted: weather: call 4 is one too many: the script answers 3 calls and ends with Return at agent_test.go:13
//
// # Steps
//
// A [Tool] is a Go function. Its steps:
//
//	Return(out)        the answer
//	Fail(class, err)   a failure, and how a caller should read it
//	Lose(class, err)   the tool does it, and the reply is lost
//	Hang()             no answer before the context ends
//	Panic(value)       a panic in the caller's goroutine
//	Do(f)              whatever f does
//
// A step is changed by what follows it:
//
//	Times(n), Any()    how many calls it answers: 1 unless said otherwise
//	After(d)           the answer comes later
//	Deaf()             the end of the context changes nothing: it answers late
//	Done()             the effect happens although the answer does not say so
//	Means(class)       the answer reads differently: a business "no", for example
//	Hint(d)            the failure asks for this wait
//
// Arguments are copied when they arrive, and answers before they are handed
// out; only what is behind a pointer to a struct with unexported fields, which
// no other package can copy, is shared. A call is written down before it is
// answered.
//
// # HTTP
//
// A [Server] is an http.RoundTripper without a socket. A route, that is method,
// host and path, is a tool:
//
//	srv := scripted.NewServer(t)
//	srv.Route("POST", "auth.test", "/token").As(trace.RoleAuth).JSON(200, token).Any()
//	srv.Route("POST", "api.pay.test", "/v1/charges").Named("pay").
//		Status(503).
//		Status(429, scripted.RetryAfter(2*time.Second)).
//		JSON(201, charge)
//	client := payments.New(srv.Client())
//
// Routes that fetch credentials or ask what became of an earlier attempt are
// told apart by their role and are no attempts. A request that no route
// matches is reported and fails at once. Besides statuses and bodies, a step may
// be a transport error in net/http's own types ([Route.Reset],
// [Route.NotConnected], [Route.Hang]), a body that is cut short or no JSON, or a
// handler. Every request's body is kept byte by byte ([Server.Requests]), so
// that a one-shot body which is empty at the second attempt is seen.
//
// [Server.ReplaceDefaultTransport] serves code whose clients belong to its
// package.
//
// # Models
//
// A [Model] stands above the tools: its turns are written down like the answers of
// a tool, and no real model is asked.
//
//	rec := &trace.Recorder{Clear: true}
//	model := scripted.NewModel(t).Into(rec).
//		Say("Let me look. ").AndAsk("weather", `{"city":"Pune"}`).
//		Fail(trace.Throttled, errBusy).Hint(2 * time.Second).
//		Say("It is 19 °C in Pune.")
//	weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).Return(Forecast{Celsius: 19})
//
//	answer, err := agent.Run(ctx, model.Reply, weather.CallJSON, "How warm is it in Pune?")
//
// Its turns:
//
//	Say(text)          a text, or with "" an empty reply
//	Ask(tool, args)    a call of the tool, in JSON or not, of a tool that there is or not
//	Turn(reply)        a whole reply
//	Fail(class, err)   a failure of the provider
//	Hang(), Panic(v)   as those of a tool
//	Do(f)              a turn that depends on what the model is shown
//
// What may follow them, beside Times, Any, After, Deaf and Hint:
//
//	AndSay, AndAsk     more of the same reply, in this order
//	ID(id)             the call's id, which another one may have too
//	Anonymous()        its calls have no ids
//	Stop(why)          the reply is cut off, or the provider refuses to answer
//	Tokens(n)          how long it is
//	Pace, Cut, Stall   how it comes as a stream
//
// [Model.Reply] answers with the whole reply, [Model.Stream] piece by piece: each
// word, and of each call its id and tool and then its arguments in two halves, so
// that Cut(n) can break it within a call. [Stubborn], [Forgetful], [Obedient] and
// [Parrot] are models for Do that do not behave.
//
// For code that asks its model by the SDK of a provider, [Model.Client] is an HTTP
// client that answers as the provider's API does, in its shapes of replies, streams
// and failures:
//
//	client := openai.NewClient(option.WithHTTPClient(model.Client(scripted.OpenAIChat)))
//
// A Model is strict: a conversation that the providers' APIs refuse is reported,
// with the message that breaks a rule, and the call fails as theirs does. So a loop
// that loses a result, or the reply that it is of, is found at its next turn.
// [Model.Lenient] turns that off. What it was shown is in [Model.Prompts], and in
// the trace, where each call that it asked for is linked to the calls of tools that
// served it ([trace.Trace.Turns]).
//
// Another agent that a loop hands work to is a [Tool] with As(trace.RoleAgent). An
// [Approver] gives leave for calls, or denies it, late or for a while:
//
//	owner := scripted.NewApprover(t).Into(rec).
//		Grant().After(time.Minute).Expires(time.Hour).
//		Deny("too much")
//
// # Effects
//
// The caller of a lost reply cannot know whether the tool did what it was
// asked. The test can: a [Ledger] counts effects by idempotency key and by
// action, and makes the tools idempotent when told to.
//
// # Time
//
// Latencies run on real time, which is virtual in a synctest bubble: put the
// test into synctest.Test and a latency of an hour costs nothing. Code that runs
// on a clock.Mock hands the mock in by [Tool.Clock] or with its recorder. For
// code whose sleep is injected there is a [Sleeper],
// for code whose random numbers are a [Jitter].
//
// A latency that is over at the very instant at which the context ends is a coin
// flip: give one of them a nanosecond more, and test both sides.
//
// # What is not covered
//
//   - A double never calls FailNow and never ends the goroutine that calls it,
//     which is the code under test's. A function or handler of yours that runs
//     as a step must not do so either: no t.Fatal, and no require, in a step.
//   - Once its test is over a double is silent: a call that comes later gets an
//     error and no report. To find goroutines that outlive an action, use package
//     faultsim.
//   - A double holds no lock while it waits. If the code under test does, virtual
//     time stands still and the test hangs: a goroutine that waits for a mutex is
//     not idle in the eyes of synctest.
//   - A real socket in a bubble hangs in the same way. Whatever a server in a
//     bubble is needed for, a [Server] has none; httptest.NewServer has one.
//   - A step that is both Hang and Deaf never returns, so its goroutine stays
//     behind; in a bubble that ends the test with a deadlock.
//   - [Server.ReplaceDefaultTransport] changes a variable of the whole process: it
//     is not for parallel tests, nor for a test beside them, and code that has
//     built a transport of its own is not reached.
//   - HTTP/2, trailers, upgrades, TLS, redirects by the server's own doing and
//     interim responses (1xx) are not played. Header fields of requests are kept
//     and not compared.
//   - By [Model.Reply] and [Model.Stream] a Model is held to what the APIs of the
//     large providers have in common to refuse, not to one of them: whether arguments in the conversation are an
//     object, roles alternate, or an id was used in an earlier turn is not looked
//     at. A text reply that is missing from the next prompt is none of its rules,
//     since programs shorten conversations.
//   - Strict order is per tool and per route, per model and per approver. The order between tools is in the
//     trace, where several doubles share a recorder ([Tool.Into]).
package scripted
