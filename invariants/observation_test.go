package invariants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var (
	told = Observation{
		Tool: "tool", Code: "error.code", Message: "error.message", Next: "next", Retryable: "retryable", Attempts: "attempts",
		Limit: 300, Never: []string{"Bearer t0ken"},
	}
	asks = Policy{ID: "weather/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient, trace.Throttled, trace.Timeout}, Repeatable: true}
)

// say is an observation with all fields.
func say(retryable bool, attempts int, message string) string {
	return fmt.Sprintf(`{"tool":"w","error":{"code":"unavailable","message":%s},"next":["ask later"],"retryable":%v,"attempts":%d}`,
		trace.Marshal(message), retryable, attempts)
}

const plain = "The service does not answer."

// named is the one of the contract's rules with the name.
func named(t *testing.T, name string, p Policy) Invariant {
	t.Helper()
	for _, inv := range told.Invariants(p) {
		if inv.Name == name {
			return inv
		}
	}
	t.Fatalf("no rule %q", name)
	return Invariant{}
}

func TestObservationRules(t *testing.T) {
	after := func(c ...trace.Class) *tracetest.Script { return tries(c...) }
	unsaid := func(s *tracetest.Script, raw string) *tracetest.Script { return s.Observe(raw).Fail("x") }
	said := func(words string) *tracetest.Script {
		s := begin().Call("w", pune).Answer(transient)
		s.Observe(say(true, 1, plain)).Fail("x")
		tr := s.Trace()
		tr.Events[2].Error = words
		return s
	}
	type c struct {
		name  string
		tr    *tracetest.Script
		found string // empty: kept
	}
	for rule, cases := range map[string][]c{
		"observation-structured": {
			{"all fields", unsaid(after(transient), say(true, 1, plain)), ""},
			{"nothing handed on", after(transient).Fail("503"), `the action failed with "503" and handed nothing on`},
			{"a text", unsaid(after(transient), `ERROR: 500`), `is no object: "ERROR: 500"`},
			{"empty", unsaid(after(transient), ``), "is no object: it is empty"},
			{"a list", unsaid(after(transient), `[{"tool":"w"}]`), "is no object"},
			{"a field missing", unsaid(after(transient), `{"tool":"w"}`), `the field "error.code" (Code) of what was handed on is missing`},
			{"a path through a text", unsaid(after(transient), `{"tool":"w","error":"500"}`), `"error.code" (Code) of what was handed on is missing`},
			{"a flag in words", unsaid(after(transient), strings.Replace(say(true, 1, plain), "true", `"yes"`, 1)), "neither true nor false"},
			{"half an attempt", unsaid(after(transient), strings.Replace(say(true, 1, plain), `"attempts":1`, `"attempts":1.5`, 1)), "no whole number"},
			{"no next step", unsaid(after(transient), strings.Replace(say(true, 1, plain), `["ask later"]`, `[]`, 1)), `"next" (Next)`},
			{"a number as the code", unsaid(after(transient), strings.Replace(say(true, 1, plain), `"unavailable"`, `503`, 1)), "is no text"},
		},
		"observation-retryable": {
			{"exhausted", unsaid(after(transient, transient, transient), say(true, 3, plain)), ""},
			{"exhausted, called final", unsaid(after(transient, transient, transient), say(false, 3, plain)), "handed on as final, and the policy retries transient"},
			{"refused", unsaid(after(forbidden), say(false, 1, plain)), ""},
			{"refused, called retryable", unsaid(after(forbidden), say(true, 1, plain)), "as retryable, and the policy does not retry forbidden"},
			{"the flag of the failure before", unsaid(after(transient, forbidden), say(true, 2, plain)), "does not retry forbidden"},
			{"handed on in the middle", after(transient).Observe(say(true, 1, plain)).Call("w", pune).Answer(forbidden).Observe(say(false, 2, plain)).Fail("x"), ""},
			{"two tools disagree", unsaid(begin().Call("x", pune).Answer(forbidden).Call("y", pune).Answer(transient), say(false, 2, plain)), ""},
			{"the tool that failed counts, not the one that answered", unsaid(begin().Call("x", pune).Answer(forbidden).Call("y", pune).Answer(ok), say(true, 2, plain)), "does not retry forbidden"},
			{"the caller has cancelled", unsaid(after(transient).Cancel(), say(false, 1, plain)), ""},
			{"the deadline has passed", unsaid(tracetest.New().BeginUntil("ask", time.Second).Call("w", pune).Answer(transient).At(time.Second), say(false, 1, plain)), ""},
			{"the breaker refused", after(transient).Observe(say(false, 1, plain)).FailFor(trace.ReasonBreakerOpen), ""},
			{"its own timeout", unsaid(begin().Until(time.Second).Call("w", pune).At(time.Second).Answer(timeout), say(false, 1, plain)), "handed on as final, and the policy retries timeout"},
			{"an attempt that it cancelled itself", unsaid(begin().Call("w", pune).Interrupt(cancelled), say(false, 1, plain)), "as final"},
			{"a refusal at the attempt's own timeout", unsaid(begin().Until(time.Second).Call("w", pune).At(time.Second).Answer(forbidden), say(true, 1, plain)), ""},
			{"a deaf tool succeeds late", unsaid(begin().Call("w", pune).Interrupt(timeout).At(time.Second).Answer(ok), say(false, 1, plain)), ""},
			{"never answered", unsaid(begin().Call("w", pune), say(true, 1, plain)), ""},
		},
		"observation-attempts": {
			{"as many as there were", unsaid(after(transient, transient), say(true, 2, plain)), ""},
			{"the retries", unsaid(after(transient, transient), say(true, 1, plain)), "the count that was handed on is 1, there were 2 attempts"},
			{"those until then", after(transient).Observe(say(true, 1, plain)).Call("w", pune).Answer(ok).End(), ""},
			{"those of the tool that failed", unsaid(begin().Call("x", pune).Answer(ok).Call("y", pune).Answer(transient).Call("y", pune).Answer(transient), say(true, 2, plain)), ""},
			{"of none", unsaid(begin(), say(true, 0, plain)), ""},
			{"an ambiguous call", unsaid(begin().Call("w", pune).Answer(transient).Ambiguous("w", pune), say(true, 2, plain)), ""},
		},
		"observation-secret": {
			{"a canary stays", said("login at " + CanaryHost), ""},
			{"a canary goes on", unsaid(after(transient), say(true, 1, "token "+CanarySecret)), `"` + CanarySecret + `" was handed on`},
			{"a host in a name", unsaid(after(transient), `{"details":[{"`+CanaryHost+`":1}]}`), `"` + CanaryHost + `" was handed on`},
			{"what is never to be said", unsaid(after(transient), `"Authorization: Bearer t0ken"`), `"Bearer t0ken" was handed on`},
		},
		"observation-stack": {
			{"none", unsaid(after(transient), say(true, 1, "The clock is at 12:30, see main.go:12.")), ""},
			{"Go", unsaid(after(transient), say(true, 1, "boom\ngoroutine 1 [running]:\nmain.f()")), "goroutine 1 ["},
			{"Go, its end", unsaid(after(transient), say(true, 1, "/srv/a.go:42 +0x1d")), ".go:42 +0x"},
			{"Python", unsaid(after(transient), say(true, 1, "Traceback (most recent call last):\n  File \"a.py\"")), "Traceback"},
			{"Java", unsaid(after(transient), `{"cause":"x\n\tat com.acme.Pay.run(Pay.java:12)"}`), "at com.acme.Pay.run(Pay.java:12"},
			{"JavaScript", unsaid(after(transient), `{"cause":"x\n    at run (/srv/app.js:1:2)"}`), "at run (/srv/app.js:1"},
		},
		"observation-short": {
			{"short", unsaid(after(transient), say(true, 1, plain)), ""},
			{"long", unsaid(after(transient), say(true, 1, strings.Repeat("x", 300))), "at most 300 are allowed"},
		},
		"observation-telling": {
			{"a sentence", unsaid(after(transient), say(true, 1, plain)), ""},
			{"another language", unsaid(after(transient), say(true, 1, "服务不可用")), ""},
			{"a number", unsaid(after(transient), say(true, 1, "500")), `a bare status: "500"`},
			{"a number with words", unsaid(after(transient), say(true, 1, "ERROR: HTTP 500 Internal Server Error")), "a bare status"},
			{"nothing known", unsaid(after(transient), say(true, 1, "Something went wrong")), "a bare status"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			inv := named(t, rule, asks)
			require.NotEmpty(t, inv.Rule)
			require.Zero(t, Applied(tries(ok).End().Trace(), inv)[rule], "nothing failed")
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					found := Find(c.tr.Trace(), inv)
					if c.found == "" {
						require.Empty(t, found)
						return
					}
					require.Len(t, found, 1)
					require.Equal(t, rule, found[0].Invariant)
					require.Contains(t, found[0].Text, c.found)
					require.NotEmpty(t, found[0].Advice)
					require.NotEmpty(t, found[0].Events)
				})
			}
		})
	}
}

