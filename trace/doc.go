// Package trace writes down what a program asks of its tools, and reads it
// back: which attempts were made, when, with which arguments, what the program
// saw of them, and how it ended.
//
// It judges nothing. Rules are in package invariants; doubles and simulations
// are in scripted and faultsim, and all of them record into this package. It
// registers no flags, reads no environment and imports no testing package, so
// that production code may link it.
//
// # The model
//
// A [Trace] is a list of [Event] values, in the order in which they happened.
// They are the one truth. Everything else is computed from them, when it is
// asked for, by [Trace.Actions]:
//
//   - An [Action] is one intended operation, what a person counts once: "pay
//     invoice 7". It has one end.
//   - An [Attempt] is one physical execution asked of a tool, the first
//     included: three attempts are two retries. It is counted when the tool is
//     reached, whatever the program logs.
//   - A [Series] is the run of an action's attempts at one tool with the same
//     arguments. After a failure, changed arguments stay in the series: they
//     are drift. After a success, changed arguments begin a new series, such as
//     the next page, and unchanged ones are a needless call of the same series.
//     Calls that are under way at once with different arguments, such as the
//     items of a batch, are of a series each.
//   - An [Outcome] is what the program saw of an attempt. What the tool really
//     did is in the events of kind [KindEffect], which only a double can know:
//     a payment may be made while its caller sees a timeout.
//   - An observation is what the program hands on of a failure, to its model or
//     its caller: an event of kind [KindObservation]. [Recorder.Observe] records it.
//   - A hit is an answer without a call, from a cache or from a request that
//     another action had under way. [Recorder.Hit] records it.
//   - A call can have another [Role] than that of an attempt: fetching
//     credentials or definitions of tools, opening a session, asking what became of
//     an attempt, or writing a record to a log or an audit trail. It is in the trace and counts as nothing else.
//   - A [Turn] is one reply of a model in an action that it drives, with what came
//     of each call that it asked for: the calls of tools that served it, the leave
//     that was asked for, and what the model was shown of it. [Trace.Turns]
//     computes them; [RecordModel], [RecordStream] and [RecordApproval] record what
//     they are made of, and [Recorder.Say] what the user is shown.
//   - A served call is an action of a program that is itself a tool:
//     [Recorder.Serve] records it with the caller's key and arguments, and
//     [Recorder.Effect] the work that the program does without another tool.
//   - A restart is a crash of the program's process while an action is under way
//     ([KindCrash]), and the begin of the next one ([KindRestart]). The action goes
//     on in it. Attempts that the crash cut off have no outcome: they are Lost.
//   - A drain is the instant at which that process is told to stop ([KindDrain]). In
//     its time of grace it ends the action, or hands it back to the next process
//     ([KindHandback]); one that does neither is killed, which is a crash.
//   - An action that is done again at somebody's word ([Recorder.BeginAgain]) is an
//     action of its own that names the one before; [ActionName] is the same.
//   - The calm is the instant at which faults stop that were put in on purpose
//     ([KindCalm], [Recorder.Calm]). It is of no action; [Trace.Recovery] counts from
//     it how long the program takes to work again.
//
// Instants are durations since the start of the trace, and so are deadlines.
//
// # Recording
//
// The zero [Recorder] is ready to use. [Record] wraps a tool that is a function,
// [Recorder.Transport] one that is reached over HTTP, [Recorder.Sleeper] the
// function that waits between attempts, where the program has one; [Layer] names
// a part of the program that retries by itself, for the calls below it; [Do] runs an
// action. A double, which decides itself when a tool is reached and answers,
// uses what they are made of: [Recorder.Begin], [Recorder.Call], [Pending].
//
//	func TestForecastIsRetried(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { // waits cost nothing
//			r := &trace.Recorder{Clear: true} // made-up data may be read
//			tool := trace.Record(r, "weather", flaky)
//			agent := New(tool, r.Sleeper(nil))
//			_, err := trace.Do(t.Context(), r, "forecast", func(ctx context.Context) (Forecast, error) {
//				return agent.Forecast(ctx, "Pune")
//			})
//			if err != nil || r.Trace().Metrics().Attempts != 3 {
//				t.Errorf("got error %v in\n%s", err, r.Trace().Timeline())
//			}
//		})
//	}
//
// Recording changes nothing of what it observes: arguments and answers pass as
// they are, panics go on, and an argument that cannot be written as JSON is
// recorded as Go prints it.
//
// # Which action a call belongs to
//
// It is decided when the call arrives, in this order:
//
//  1. the action that the call's context carries, as [Do] and
//     [Recorder.Begin] hand it on;
//  2. the one action that last sent the same idempotency key to the same tool;
//  3. the only action that is open;
//  4. the one action that last sent equal arguments to the same tool, an open
//     one before one that has ended: so a detached retry is found.
//
// Where no action was ever declared, all calls are of one without a name; it is
// over when the first is declared. Where there was one action only, all calls
// are of that one. Of calls that are served, the key belongs to the first, and
// equal arguments say nothing: see [Recorder.Serve]. A call that could
// still belong to several is marked as ambiguous and belongs to none: see
// [Trace.Ambiguous]. Pass the context on, and nothing is.
//
// # What is kept
//
// Arguments and results are kept in canonical form ([Canonical]), so that equal
// values are equal bytes. The idempotency key is taken out of the arguments
// first: a new key is no changed argument. So is the credential of a call, where
// [Recorder.Credential] says where it is: a token that was refreshed is none
// either.
//
// A tool's schema can change between two calls. [Recorder.Definition] says which
// version the program has; it is recorded with each call and is no argument.
// So is the session that a call goes over, by its number ([Call].Session);
// [Recorder.Closed] records that the program closed one.
//
// A Recorder keeps no value in clear unless it is told to. Keep allows fields by
// their dotted path; every other value becomes a digest such as "~xQGLhtm4bxhFBEo8",
// an HMAC of the value under DigestKey. Equal values have equal digests, so what
// counts for a judgement, whether arguments or keys changed, is still seen,
// while without DigestKey nobody can try values out. Keys of objects that do not
// look like names, idempotency keys, credentials, call ids, error texts, panic texts and the
// path of a URL in a derived tool name are hidden too. In clear are: the policy, names of
// actions, tools and fields, hosts in derived tool names, versions of definitions, error codes, times,
// null, true and false, how long lists are and, of leave that is asked for, the tool and the
// end. Whether a key of an object is the
// name of a field can only be guessed: one that is a plain word is shown, be it
// a person's.
//
// # Files
//
// [Trace.WriteTo] writes JSON Lines: a header with the version of the format and
// the content of the policy and of what is declared beside it,
// then an event a line, fields in one order, zero fields left out, durations as
// Go prints them:
//
//	{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}
//	{"at":"0s","kind":"call","tool":"weather","call":1,"args":{"city":"Pune"}}
//	{"at":"1.5s","kind":"answer","tool":"weather","call":1,"class":"transient","code":"503"}
//
// [Read] believes nothing that it does not know: see [FileError]. A file that
// ends after a whole line is a whole file, so that a trace may be written early.
//
// # What is not covered
//
//   - What a program does without a tool that is recorded is not seen, and
//     neither are waits that are no recorded sleeper's; but the gap between two
//     attempts is, whoever waits.
//   - The connections, TLS handshakes and retries within an http.RoundTripper
//     are not seen. A call is one RoundTrip; http.Transport repeats some
//     requests on its own when a kept connection turns out to be closed.
//   - Requests and responses that stream: a request's body is read before it is
//     sent, and a response's class is that of its status until its body fails.
//     Bodies with random parts, such as multipart boundaries, differ from
//     attempt to attempt.
//   - An error in a 200 answer is [OK] to Transport: record the adapter's
//     function with [Record], where its own errors can be classified.
//   - A recorder holds all its events in memory, at about 240 bytes each and
//     their arguments. It is for tests and for the recording of single
//     operations, not for a service's whole life.
package trace
