package invariants_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// tripTo is a run in which the tools were called one after another.
func tripTo(room string) *trace.Trace {
	return tracetest.New().Begin("trip").
		Call("search", `{"city":"Pune"}`).Answer(trace.Transient).
		Wait(time.Second).
		Call("search", `{"city":"Pune"}`).Answer(trace.OK).
		Call("book", `{"guest":{"name":"Ann"},"room":`+room+`}`).Answer(trace.OK).
		After(time.Second).
		Call("mail", `{"to":"ann@example.com"}`).Answer(trace.OK).
		End().Trace()
}

// The agent has to search and then to book room 7; what else it calls is free. It
// booked another one.
func ExampleInOrder() {
	found := invariants.Find(tripTo("8"), invariants.InOrder(
		invariants.Step("search").Args(`{"city":"Pune"}`),
		invariants.Step("book").Partial(map[string]any{"room": 7})))
	fmt.Print(found[0])
	// Output:
	// trajectory-in-order: trip: step 2: book was called with room 8 instead of 7 (call 2, at 1s)
	//     advice: look at where the program takes its arguments from, or say Partial or Only where not all of them count
	//     wanted                       called
	//     1 search {"city":"Pune"}  =  1 search {"city":"Pune"} at 1s
	//     2 book {"room":7} …       ≠  2 book {"guest":{"name":"Ann"},"room":8} at 1s
	//                                  3 mail {"to":"ann@example.com"} at 2s
}

// The retry of the search is no step of its own, and no other call may be made.
func ExampleExact() {
	search, book := invariants.Step("search"), invariants.Step("book")
	for _, f := range invariants.Find(tripTo("7"), invariants.Exact(search, book)) {
		fmt.Println(f.Text)
	}
	// Output: mail is not in the trajectory (call 3, at 2s)
}

// Where the order of the calls is the model's to choose.
func ExampleUnordered() {
	tr := tripTo("7")
	mail, search, book := invariants.Step("mail"), invariants.Step("search"), invariants.Step("book")
	fmt.Println(len(invariants.Find(tr, invariants.Unordered(mail, search, book), invariants.AtLeast(mail, search))))
	for _, f := range invariants.Find(tr, invariants.AtMost(mail, search)) {
		fmt.Println(f.Text)
	}
	// Output:
	// 0
	// book is not in the trajectory (call 2, at 1s)
}

// No booking without a look at the rules first, whatever else the agent does.
func ExampleBefore() {
	for _, f := range invariants.Find(tripTo("7"), invariants.Before(invariants.Step("rules"), invariants.Step("book"))) {
		fmt.Println(f.Text)
	}
	// Output: book was called before rules had been called (at 1s)
}

// Where every attempt is to be seen, or one action of several is meant.
func ExampleTrajectory() {
	every := invariants.Trajectory{Action: "trip", Counted: invariants.AllAttempts}
	search := invariants.Step("search")
	fmt.Println(len(invariants.Find(tripTo("7"), every.Exact(search, search, invariants.Step("book"), invariants.Step("mail")))))
	// Output: 0
}

// A recorded call as a step, of which two fields count, and a step that a function
// decides.
func ExampleStepMatcher() {
	recorded := `{"guest":{"name":"Ann","card":"4111"},"room":7,"request":"r-1"}`
	book := invariants.Step("book").Args(recorded).Only("room", "guest.name")
	mail := invariants.Step("mail").Where(func(args json.RawMessage) error {
		var m struct{ To string }
		if err := json.Unmarshal(args, &m); err != nil || strings.HasSuffix(m.To, "@example.com") {
			return err
		}
		return fmt.Errorf("%s is no address of ours", m.To)
	})
	fmt.Println(len(invariants.Find(tripTo("7"), invariants.InOrder(book, mail))))
	// Output: 0
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
