package faultsim

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// callingOne is an adapter whose code calls once what build puts on the stage.
func callingOne(build func(*Stage) trace.Func[int, int]) Adapter {
	return Adapter{
		Name: "own", Policy: invariants.Policy{ID: "own/v1", MaxAttempts: 1, Late: invariants.LateWait, Repeatable: true},
		Subject: func(s *Stage) Action {
			f := build(s)
			return func(ctx context.Context) (any, error) { return f(ctx, 1) }
		},
	}
}

// withErrors is one whose tool has these errors.
func withErrors(errs Errors) Adapter {
	return callingOne(func(s *Stage) trace.Func[int, int] { return Tool[int, int](s, "web", nil, errs) })
}

// What a double does wrong is an error of the adapter, and not the fault of the code
// that calls it.
func TestAMistakeOfADoubleIsNotBlamedOnTheCode(t *testing.T) {
	down := One(Fail(trace.Transient))
	for text, c := range map[string]struct {
		a Adapter
		s Schedule
	}{
		`web: Errors\[transient\]: Hinted returned nil for the hint 0s`: {withErrors(Errors{trace.Transient: Hinted(func(time.Duration) error { return nil })}), down},
		`web: Errors\[transient\]: Hinted panicked: oh at own_test`:     {withErrors(Errors{trace.Transient: Hinted(func(time.Duration) error { panic("oh") })}), down},
		`web: Errors\[transient\]: Advised returned nil`:                {withErrors(Errors{trace.Transient: Advised(func(trace.Advice, time.Duration) error { return nil })}), down},
		`what web does panicked: oh at own_test`: {callingOne(func(s *Stage) trace.Func[int, int] {
			return Tool(s, "web", func(context.Context, int) (int, error) { panic("oh") }, nil)
		}), Schedule{}},
		`what items does panicked: oh at own_test`: {callingOne(func(s *Stage) trace.Func[int, int] {
			batch := Batch[int, int](s, "items", func(int) string { panic("oh") }, nil, nil)
			return func(ctx context.Context, in int) (int, error) { _, err := batch(ctx, []int{in}); return 0, err }
		}), Schedule{}},
		`what api does panicked: oh at own_test`: {callingOne(func(s *Stage) trace.Func[int, int] {
			client := s.Client(Route{Tool: "api", Answer: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })})
			return func(ctx context.Context, _ int) (int, error) {
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://api.test/", nil)
				resp, err := client.Do(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				return 0, err
			}
		}), Schedule{}},
	} {
		_, err := watched(t, newTrial(&c.a, &c.s, nil, nil))
		require.Regexp(t, text, err)
		require.NotContains(t, err.Error(), "goroutine", "an error, and no stack")
	}
}

// A stage that is nil, or that is of no trial, is named.
func TestADoubleNeedsTheStageOfItsTrial(t *testing.T) {
	for _, s := range []*Stage{nil, {}} {
		a := callingOne(func(*Stage) trace.Func[int, int] { return Tool[int, int](s, "web", nil, nil) })
		_, err := watched(t, newTrial(&a, &Schedule{}, nil, nil))
		require.EqualError(t, err, `faultsim: Subject of "own": a double was put on a Stage that is nil, or that is not of a trial: hand on the *Stage that Subject is called with`)
	}
}

// ownTimes is a distribution of the user's own.
type ownTimes func(u float64) time.Duration

func (d ownTimes) Quantile(u float64) time.Duration { return d(u) }
func (d ownTimes) Validate() error {
	if d == nil {
		panic("there is none")
	}
	return nil
}

// A distribution of the user's own is asked for values before anything is drawn.
func TestADistributionThatCannotBeDrawnIsAnError(t *testing.T) {
	for text, d := range map[string]Distribution[time.Duration]{
		`Latency: Quantile\(0\) of faultsim.ownTimes panicked: oh at own_test`:      ownTimes(func(float64) time.Duration { panic("oh") }),
		`Latency: Quantile\(0.5\) of faultsim.ownTimes is -1s: return 0 or more`:    ownTimes(func(u float64) time.Duration { return time.Duration(1-2*math.Floor(2*u)) * time.Second }),
		`Latency: Quantile\(0\) of faultsim.atMost.* panicked: oh at own_test`:      AtMost(time.Second, Distribution[time.Duration](ownTimes(func(float64) time.Duration { panic("oh") }))),
		`Latency: Validate\(\) of faultsim.ownTimes panicked: there is none at own`: ownTimes(nil),
	} {
		p := Profile{Tools: map[string]Behaviour{Main: {Latency: d, Streak: Fixed(1)}}}
		require.Regexp(t, text, p.Validate())
	}
}

// What a fleet is given as functions is guarded as well, and its times are those that
// a trial plays.
func TestFunctionsOfAFleetThatCannotBeUsedAreErrors(t *testing.T) {
	a := withErrors(Errors{trace.Transient: errors.New("down")})
	late := 0
	for text, f := range map[string]Fleet{
		`fleet: Service is still at work after a century \(876000h0m0s\), with 18 calls in line: let a call take less time`: {Agents: 120, Service: Service{Workers: 1, Serve: longestTime, Queue: invariants.Unlimited}},
		`fleet: Arrive panicked: oh at own_test.*an instant for each of 2 agents`:                                           {Arrive: func(int, *rand.Rand) []time.Duration { panic("oh") }},
		`fleet: Service.Times panicked: oh at own_test.*0 included`:                                                         {Service: Service{Workers: 1, Times: func(*rand.Rand, int) time.Duration { panic("oh") }}},
		`fleet: Service.Times says 8784h0m0s with 0 in line: a trial plays a year`:                                          {Service: Service{Workers: 1, Times: func(*rand.Rand, int) time.Duration { return 366 * 24 * time.Hour }}},
		`fleet: Service.Drawn: Quantile\(0\) of faultsim.ownTimes panicked: oh`:                                             {Service: Service{Workers: 1, Drawn: ownTimes(func(float64) time.Duration { panic("oh") })}},
		`fleet: Service.Drawn says 8784h0m0s`:                                                                               {Service: Service{Workers: 1, Drawn: ownTimes(func(float64) time.Duration { return 366 * 24 * time.Hour })}},
		`fleet: Service.Times panicked: late`: {Service: Service{Workers: 1, Queue: 5, Times: func(*rand.Rand, int) time.Duration {
			if late++; late > 1 {
				panic("late")
			}
			return time.Second
		}}},
	} {
		f.Adapter, f.Agents = a, max(f.Agents, 2)
		_, err := Simulate(t, f)
		require.Regexp(t, text, err)
	}
}
