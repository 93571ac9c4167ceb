package invariants_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// everything returns rules of every kind, under contracts in which each field
// says something somewhere.
func everything() [][]Invariant {
	wild := Policy{
		ID: "wild/v1", MaxAttempts: 3, Attempt: time.Second, Budget: 5 * time.Second, BudgetCuts: true, Price: 2, Spend: 5,
		Retry:   []trace.Class{trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.Unknown, trace.Partial},
		Desired: []trace.Class{trace.NotFound, trace.Conflict}, Advice: AdviceDecides, Key: "key", Reconcile: true,
		Backoff: Backoff{Base: 100 * time.Millisecond, Cap: time.Second, Jitter: FullJitter},
		Hint:    Hint{Limit: 2 * time.Second, Over: OverClamp, Resets: true},
		Winner:  WinnerCancel, Hedge: Hedge{After: 300 * time.Millisecond, Max: 2}, Restart: RestartResumes, Drain: DrainFree,
		Refresh: Refresh{Once: true, Credential: "token", Shared: true, Extra: true}, Correct: Correct{Once: true, Fields: []string{"city"}},
		Tools: map[string]Policy{"bank": {ID: "once", MaxAttempts: 1, Budget: time.Second, Late: LateWait}},
	}
	endless := Policy{ID: "endless/v1", MaxAttempts: Unlimited, Budget: time.Hour, Retry: []trace.Class{trace.Transient}, Repeatable: true,
		Backoff: Backoff{Base: 1, Jitter: DecorrelatedJitter}, Restart: RestartInterrupts, Winner: WinnerSuccess, Hint: Hint{Use: HintReplace}}
	plain := Policy{ID: "plain/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Undone: []trace.Class{trace.Transient}}
	full := Contract{
		Policy:         wild,
		Breakers:       []Breaker{{Tool: "weather", Consecutive: 2, Cooldown: time.Second, Fallback: "bank"}, {Tool: "bank", Rate: 0.5, Window: 4, Cooldown: time.Second, Probes: 2, Lease: time.Second}},
		Allowance:      &Allowance{Calls: 3, Cost: 5, Prices: map[string]int{"bank": 2}, Time: time.Second},
		Allowed:        []string{"weather"},
		EscalatesAfter: 2, Spreads: true,
		Sinks:   []Sink{{Name: "log", Counts: CountRetries, Wait: time.Second}, {Name: "audit", Mandatory: true, Before: true}, {Name: "ends", Mandatory: true, Degraded: true, Counts: CountEnds}},
		Cache:   &Cache{TTL: time.Second, FailureTTL: time.Second},
		Session: &Session{Dials: 2, Pause: time.Second},
		Observation: &Observation{Tool: "tool", Code: "error.code", Message: "message", Next: "next", Retryable: "retryable",
			Attempts: "attempts", Limit: 100, Never: []string{"secret"}},
	}
	one := Contract{Policy: endless, Breakers: []Breaker{{Consecutive: 1, Cooldown: 1}}}
	return [][]Invariant{
		wild.Invariants(), endless.Invariants(), plain.Invariants(), full.Invariants(), one.Invariants(),
		Repeats{Retention: time.Hour, Lease: time.Second, AtOnce: AtOnceRefused, Failures: FailuresKept, Keyless: KeylessRefused, Key: "key"}.Invariants(),
		Repeats{AtOnce: AtOnceWaits, Failures: FailuresForgotten, Keyless: KeylessRuns, Work: "bank", Effects: 2}.Invariants(),
		Repeats{By: ByState}.Invariants(),
		{
			RateLimit("weather", 2, time.Second), RateLimit("bank", math.MaxInt, math.MaxInt64), Concurrency("weather", 1), OneEffect(), OneKey(true), AttemptTimeout(time.Second),
			Attributed(), PhysicalAttempts(2), RetryOwners(map[trace.Class]string{trace.Transient: "sdk", trace.Throttled: "app"}),
			ItemsNamed(), BatchRetry(), RefreshShared(), RefreshedOnce(wild), SameArguments(), OperatorRetry(wild), NoOverlap(), WholeAttempt(wild),
		},
		trajectories(), everyLoop().Invariants(wild), nowhere,
		nothingHolds().Invariants(), {CircuitBreaker(Breaker{Window: 1000, Rate: math.NaN(), Probes: -1}), WithinAllowance(Allowance{Calls: -1, Time: -1})},
	}
}

// trajectories are rules of every way to compare, with steps that the traces have
// in part, and some that nobody can read.
func trajectories() (rules []Invariant) {
	city := map[string]any{"city": "Pune"}
	steps := []StepMatcher{
		Step("weather").Partial(city), Step("weather").Args(`{"city":"Pune","n":1}`).Only("city"), Step("bank").Args(nil),
		Step("weather").Where(inIndia), Step("weather").Args("[1]"), Step("weather"),
	}
	for _, t := range []Trajectory{{}, {Counted: AllAttempts}, {Counted: SuccessfulAttempts, Action: "a"}, {Succeeded: true}} {
		rules = append(rules, t.Exact(steps...), t.InOrder(steps[1:4]...), t.Unordered(steps...), t.AtLeast(steps[2:]...), t.AtMost(steps[:3]...),
			t.Before(steps[0], steps[2]), t.Before(steps[5], steps[5]), t.Exact())
	}
	return append(rules, InOrder(), Exact(Step("")), Before(Step("weather").Args("{"), Step("weather").Where(nil)), Trajectory{Counted: "?"}.AtMost(steps...))
}

// everyLoop is the contract of a loop in which each field says something.
func everyLoop() Loop {
	return Loop{
		ID: "loop/v1", Turns: 2, Attempts: 3, Intention: 2, Failing: 1, PerTool: 1, EscalateAfter: 2, Count: CountEach, Rejections: 1, Tokens: 100,
		Tools: []string{"weather", "bank"}, Protected: []string{"city", "bank.city"}, Correct: Correct{Once: true, Fields: []string{"unit"}},
		Approve: []string{"bank"}, Goal: "bank", AfterGoal: []string{"weather"}, Evidence: []string{"sunny"}, Never: []string{"boom"},
		Orders: []string{"admin=true", "bank"}, Model: Policy{ID: "model/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true},
	}
}

// nowhere are the rules of a loop that contradicts itself.
var nowhere = Loop{Turns: -1, Goal: "x", Tools: []string{""}, Count: "sheep", Model: Policy{ID: "x"}}.Invariants(Policy{})

// nothingHolds is a contract in which nothing holds together.
func nothingHolds() Contract {
	return Contract{
		Policy:         Policy{MaxAttempts: math.MinInt, Attempt: math.MinInt64, Backoff: Backoff{Factor: math.NaN(), Jitter: Jitter{Low: math.Inf(1)}}, Retry: []trace.Class{200}},
		Breakers:       []Breaker{{Window: 1000, Rate: math.NaN(), Least: -5, Probes: -1, Consecutive: -1}, {}},
		Allowance:      &Allowance{Calls: -1, Cost: math.MinInt, Time: -1},
		EscalatesAfter: -1, Spreads: true,
		Sinks:       []Sink{{Counts: "sheep", Before: true, Wait: -1}},
		Cache:       &Cache{TTL: -1, FailureTTL: math.MinInt64},
		Observation: &Observation{Code: "..", Limit: -1, Never: []string{""}},
	}
}

// hostile draws a trace that no recorder writes: kinds in any order, times of
// any size, numbers that point nowhere. Names are few, so that rules find what
// they look for.
func hostile() *rapid.Generator[*trace.Trace] {
	few := func(names ...string) *rapid.Generator[string] { return rapid.SampledFrom(names) }
	times := rapid.OneOf(rapid.SampledFrom([]time.Duration{0, 0, 1, -1, time.Second, 5 * time.Second, math.MaxInt64, math.MinInt64}), milliseconds(0, 3000))
	values := func(texts ...string) *rapid.Generator[json.RawMessage] {
		return rapid.Map(rapid.SampledFrom(texts), func(s string) json.RawMessage { return json.RawMessage(s) })
	}
	numbers := rapid.SampledFrom([]int{0, 0, 1, 2, 3, 9, math.MaxInt})
	args := values("", `{"tool":"bank","arguments":{"city":"Pune"}}`, `{"city":"Pune","admin":true}`, `{"city":"Pune"}`, `{"city":"Agra"}`, "null", `[1]`, `"x"`)
	const model = int(trace.RoleModel)
	results := values("", `"sunny"`, `{"approved":true,"expires":"0001-01-02T00:00:00Z"}`, `"admin=true, it is done"`, "null", `{"message":"failed at main.go:12","retryable":true,"attempts":1e400}`, `{"tool":3,"error":{"code":[]},"next":[1]}`)
	items := rapid.SampledFrom([]trace.Items{"", "", "a:ok,b:throttled", "a:ok", "b:reset,b:ok", ":ok"})
	event := rapid.Custom(func(t *rapid.T) trace.Event {
		e := trace.Event{
			Kind:   rapid.SampledFrom(kinds()).Draw(t, "kind"),
			Action: few("", "a", "a", "b").Draw(t, "action"), Tool: few("weather", "weather", "bank", "log", "audit", "ends", "").Draw(t, "tool"),
			Role:    trace.Role(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, int(trace.RoleConnect), model, model, model, int(trace.RoleAgent), int(trace.RoleApproval)}).Draw(t, "role")),
			Ask:     numbers.Draw(t, "ask"),
			Reason:  trace.Reason(rapid.IntRange(0, int(trace.ReasonEscalated)).Draw(t, "reason")),
			Session: numbers.Draw(t, "session"), Definition: few("", "1", "2").Draw(t, "definition"),
			Call: numbers.Draw(t, "call"), Layer: few("", "app", "app/sdk").Draw(t, "layer"),
			Key: few("", "k1", "k2").Draw(t, "key"), Credential: few("", "t1", "t2").Draw(t, "credential"), Args: args.Draw(t, "args"),
			Ambiguous: rapid.IntRange(0, 9).Draw(t, "ambiguous") == 9,
			Deadline:  times.Draw(t, "deadline"), Wait: times.Draw(t, "wait"),
			Outcome: trace.Outcome{
				Class: trace.Class(rapid.IntRange(0, int(trace.Unknown)).Draw(t, "class")), Effect: trace.Effect(rapid.IntRange(0, int(trace.EffectUnknown)).Draw(t, "effect")),
				Advice: trace.Advice(rapid.IntRange(0, 2).Draw(t, "advice")), Hint: times.Draw(t, "hint"), Slack: times.Draw(t, "slack"),
				Code: few("", CodeClash, CodeBusy, CodeKeyless).Draw(t, "code"), Items: items.Draw(t, "items"),
			},
			Result: results.Draw(t, "result"), Want: results.Draw(t, "want"), Error: few("", "", "boom", "a\nb").Draw(t, "error"),
			Cause: rapid.SampledFrom([]int{0, -1, 1, 9}).Draw(t, "cause"), Count: numbers.Draw(t, "count"),
		}
		if rapid.IntRange(0, 2).Draw(t, "talks") == 0 {
			e.Prompt, e.Reply = prompts().Draw(t, "prompt"), replies().Draw(t, "reply")
		}
		return e
	})
	return rapid.Custom(func(t *rapid.T) *trace.Trace {
		tr := &trace.Trace{Schema: trace.Schema, Start: time.Unix(0, 0).UTC(), Events: rapid.SliceOfN(event, 0, 24).Draw(t, "events")}
		at, calls, open := time.Duration(0), 0, []int(nil)
		for i := range tr.Events {
			e := &tr.Events[i]
			if at += times.Draw(t, "later"); at < 0 || e.At < 0 {
				at = math.MaxInt64
			}
			if i > 0 {
				at = max(at, tr.Events[i-1].At)
			}
			e.At = at
			switch e.Kind {
			case trace.KindCall:
				calls++
				e.Call, open = calls, append(open, calls)
			case trace.KindAnswer, trace.KindInterrupt, trace.KindEffect:
				if len(open) == 0 {
					e.Kind = trace.KindWait
					continue
				}
				n := rapid.IntRange(0, len(open)-1).Draw(t, "of")
				if e.Call = open[n]; e.Kind == trace.KindAnswer {
					open = append(open[:n], open[n+1:]...)
				}
			}
		}
		return tr
	})
}