// A failure that may have had its effect is not to be repeated without a key,
// whatever its class.
func TestAnUnsafeRepeatIsNotCalledRetryable(t *testing.T) {
	p := Policy{ID: "pay/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}}
	doubtful := begin().Call("w", pune).AnswerTo(1, trace.Outcome{Class: trace.Throttled, Effect: trace.EffectUnknown})
	found := Find(doubtful.Observe(say(true, 1, plain)).Fail("x").Trace(), named(t, "observation-retryable", p))
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "w may have done its work (throttled)")

	p.Reconcile = true // it asks, and may know more than the trace shows
	require.Zero(t, Applied(doubtful.Trace(), named(t, "observation-retryable", p))["observation-retryable"])
}

// Where an observation could be of any action, none is called silent.
func TestAStrayObservationMayBeThatOfTheSilentAction(t *testing.T) {
	tr := tries(transient).Observe(say(true, 1, plain)).Fail("503").Trace()
	require.Empty(t, Find(tr, named(t, "observation-structured", asks)))
	tr = tries(transient).Observe(say(true, 1, plain)).Fail("503").Trace()
	tr.Events[3].Ambiguous = true
	require.Empty(t, Find(tr, named(t, "observation-structured", asks)))
}

// With a failure that leaks, the rule has been put to the test; without, not.
func TestASecretThatNobodyToldProvesNothing(t *testing.T) {
	o := Observation{Message: "message"}
	applied := func(words string) int {
		tr := tries(transient).Observe(`{"message":"It is down."}`).Fail("x").Trace()
		tr.Events[2].Error = words
		return Applied(tr, o.Invariants(asks)...)["observation-secret"]
	}
	require.Zero(t, applied("503"))
	require.Equal(t, 1, applied("503 from "+CanaryHost))
}

