package invariants_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const pune, paris = `{"city":"Pune"}`, `{"city":"Paris"}`

func begin() *tracetest.Script { return tracetest.New().Begin("a") }

// tries is an action that calls the weather tool once for each class, at one
// instant and with the same arguments.
func tries(classes ...trace.Class) *tracetest.Script {
	s := begin()
	for _, c := range classes {
		s.Call("weather", pune).Answer(c)
	}
	return s
}

// A subject is a trace and whether the invariant is broken, kept or idle there.
type subject struct {
	name string
	tr   *tracetest.Script
}

const (
	transient, throttle, forbidden = trace.Transient, trace.Throttled, trace.Forbidden
	ok, timeout, cancelled         = trace.OK, trace.Timeout, trace.Cancelled
	sec                            = time.Second
)

// Every invariant has a subject that breaks it, near misses that do not, and
// one to which it does not apply.
func TestEachInvariantFindsItsFaultAndNothingElse(t *testing.T) {
	hint := Policy{MaxAttempts: 3, Retry: []trace.Class{throttle, transient}, Repeatable: true, Backoff: Backoff{Base: sec}}
	budget := with(hint, func(p *Policy) { p.Budget, p.BudgetCuts = 150*ms, true })
	auth := with(hint, func(p *Policy) { p.Retry = append(p.Retry, trace.Unauthenticated) })
	two := func() *tracetest.Script { return tracetest.New().Begin("a").Begin("b") }
	for _, c := range []struct {
		inv    Invariant
		breaks []subject
		keeps  []subject
		idle   *tracetest.Script
	}{
		{MaxAttempts(3), []subject{
			{"retries counted, not attempts", tries(transient, transient, transient, transient)},
			{"F050: a layer below retries too", tries(throttle, throttle, throttle, throttle, throttle).Fail("429")},
		}, []subject{
			{"the last permitted one", tries(transient, transient, ok)},
			{"pages are series of their own", begin().Call("list", `1`).Answer(ok).Call("list", `2`).Answer(ok).Call("list", `3`).Answer(ok).Call("list", `4`).Answer(ok)},
			{"credentials are no attempts", tries(transient, transient, transient).Auth("token").Answer(ok)},
		}, begin()},
		{NoRetryAfter(), []subject{
			{"F016: 401 again", tries(trace.Unauthenticated, trace.Unauthenticated)},
			{"F017: quota used up", tries(trace.QuotaExhausted, ok)},
			{"503, invalid, and a success in the queue", tries(transient, trace.Invalid, ok)},
		}, []subject{
			{"refused and ended", tries(transient, forbidden).Fail("403")},
			{"another attempt was under way", begin().Call("w", pune).Call("w", pune).AnswerTo(1, trace.Outcome{Class: forbidden})},
			{"F010: the refusal was late, the timeout was seen", begin().Until(sec).Call("w", pune).At(sec).Answer(forbidden).Call("w", pune).Answer(ok)},
		}, tries(transient, ok)},
		{StopAfterSuccess(), []subject{
			{"the answer says call me again", tries(ok, ok)},
			{"once more after a retry", tries(transient, ok, ok)},
		}, []subject{
			{"another page", begin().Call("list", `1`).Answer(ok).Call("list", `2`).Answer(ok)},
			{"another tool", begin().Call("a", pune).Answer(ok).Call("b", pune).Answer(ok)},
			{"the answer came with the end of the context", begin().Until(sec).Call("w", pune).At(sec).Answer(ok).Call("w", pune).Answer(ok)},
		}, tries(transient)},
		{SameArguments(), []subject{
			{"F037: the second body is empty", begin().Call("w", pune).Answer(throttle).Call("w", `""`).Answer(ok)},
			{"the city is another", begin().Call("w", pune).Answer(transient).Call("w", paris).Answer(ok)},
			{"it drifts back", begin().Call("w", pune).Answer(transient).Call("w", paris).Answer(transient).Call("w", pune).Answer(ok)},
		}, []subject{
			{"fields in another order", begin().Call("w", `{"a":1,"b":2}`).Answer(transient).Call("w", `{"b":2,"a":1.0}`).Answer(ok)},
			{"two cities, each retried", begin().Call("w", pune).Answer(transient).Call("w", pune).Answer(ok).Call("w", paris).Answer(ok)},
			{"corrected after invalid", begin().Call("w", pune).Answer(trace.Invalid).Call("w", paris).Answer(transient).Call("w", paris).Answer(ok)},
		}, tries(ok)},
		{OneKey(false), []subject{
			{"F033: a key for each attempt", begin().Key("k1").Call("pay", pune).Answer(timeout).Key("k2").Call("pay", pune).Answer(ok)},
			{"the key lost on the retry", begin().Key("k1").Call("pay", pune).Answer(timeout).Key("").Call("pay", pune).Answer(ok)},
			{"one key for two actions", two().On("a").Key("k").Call("pay", pune).Answer(ok).On("b").Call("pay", paris).Answer(ok)},
			{"F035: one key for two requests", begin().Key("k").Call("pay", pune).Answer(ok).Call("pay", paris).Answer(ok)},
		}, []subject{
			{"F033: the same key throughout", begin().Key("k").Call("pay", pune).Answer(timeout).Call("pay", pune).Answer(ok)},
			{"two tools know their own keys", begin().Key("k").Call("pay", pune).Answer(ok).Call("ship", paris).Answer(ok)},
			{"two actions, two keys", two().On("a").Key("k1").Call("pay", pune).Answer(ok).On("b").Key("k2").Call("pay", pune).Answer(ok)},
		}, tries(ok)},
		{OneKey(true), []subject{{"no key", tries(ok)}}, []subject{{"a key", begin().Key("k").Call("w", pune)}}, begin()},
		{OneEffect(), []subject{
			{"F028: replayed after a lost reply", begin().Call("order", pune).Effect().Answer(trace.Reset).Call("order", pune).Effect().Answer(ok)},
			{"F063: run again after a restart", begin().Call("order", pune).Effect().Call("order", pune).Effect()},
		}, []subject{
			{"one of two attempts", begin().Call("order", pune).Effect().Answer(trace.Reset).Call("order", pune).Answer(ok)},
			{"two pages, two effects", begin().Call("put", `1`).Effect().Answer(ok).Call("put", `2`).Effect().Answer(ok)},
			{"two tools", begin().Call("pay", pune).Effect().Answer(ok).Call("ship", pune).Effect().Answer(ok)},
		}, tries(ok)},
		{NoFirstDelay(), []subject{
			{"the wait at the head of the loop", begin().Wait(sec).Call("w", pune)},
			{"a wait asked of a stub", begin().Ask(sec).Call("w", pune)},
			{"a wait behind the login", begin().Auth("token").After(sec).Answer(ok).Wait(sec).Call("w", pune)},
		}, []subject{
			{"at once", tries(ok)}, {"at once, and then a wait", tries(transient).Wait(sec).Call("w", pune)},
			{"behind a login that takes its time", begin().Auth("token").After(sec).Answer(ok).Call("w", pune)},
		}, begin().Fail("no attempt")},
		{NoLastDelay(), []subject{
			{"a wait after the last failure", tries(transient, transient).Wait(sec).Fail("503")},
			{"a wait asked of a stub", tries(transient, transient).Ask(200 * ms).Fail("503")},
		}, []subject{
			{"ends with its last attempt", tries(transient, transient).Fail("503")},
			{"the deaf tool's late answer is awaited", begin().Call("w", pune).After(sec).Interrupt(timeout).After(sec).Answer(ok).End()},
			{"another series was under way", begin().Call("x", pune).Call("y", pune).Answer(ok).After(sec).AnswerTo(1, trace.Outcome{Class: ok}).End()},
		}, tracetest.New().BeginUntil("a", sec).Call("w", pune).Answer(transient).At(sec).Fail("deadline")},
		{WithinDeadline(), []subject{
			{"F045: attempts after the deadline", tracetest.New().BeginUntil("a", 3*sec).At(3*sec+1).Until(3*sec).Call("w", pune)},
			{"F046: more time than is left", tracetest.New().BeginUntil("a", sec).At(740*ms).Until(60*sec).Call("w", pune)},
			{"the context is not passed", tracetest.New().BeginUntil("a", sec).Call("w", pune)},
		}, []subject{
			{"what is left", tracetest.New().BeginUntil("a", sec).At(740*ms).Until(sec).Call("w", pune)},
			{"at the very deadline", tracetest.New().BeginUntil("a", sec).At(sec).Until(sec).Call("w", pune)},
		}, tries(ok)},
		{WithinBudget(budget), []subject{
			{"after the budget", begin().At(150*ms+1).Until(150*ms).Call("w", pune)},
			{"F048: the last attempt is not cut", begin().At(110*ms).Until(210*ms).Call("w", pune)},
		}, []subject{{"F048: the last attempt is cut", begin().At(110*ms).Until(150*ms).Call("w", pune)}}, begin()},
		{AdviceHeeded(Policy{MaxAttempts: 3, Advice: AdviceStops}), []subject{
			{"a final word", begin().Call("w", pune).AnswerTo(1, final).Call("w", pune)},
		}, []subject{
			{"and it ends there", begin().Call("w", pune).AnswerTo(1, final).Fail("503")},
			{"beside a retryable one", begin().Call("w", pune).AnswerTo(1, willing).Call("w", pune).AnswerTo(2, final).Fail("503")},
		}, tries(transient, ok)},
		{AllowedTools("w", "weather", "x"), []subject{
			{"the forbidden one when the approved one is down", tries(transient, transient).Call("y", pune).Answer(ok).End()},
		}, []subject{
			{"an approved alternative", tries(transient, transient).Call("x", pune).Answer(ok).End()},
			{"credentials are no tool's work", begin().Auth("token").Answer(ok).Call("w", pune).Answer(ok).End()},
		}, begin()},
		{Exact(Step("x"), Step("w").Args(pune)), []subject{
			{"the other way round", begin().Call("w", pune).Answer(ok).Call("x", pune).Answer(ok).End()},
			{"called once more", begin().Call("x", pune).Answer(ok).Call("w", pune).Answer(ok).Call("w", pune).Answer(ok).End()},
		}, []subject{{"with a retry", begin().Call("x", pune).Answer(ok).Call("w", pune).Answer(transient).Call("w", pune).Answer(ok).End()}}, begin()},
		{InOrder(Step("x"), Step("w")), []subject{
			{"one is left out", begin().Call("x", pune).Answer(ok).End()},
		}, []subject{{"others between", begin().Call("x", pune).Answer(ok).Call("y", pune).Answer(ok).Call("w", pune).Answer(ok).End()}}, tries(ok)},
		{Unordered(Step("x"), Step("w")), []subject{
			{"others between", begin().Call("x", pune).Answer(ok).Call("y", pune).Answer(ok).Call("w", pune).Answer(ok).End()},
		}, []subject{{"the other way round", begin().Call("w", pune).Answer(ok).Call("x", pune).Answer(ok).End()}}, begin()},
		{AtLeast(Step("x"), Step("x")), []subject{
			{"once for two", begin().Call("x", pune).Answer(ok).End()},
		}, []subject{{"two pages", begin().Call("x", `1`).Answer(ok).Call("x", `2`).Answer(ok).End()}}, tries(ok)},
		{AtMost(Step("x"), Step("w")), []subject{
			{"twice for one", begin().Call("x", `1`).Answer(ok).Call("x", `2`).Answer(ok).End()},
		}, []subject{{"one of them", begin().Call("w", pune).Answer(ok).End()}}, begin().End()},
		{Before(Step("x"), Step("w")), []subject{
			{"both at once", begin().Call("x", pune).Call("w", pune).After(ms).AnswerTo(1, fine).Answer(ok).End()},
		}, []subject{{"one after the other", begin().Call("x", pune).Answer(ok).Call("w", pune).Answer(ok).End()}}, begin().Call("x", pune).Answer(ok).End()},
		{WithinSpend(Policy{MaxAttempts: 9, Price: 4, Spend: 8}), []subject{
			{"failures cost as much as successes", tries(transient, transient, ok)},
			{"a second page", begin().Call("list", `1`).Answer(ok).Call("list", `2`).Answer(transient).Call("list", `2`)},
		}, []subject{{"the last unit", tries(transient, ok)}}, begin()},
		{AttemptTimeout(100 * ms), []subject{
			{"no limit", tries(ok)},
			{"the action's time", begin().Until(sec).Call("w", pune)},
		}, []subject{{"its own", begin().Until(100*ms).Call("w", pune)}, {"what is left", begin().Until(40*ms).Call("w", pune)}}, begin()},
		{WholeAttempt(Policy{Attempt: 100 * ms, Budget: sec, BudgetCuts: true}), []subject{
			{"the unit is wrong", begin().Until(100*time.Microsecond).Call("w", pune)},
			{"a nanosecond less", begin().Until(100*ms-1).Call("w", pune)},
			{"one context for all", begin().Until(100*ms).Call("w", pune).After(10*ms).Answer(transient).Until(100*ms).Call("w", pune)},
			{"less though the deadline is far", tracetest.New().BeginUntil("a", 100*ms).Until(99*ms).Call("w", pune)},
		}, []subject{
			{"its own", begin().Until(100*ms).Call("w", pune).After(10*ms).Answer(transient).Until(110*ms).Call("w", pune)},
			{"the wait before it counts", begin().Until(100*ms).Call("w", pune).After(10*ms).Answer(transient).At(50*ms).Until(110*ms).Call("w", pune)},
			{"more, which is the business of another", begin().Until(sec).Call("w", pune)},
		}, tracetest.New().BeginUntil("a", 99*ms).Until(99*ms).Call("w", pune)},
		{HintHonoured(hint), []subject{
			{"F009: seconds read as milliseconds", begin().Call("w", pune).Hint(throttle, 5*sec).After(5*ms).Call("w", pune)},
			{"F009: the header not read", begin().Call("w", pune).Hint(throttle, 5*sec).After(sec).Call("w", pune)},
		}, []subject{
			{"waited", begin().Call("w", pune).Hint(throttle, 5*sec).After(5*sec).Call("w", pune)},
			{"stopped", begin().Call("w", pune).Hint(throttle, 5*sec).Fail("429")},
		}, tries(transient)},
		{WaitsInWindow(hint), []subject{
			{"short by a nanosecond", tries(transient).After(sec-1).Call("weather", pune)},
			{"long by a nanosecond", tries(transient).After(sec+1).Call("weather", pune)},
			{"F005: no wait left", tries(transient).Call("weather", pune)},
		}, []subject{
			{"exact", tries(transient).After(sec).Call("weather", pune)},
			{"asked of a stub that does not sleep", tries(transient).Ask(sec).Call("weather", pune)},
		}, tries(ok)},
		{WaitsInWindow(auth), []subject{
			{"a wait that credentials do not explain", tries(transient).Auth("t").After(ms).Answer(ok).After(sec+1).Call("weather", pune)},
		}, []subject{
			{"F023: fresh credentials need no wait", tries(trace.Unauthenticated).Auth("t").After(ms).Answer(ok).Call("weather", pune)},
			{"the wait begins after the credentials", tries(transient).Auth("t").After(ms).Answer(ok).After(sec).Call("weather", pune)},
		}, tries(transient).Ambiguous("weather", pune).Call("weather", pune)},
		{NoAttemptAfterCancel(), []subject{
			{"F040: the timer fires anyway", tries(transient).At(sec/2).Cancel().At(2*sec).Call("weather", pune)},
		}, []subject{
			{"F040: no more", tries(transient).At(sec / 2).Cancel().Fail("cancelled")},
			{"F040: at the same instant", tries(transient).At(2*sec).Cancel().Call("weather", pune)},
		}, tries(ok)},
		{NoCallOnDeadContext(), []subject{
			{"cancelled before", begin().Cancel().Call("w", pune)},
			{"deadline in the past", tracetest.New().BeginUntil("a", -1).Call("w", pune)},
		}, []subject{
			{"nothing called", begin().Cancel().Fail("cancelled")},
			{"the call came first", begin().Call("w", pune).Cancel()},
		}, tries(ok)},
		{EndsAtCancel(), []subject{
			{"it sleeps on", tries(transient).At(sec).Cancel().At(2 * sec).Fail("cancelled")},
			{"it never ends", tries(transient).At(sec).Cancel().At(2*sec).Trouble(trace.KindHang, "hang")},
		}, []subject{
			{"at once", tries(transient).At(sec).Cancel().Fail("cancelled")},
			{"held up by a deaf tool", begin().Call("w", pune).At(sec).Cancel().Interrupt(cancelled).At(2 * sec).Answer(ok).Fail("cancelled")},
			{"held up by one that its timeout had left", begin().Call("w", pune).At(sec).Interrupt(timeout).At(2 * sec).Cancel().At(3 * sec).Answer(ok).Fail("cancelled")},
			{"held up by credentials", tries(transient).Auth("t").At(sec).Cancel().At(2 * sec).Answer(ok).Fail("cancelled")},
		}, tries(transient).At(sec).Cancel()},
		{CancelReachesTool(), []subject{
			{"F030: the tool works on", begin().Call("w", pune).At(sec).Cancel().Fail("cancelled").At(2 * sec).Answer(ok)},
			{"it never answers", begin().Call("w", pune).At(sec).Cancel().Fail("cancelled")},
		}, []subject{
			{"it answers at once", begin().Call("w", pune).At(sec).Cancel().Answer(cancelled).Fail("cancelled")},
			{"it sees it and works on", begin().Call("w", pune).At(sec).Cancel().Interrupt(cancelled).Fail("cancelled")},
		}, tries(transient).At(sec).Cancel().Fail("cancelled")},
		{NoAttemptAfterEnd(), []subject{
			{"F076: a goroutine retries on", tries(transient).Fail("503").At(sec).Call("weather", pune)},
		}, []subject{{"a late answer is no attempt", begin().Call("w", pune).Fail("left").At(sec).Answer(ok)}}, tries(transient)},
		{NoEffectAfterEnd(), []subject{
			{"F076: left at work by a failure beside it", begin().Call("w", pune).Fail("failed").At(sec).Effect().Answer(ok)},
			{"done, and never answered", begin().Call("w", pune).Fail("left").At(sec).Effect()},
		}, []subject{
			{"left at work, and nothing is done", begin().Call("w", pune).Fail("left").At(sec).Answer(transient)},
			{"an answer whose body is handed on", begin().Call("w", pune).Effect().End().At(sec).Answer(ok)},
			{"done at the very instant", begin().Call("w", pune).Fail("left").Effect().At(sec).Answer(ok)},
		}, tries(timeout).Fail("lost").At(sec).Effect()},
		{RateLimit("w", 2, sec), []subject{
			{"F080: three in a window", begin().Call("w", pune).Answer(ok).Call("w", paris).Answer(ok).At(sec-1).Call("w", pune)},
			{"twice as many at the border", begin().At(900*ms).Call("w", `1`).Call("w", `2`).At(sec).Call("w", `3`).Call("w", `4`)},
			{"over two actions", two().On("a").Call("w", pune).On("b").Call("w", pune).On("a").Call("w", paris)},
			{"a ring that went round", begin().Call("w", `1`).At(sec).Call("w", `2`).At(2*sec).Call("w", `3`).Call("w", `4`).Call("w", `5`)},
		}, []subject{
			{"the next window", begin().Call("w", pune).Call("w", paris).At(sec).Call("w", pune).Call("w", paris)},
			{"another tool", begin().Call("w", pune).Call("w", paris).Call("x", pune)},
		}, begin().Call("x", pune)},
		{Concurrency("w", 1), []subject{
			{"two at once", two().On("a").Call("w", pune).On("b").Call("w", pune).After(ms).Answer(ok)},
			{"F080: before the first was answered", begin().Call("w", pune).Call("w", paris).After(ms).Answer(ok)},
		}, []subject{
			{"one after the other", begin().Call("w", pune).Answer(ok).Call("w", paris).Answer(ok)},
			{"at one instant", begin().Call("w", pune).Call("w", paris).Answer(ok).After(ms).AnswerTo(1, trace.Outcome{Class: ok})},
			{"whose context has ended", begin().Call("w", pune).Interrupt(timeout).Call("w", paris)},
			{"another tool", begin().Call("w", pune).Call("x", pune)},
		}, begin().Call("x", pune)},
		{HonestEnding(), []subject{
			{"F003: nil after the last failure", tries(transient, transient, transient).End()},
			{"F025: refused, and called done", tries(forbidden).End()},
			{"no call at all", begin().End()},
			{"a result made up", tries(ok).Ending(trace.Event{Result: []byte(`20`), Want: []byte(`19`)})},
			{"F024: words in the payload", tries(ok).Fail("failed: 0")},
			{"the error lost", tries(transient, timeout).Ending(trace.Event{Error: "oops", Cause: -1})},
			{"the error of the first", tries(transient, timeout).Ending(trace.Event{Error: "503", Cause: 1})},
			{"attempts miscounted", tries(transient, transient).Ending(trace.Event{Error: "3 attempts", Count: 3})},
			{"an error that is called a success", tries(ok).Ending(trace.Event{Error: "x", Reason: trace.ReasonSuccess})},
			{"a failure after the success", tries(ok, transient).End()},
		}, []subject{
			{"success", tries(transient, ok).Ending(trace.Event{Result: []byte(`{"b":1,"a":2}`), Want: []byte(`{"a":2,"b":1}`)})},
			{"a business no as a value", tries(trace.Declined).End()},
			{"a business no as an error", tries(trace.Declined).Fail("declined")},
			{"the late answer of a deaf tool", begin().Call("w", pune).At(sec).Interrupt(timeout).At(2 * sec).Answer(ok).End()},
			{"F044: a success after the cancel is not applied", begin().Call("w", pune).At(sec).Cancel().Interrupt(cancelled).Fail("cancelled").At(2 * sec).Answer(ok)},
			{"F031: reconciled", tries(timeout).Reconcile("status").Answer(ok).End()},
			{"a structured refusal without a Go error", tries(forbidden).Ending(trace.Event{Reason: trace.ReasonRefused})},
			{"the page that failed counts its own", begin().Call("l", `1`).Answer(ok).Call("l", `2`).Answer(transient).Call("l", `2`).Answer(transient).Ending(trace.Event{Error: "x", Count: 2, Cause: 3})},
		}, tries(transient)},
		{OneTerminal(), []subject{
			{"F044: cancelled, then completed", tries(ok).Publish(trace.ReasonCancelled).Publish(trace.ReasonSuccess).End()},
			{"one action tells nothing", two().On("a").Publish(trace.ReasonSuccess).End().On("b").End()},
		}, []subject{
			{"one", tries(ok).Publish(trace.ReasonSuccess).End()},
			{"one that has not ended", two().On("a").Publish(trace.ReasonSuccess).End().On("b").Call("w", pune)},
		}, tries(ok).End()},
		{NothingLeft(), []subject{{"F041: a timer", tries(ok).Trouble(trace.KindLeak, "")}}, []subject{{"nothing", tries(ok)}}, tracetest.New()},
		{Returns(), []subject{{"F080: a lock", tries(ok).Trouble(trace.KindHang, "")}}, []subject{{"it does", tries(ok)}}, tracetest.New()},
		{NoPanic(), []subject{{"nil map", tries(ok).Trouble(trace.KindPanic, "nil map")}}, []subject{{"none", tries(ok)}}, tracetest.New()},
		{NoSpin(), []subject{{"F005: hot loop", tries(ok).Trouble(trace.KindSpin, "")}}, []subject{{"none", tries(ok)}}, tracetest.New()},
		{Conforms(hint), []subject{
			{"F002: one retry was none", tries(transient).Fail("503")},
			{"a tool exchanged for another too soon", begin().Call("x", pune).Answer(transient).Call("y", pune).Answer(ok).End()},
			{"the end is late", tries(forbidden).After(1).Fail("403")},
			{"another reason", tries(forbidden).FailFor(trace.ReasonExhausted)},
			{"no attempt", begin().Fail("x")},
			{"overlapping attempts", begin().Call("w", pune).Call("w", pune).At(sec).AnswerTo(1, down).AnswerTo(2, fine).End()},
		}, []subject{
			{"still waiting when the trace ends", tries(transient)},
			{"still in flight when the trace ends", begin().Call("w", pune)},
			{"F031: asked what became of it", tries(transient).Reconcile("status").Answer(ok).End()},
			{"the first of two side by side decides", begin().Call("x", pune).Call("y", pune).AnswerTo(1, down).At(ms).AnswerTo(2, fine).End()},
			{"a fallback after the last attempt", begin().Call("x", pune).Answer(transient).After(sec).Call("x", pune).Answer(transient).After(2*sec).Call("x", pune).Answer(transient).Call("y", pune).Answer(ok).End()},
		}, begin().FailFor(trace.ReasonNeedsInput)},
	} {
		t.Run(c.inv.Name, func(t *testing.T) {
			require.NotEmpty(t, c.inv.Rule)
			for _, s := range c.breaks {
				t.Run(s.name, func(t *testing.T) {
					found := Find(s.tr.Trace(), c.inv)
					require.NotEmpty(t, found)
					require.Equal(t, c.inv.Name, found[0].Invariant)
					require.NotEmpty(t, found[0].Text)
					require.NotEmpty(t, found[0].Events)
				})
			}
			for _, s := range c.keeps {
				t.Run(s.name, func(t *testing.T) {
					require.Empty(t, Find(s.tr.Trace(), c.inv))
				})
			}
			t.Run("does not apply", func(t *testing.T) {
				require.Empty(t, Find(c.idle.Trace(), c.inv))
				require.Zero(t, Applied(c.idle.Trace(), c.inv)[c.inv.Name])
			})
		})
	}
}

func TestOneOfManyKeysUsedTwiceIsFound(t *testing.T) {
	s := tracetest.New()
	for i := range 100 {
		s.Begin(fmt.Sprint(i)).Key(fmt.Sprint("k", i)).Call("pay", pune).Answer(ok).End()
	}
	require.Empty(t, Find(s.Trace(), OneKey(true)))
	found := Find(s.Begin("again").Key("k50").Call("pay", pune).Trace(), OneKey(true))
	require.Len(t, found, 1)
	require.Equal(t, "again", found[0].Action)
}
