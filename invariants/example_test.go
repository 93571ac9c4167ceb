package invariants_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// printer stands in for *testing.T.
type printer struct{}

func (printer) Helper() {}
func (printer) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i, line := 0, 0; i < len(text) && line < 2; i++ { // the finding, without the timeline
		if fmt.Print(text[i : i+1]); text[i] == '\n' {
			line++
		}
	}
}

// fourTries is what a recorder wrote down: three were allowed.
func fourTries() *trace.Trace {
	s := tracetest.New().Begin("forecast")
	for range 4 {
		s.Call("weather", `{"city":"Pune"}`).Answer(trace.Transient)
	}
	return s.Fail("503").Trace()
}

func ExampleVerify() {
	var t printer // in a test: t *testing.T
	invariants.Verify(t, fourTries(), invariants.MaxAttempts(3), invariants.SameArguments())
	// Output:
	// attempts-bounded: forecast: 4 attempts of weather, at most 3 are allowed
	//     advice: count attempts and not retries, keep one counter for the action, and check it before the wait
}

// What the model was told after two attempts: that the failure is final, and that
// there was one.
func ExampleObservation() {
	policy := invariants.Policy{ID: "weather/v1", MaxAttempts: 2, Retry: []trace.Class{trace.Transient}, Repeatable: true}
	told := invariants.Observation{Code: "error", Retryable: "retryable", Attempts: "attempts", Limit: 500}

	r := &trace.Recorder{Clear: true}
	ctx, forecast := r.Begin(context.Background(), "forecast")
	for range 2 {
		r.Call(ctx, trace.Call{Tool: "weather"}).Answer(trace.Outcome{Class: trace.Transient}, nil, errors.New("503"))
	}
	forecast.Observe(`{"error":"unavailable","retryable":false,"attempts":1}`)
	forecast.End(trace.Ending{Err: errors.New("503")})

	for _, f := range invariants.Find(r.Trace(), told.Invariants(policy)...) {
		fmt.Println(f.Invariant+":", f.Text)
	}
	// Output:
	// observation-retryable: the failure was handed on as final, and the policy retries transient
	// observation-attempts: the count that was handed on is 1, there were 2 attempts
}

func ExampleFind() {
	for _, f := range invariants.Find(fourTries(), invariants.MaxAttempts(3), invariants.StopAfterSuccess()) {
		fmt.Println(f.Invariant, f.Events)
	}
	// Output: attempts-bounded [7]
}

func ExamplePolicy_Validate() {
	p := invariants.Policy{ID: "pay/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}, Late: "later"}
	fmt.Println(p.Validate())
	// Output: policy "pay/v1": Late: is "later"; say LateStop or LateWait
}

func ExampleSeries_Next() {
	p := invariants.Policy{
		MaxAttempts: 2,
		Retry:       []trace.Class{trace.Throttled},
		Backoff:     invariants.Backoff{Base: time.Second},
	}
	s := p.Start(0, 0)
	d := s.Next(trace.Outcome{Class: trace.Throttled, Hint: 5 * time.Second}, 0)
	fmt.Println(d.Do, d.Lo, d.Hi)
	d = s.Next(trace.Outcome{Class: trace.Throttled}, 5*time.Second)
	fmt.Println(d.Do, d.Reason)
	// Output:
	// go 5s 5s
	// stop exhausted
}

func ExampleBackoff_Window() {
	b := invariants.Backoff{Base: time.Second, Cap: 8 * time.Second, Jitter: invariants.FullJitter}
	for n := 1; n <= 5; n++ {
		lo, hi := b.Window(n, 0)
		fmt.Println(n, lo, hi)
	}
	// Output:
	// 1 0s 1s
	// 2 0s 2s
	// 3 0s 4s
	// 4 0s 8s
	// 5 0s 8s
}

func ExamplePolicy_Content() {
	p := invariants.Policy{ID: "weather/v1", MaxAttempts: 3, Backoff: invariants.Backoff{Base: 100 * time.Millisecond}}
	fmt.Println(string(p.Content()))
	// Output: {"backoff":{"base":"100ms"},"id":"weather/v1","maxAttempts":3}
}

// A policy is declared once; everything that it implies is checked in one line.
// The weather was asked for again too soon.
func ExamplePolicy_Invariants() {
	var t printer // in a test: t *testing.T
	p := invariants.Policy{
		ID:          "weather/v1",
		MaxAttempts: 3,
		Retry:       []trace.Class{trace.Transient},
		Backoff:     invariants.Backoff{Base: 100 * time.Millisecond},
		Repeatable:  true,
	}
	tr := tracetest.New().Begin("forecast").
		Call("weather", `{"city":"Pune"}`).Answer(trace.Transient).
		Wait(100*time.Microsecond).
		Call("weather", `{"city":"Pune"}`).Answer(trace.OK).
		End().Trace() // in a test: what a recorder or a double wrote down
	invariants.Verify(t, tr, p.Invariants()...)
	// Output:
	// waits-in-window: forecast: attempt 2 of weather came 100µs after the answer, the earliest is 100ms
	//     advice: look at the growth of the wait, at its jitter and at the unit of its numbers
}

// Conforms is the policy's automaton alone: giving up too early is found as
// surely as going on too long.
func ExampleConforms() {
	p := invariants.Policy{MaxAttempts: 3, Retry: []trace.Class{trace.Transient}, Repeatable: true}
	tr := tracetest.New().Begin("forecast").Call("weather", `{}`).Answer(trace.Transient).Fail("503").Trace()
	for _, f := range invariants.Find(tr, invariants.Conforms(p)) {
		fmt.Println(f.Text)
	}
	// Output: weather was given up after attempt 1 (transient), the policy allows 3
}

// An invariant of your own is a literal.
func ExampleInvariant() {
	cheap := invariants.Invariant{
		Name: "cheap", Rule: "one action makes at most two calls of all tools",
		Check: func(tr *trace.Trace) (v invariants.Verdict) {
			for _, a := range tr.Actions() {
				v.Applied++
				if n := len(a.Attempts); n > 2 {
					v.Findings = append(v.Findings, invariants.Finding{
						Invariant: "cheap", Action: a.Name, Text: fmt.Sprintf("%d calls", n), Advice: "plan before calling",
					})
				}
			}
			return v
		},
	}
	fmt.Print(invariants.Find(fourTries(), cheap)[0])
	// Output:
	// cheap: forecast: 4 calls
	//     advice: plan before calling
}

// The contract of a tool, held against two calls with one key.
func ExampleRepeats() {
	r := &trace.Recorder{Clear: true}
	refund := trace.Call{Tool: "refund", Key: "order-7", Args: []byte(`{"order":7}`)}
	for range 2 {
		ctx, call := r.Serve(context.Background(), refund)
		r.Effect(ctx, "refund")
		call.End(trace.Ending{Result: []byte(`"done"`)})
	}
	rules := invariants.Repeats{Retention: 24 * time.Hour}.Invariants()
	for _, f := range invariants.Find(r.Trace(), rules...) {
		fmt.Println(f.Invariant+":", f.Text)
	}
	// Output: repeat-has-no-effect: refund did its work 2 times for key "order-7"
}