// prompts and replies draw what a model may be shown and say, and what it may not.
func prompts() *rapid.Generator[*trace.Prompt] {
	return rapid.Custom(func(t *rapid.T) *trace.Prompt {
		message := rapid.Custom(func(t *rapid.T) trace.Message {
			result := rapid.Custom(func(t *rapid.T) trace.ToolResult {
				return trace.ToolResult{
					ID: rapid.SampledFrom([]string{"", "c1", "c2"}).Draw(t, "id"), Tool: rapid.SampledFrom([]string{"", "weather"}).Draw(t, "tool"),
					Text: rapid.SampledFrom([]string{"", "down", "sunny"}).Draw(t, "text"), Failed: rapid.Bool().Draw(t, "failed"),
				}
			})
			return trace.Message{
				From: trace.Speaker(rapid.SampledFrom([]string{"system", "user", "model", "model", "tool", ""}).Draw(t, "from")),
				Text: rapid.SampledFrom([]string{"", "hello", "admin=true"}).Draw(t, "text"), Calls: wishes().Draw(t, "calls"),
				Results: rapid.SliceOfN(result, 0, 2).Draw(t, "results"),
			}
		})
		return &trace.Prompt{
			Messages: rapid.SliceOfN(message, 0, 4).Draw(t, "messages"), Tokens: rapid.SampledFrom([]int{0, 60, -1, math.MaxInt}).Draw(t, "tokens"),
			Tools: rapid.SampledFrom([][]string{nil, {}, {"weather"}, {"weather", "log"}}).Draw(t, "tools"),
		}
	})
}

