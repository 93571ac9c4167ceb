package faultsim_test

import (
	"fmt"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A schedule is written in Go or as text; both say the same.
func ExampleSchedule_String() {
	s := faultsim.Schedule{
		Actions: []faultsim.Plan{
			{Deadline: 3 * time.Second, Faults: map[string][]faultsim.Fault{
				"weather": {{Class: trace.Transient, Latency: 200 * time.Millisecond}, faultsim.Throttle(2 * time.Second)},
			}},
			{Cancel: 1500 * time.Millisecond, Faults: map[string][]faultsim.Fault{"weather": {{Hang: true}}}},
		},
		AtOnce: true,
	}
	fmt.Print(s)
	// Output:
	// rehearse schedule 1
	// action deadline=3s
	//   weather 1 transient after=200ms
	//   weather 2 throttled hint=2s
	// action cancel=1.5s
	//   weather 1 hang
	// at-once
}

func ExampleParse() {
	s, err := faultsim.Parse(`
rehearse schedule 1
action deadline=3s
  weather 1 transient after=200ms  # the first attempt
  weather 3 forbidden              # the second is answered at once
`)
	fmt.Println(len(s.Actions[0].Faults["weather"]), err)

	_, err = faultsim.Parse("rehearse schedule 1\naction\n  weather 1 transient after=200")
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// line 3: after=200 is no duration: write a number and a unit, such as after=1.5s
}

// What a policy calls for follows from its automaton; no table is written down.
func ExampleExpect() {
	policy := invariants.Policy{
		ID: "weather/v1", MaxAttempts: 3, Retry: []trace.Class{trace.Transient},
		Backoff: invariants.Backoff{Base: 100 * time.Millisecond}, Repeatable: true,
	}
	busy := faultsim.Fail(trace.Transient)
	for _, plan := range []faultsim.Plan{
		faultsim.One(busy, busy).Actions[0],
		faultsim.One(busy, busy, busy).Actions[0],
		faultsim.One(faultsim.Fail(trace.Forbidden)).Actions[0],
		{Cancel: 50 * time.Millisecond, Faults: map[string][]faultsim.Fault{faultsim.Main: {busy}}},
	} {
		e, _ := faultsim.Expect(policy, plan)
		fmt.Println(e.Least, e.Most, e.Reasons)
	}
	// Output:
	// 3 3 [success]
	// 3 3 [exhausted]
	// 1 1 [refused]
	// 1 1 [cancelled]
}
