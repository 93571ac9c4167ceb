package matrix_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// A matrix is one line in a test. Rows of one's own come behind the usual ones.
func ExampleRun() {
	TestMatrix := func(t *testing.T) {
		matrix.Run(t, adapter, matrix.Row{
			Name:     "busy-then-forbidden",
			Proves:   "A refusal ends the action though an earlier failure was transient.",
			Schedule: matrix.Fixed(faultsim.One(faultsim.Fail(trace.Transient), faultsim.Fail(trace.Forbidden))),
		})
	}
	_ = TestMatrix // go test runs it
}

// One scenario over two versions of a model. A factory makes each sample by its number.
func ExampleSample() {
	TestModels := func(t *testing.T) {
		matrix.Sample(t, matrix.Samples{
			N:         40,
			Scenarios: []matrix.Scenario{{Name: "unavailable", Schedule: faultsim.One(faultsim.Fail(trace.Transient))}},
			Variants: []matrix.Variant{
				{Name: "model", Version: "2026-10", Adapter: model(careful)},
				{Name: "candidate", Version: "2026-11", Adapter: model(steady), Replaces: "model"},
			},
			Hard: func(c invariants.Contract) []invariants.Invariant {
				return []invariants.Invariant{invariants.MaxAttempts(c.Policy.MaxAttempts), invariants.SameArguments(), invariants.HonestEnding()}
			},
			Soft: []matrix.Soft{{Name: "asked for the city", Pass: askedForPune, AtLeast: 0.8}},
		})
	}
	_ = TestModels // go test runs it
}

var adapter = loop(read)

func TestMatrixOfTheExample(t *testing.T) { matrix.Run(t, adapter) }

// The rows that every adapter runs, by group.
func ExampleRows() {
	count := map[matrix.Group]int{}
	for _, row := range matrix.Rows() {
		if count[row.Group]++; count[row.Group] == 1 {
			fmt.Printf("%s, first %s: %s\n", row.Group, row.Name, row.Proves)
		}
	}
	// Output:
	// basics, first immediate-success: A tool that answers is called once.
	// timing, first cancel-during-delay: A cancel interrupts the wait, and no attempt follows.
	// writes, first ambiguous-write-timeout: A reply lost after the effect is reconciled, repeated with the same key, or reported as unknown.
	// adversarial, first transient-invalid-success: A refusal ends the action though an earlier failure was transient; the success behind it stays unused.
	// recovery, first calm-after-the-last-attempt: An action that an outage has failed for good leaves nothing behind: the next ones succeed.
}

// A row builds its faults on what the policy retries and the tool can show.
func ExampleSetting_Retried() {
	twice := matrix.Row{Name: "fails-twice", Schedule: func(s matrix.Setting) (faultsim.Schedule, error) {
		if s.Policy.MaxAttempts < 3 {
			return faultsim.Schedule{}, matrix.NotFor("the policy has %d attempts", s.Policy.MaxAttempts)
		}
		f, err := s.Retried()
		return faultsim.One(f, f), err
	}}
	policy := invariants.Policy{MaxAttempts: 3, Retry: []trace.Class{trace.Throttled}, Backoff: invariants.Backoff{Base: time.Second}}
	anything := func(faultsim.Fault) bool { return true }
	fmt.Println(twice.Schedule(matrix.Setting{Policy: policy, Can: anything}))
	policy.MaxAttempts = 2
	_, err := twice.Schedule(matrix.Setting{Policy: policy, Can: anything})
	fmt.Println(err)
	// Output:
	// rehearse schedule 1
	// action
	//   * 1 throttled
	//   * 2 throttled
	//  <nil>
	// the policy has 2 attempts
}