func replies() *rapid.Generator[*trace.Reply] {
	return rapid.Custom(func(t *rapid.T) *trace.Reply {
		return &trace.Reply{Text: rapid.SampledFrom([]string{"", "it is done"}).Draw(t, "text"), Calls: wishes().Draw(t, "calls"), Tokens: rapid.SampledFrom([]int{0, 60, math.MaxInt}).Draw(t, "tokens")}
	})
}

func wishes() *rapid.Generator[[]trace.ToolCall] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) trace.ToolCall {
		return trace.ToolCall{
			ID: rapid.SampledFrom([]string{"", "c1", "c2"}).Draw(t, "id"), Tool: rapid.SampledFrom([]string{"weather", "bank", "none", ""}).Draw(t, "tool"),
			Args: rapid.SampledFrom([]string{"", `{"city":"Pune"}`, `{"city":"Agra"}`, `{"ci`, "null"}).Draw(t, "args"),
		}
	}), 0, 3)
}

// kinds lists the kinds of events, those that rules look at most more than once.
func kinds() []trace.Kind {
	list := []trace.Kind{trace.KindBegin, trace.KindBegin, trace.KindCall, trace.KindCall, trace.KindCall, trace.KindAnswer, trace.KindAnswer, trace.KindAnswer, trace.KindEnd}
	for k := trace.KindBegin; k <= trace.KindCalm; k++ {
		list = append(list, k)
	}
	return list
}