// What a recorder has hidden is not judged, and the flag still is.
func TestARedactedObservationIsJudgedByWhatIsLeft(t *testing.T) {
	r := &trace.Recorder{}
	ctx, op := r.Begin(t.Context(), "ask")
	r.Call(ctx, trace.Call{Tool: "w"}).Answer(trace.Outcome{Class: trace.Forbidden}, nil, nil)
	op.Observe(say(true, 9, "500"))
	tr := r.Trace()
	found := Find(tr, told.Invariants(asks)...)
	require.Len(t, found, 1)
	require.Equal(t, "observation-retryable", found[0].Invariant)
}

func TestObservationLeavesOutWhatIsNotPromised(t *testing.T) {
	var names []string
	for _, inv := range (Observation{Code: "error"}).Invariants(asks) {
		names = append(names, inv.Name)
	}
	require.Equal(t, []string{"observation-structured", "observation-secret", "observation-stack"}, names)
}

func TestUnusableObservationNamesFieldAndFix(t *testing.T) {
	require.NoError(t, told.Validate())
	for _, c := range []struct {
		o    Observation
		want string
	}{
		{Observation{}, "observation: Code: is empty, and so are all other fields: name at least one that the observation has"},
		{Observation{Code: "error..code"}, `observation: Code: is "error..code", a path with an empty part: write it as in "error.code"`},
		{Observation{Code: "error", Message: "error"}, `observation: Message: is "error", which Code is already: name a field of its own`},
		{Observation{Code: "error", Limit: -1}, "observation: Limit: is -1: say 0 for none"},
		{Observation{Code: "error", Never: []string{""}}, "observation: Never: holds an empty text, which occurs everywhere: take it out"},
	} {
		require.EqualError(t, c.o.Validate(), c.want)
	}
}