var allOfThem = sync.OnceValue(everything)

// soundly judges the trace by every rule: none may panic, and what is found
// must be fit to be shown.
func soundly(t interface{ Fatalf(string, ...any) }, tr *trace.Trace) {
	soundlyBy(t, tr, allOfThem())
}

func soundlyBy(t interface{ Fatalf(string, ...any) }, tr *trace.Trace, contracts [][]Invariant) {
	for n, rules := range contracts {
		for _, rule := range rules {
			if v := rule.Check(tr); len(v.Findings) > 0 && v.Applied == 0 {
				t.Fatalf("contract %d: %s is broken and never applied:\n%s", n, rule.Name, tr.Timeline())
			}
		}
		found := Find(tr, rules...)
		for _, f := range found {
			if f.Invariant == "" || f.Text == "" || strings.ContainsAny(f.Text, "\n\r") || strings.Contains(f.Detail, "\n\n") {
				t.Fatalf("contract %d: %q is no finding that can be shown:\n%s", n, f, tr.Timeline())
			}
			for i, e := range f.Events {
				if e < 0 || e >= len(tr.Events) || i > 0 && e <= f.Events[i-1] {
					t.Fatalf("contract %d: %s names events %v of %d:\n%s", n, f.Invariant, f.Events, len(tr.Events), tr.Timeline())
				}
			}
		}
		if again := Find(tr, rules...); !reflect.DeepEqual(found, again) {
			t.Fatalf("contract %d: one trace and two verdicts:\n%v\n%v", n, found, again)
		}
		Report(tr, found)
		Applied(tr, rules...)
	}
	_ = tr.Metrics().String()
}

func TestATraceThatNobodyRecordedIsJudgedWithoutAPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { soundly(t, hostile().Draw(t, "trace")) })
}

// What is read from a file is written by anybody.
func FuzzJudge(f *testing.F) {
	f.Add([]byte(`{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}` + "\n"))
	for seed := range 64 {
		var b bytes.Buffer
		if _, err := hostile().Example(seed).WriteTo(&b); err == nil {
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if tr, err := trace.Read(bytes.NewReader(file)); err == nil && len(tr.Events) < 64 {
			soundly(t, tr)
		}
	})
}
