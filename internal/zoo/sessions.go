package zoo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// What the calls of one session may use together.
var (
	fewCalls = invariants.Allowance{Calls: 5}
	someCost = invariants.Allowance{Cost: 12, Prices: map[string]int{"weather": 1, "almanac": 5}}
	someTime = invariants.Allowance{Time: 4 * limit}
)

var errNothingLeft = errors.New("weather: the session has used up what it may")

func sessions() []Specimen {
	return []Specimen{
		{"session-failures-free", "Only calls that were answered count against the session.",
			testingRetries, "within-allowance", sharing(fewCalls, func(s *session) { s.failuresFree = true })},
		{"budget-for-each-action", "The budget of the session is made where an action begins, and each has one of its own.",
			handling, "within-allowance", sharing(fewCalls, func(s *session) { s.perAction = true })},
		{"checks-then-counts", "A call looks whether one is left and is counted when it has been answered, and calls at once all find one.",
			testingRetries, "within-allowance", sharing(fewCalls, func(s *session) { s.countsLate = true })},
		{"budget-comes-back", "The counter is kept for tools that failed in the step before, and one good step gives all of it back.",
			"F067", "within-allowance", sharing(fewCalls, func(s *session) { s.comesBack = true })},
		{"unit-lost-in-the-wait", "A call is paid for before the wait, and one that a cancel prevents is not given back.",
			testingRetries, "within-allowance", sharing(fewCalls, func(s *session) { s.paysEarly = true })},
		{"one-price-for-all", "Every call is charged as the cheapest one.",
			testingRetries, "within-allowance", sharing(someCost, func(s *session) { s.onePrice = true })},
		{"time-of-answers-only", "The time of a call is added up where its answer is handled, and calls that time out take none.",
			handling, "within-allowance", sharing(someTime, func(s *session) { s.answersOnly = true })},
	}
}

// sharing plugs in an agent whose calls draw on one session.
func sharing(al invariants.Allowance, change func(*session)) faultsim.Adapter {
	a := agents(policy(), failures(), nil)
	a.Subject = func(st *faultsim.Stage) faultsim.Action {
		s := &session{al: al}
		change(s)
		weather := faultsim.Tool(st, "weather", sunny, failures())
		if len(al.Prices) == 0 {
			return func(ctx context.Context) (any, error) { return s.forecast(ctx, "weather", weather) }
		}
		almanac := faultsim.Tool(st, "almanac", sunny, failures())
		return func(ctx context.Context) (any, error) {
			if f, err := s.forecast(ctx, "weather", weather); err != nil {
				return f, err
			}
			return s.forecast(ctx, "almanac", almanac)
		}
	}
	a.Allowance = &al
	a.Reason = func(err error) trace.Reason {
		if errors.Is(err, errNothingLeft) {
			return trace.ReasonBudget
		}
		return 0
	}
	return a
}

// A session is what the calls of one user have used. Its last fields are the ways
// in which that is counted wrongly.
type session struct {
	mu          sync.Mutex
	al          invariants.Allowance
	calls, cost int
	busy        time.Duration

	failuresFree, perAction, countsLate, comesBack, paysEarly, onePrice, answersOnly bool
}

// take puts one call on the account, or says that there is nothing left for it.
func (s *session) take(tool string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	price := s.price(tool)
	switch {
	case s.al.Calls > 0 && s.calls >= s.al.Calls,
		s.al.Cost > 0 && s.cost+price > s.al.Cost,
		s.al.Time > 0 && s.busy >= s.al.Time:
		return errNothingLeft
	}
	if !s.countsLate {
		s.calls, s.cost = s.calls+1, s.cost+price
	}
	return nil
}

func (s *session) price(tool string) int {
	if s.onePrice {
		return 1
	}
	return s.al.Prices[tool]
}

// settle notes what became of a call.
func (s *session) settle(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || !s.answersOnly {
		s.busy += took
	}
	switch {
	case s.countsLate:
		s.calls++
	case err != nil && s.failuresFree:
		s.calls--
	case err == nil && s.comesBack:
		s.calls = 0
	}
}

// forecast is the patient loop with the session before each attempt.
func (s *session) forecast(ctx context.Context, name string, call tool) (forecast, error) {
	if s.perAction {
		s = &session{al: s.al}
	}
	wait := base
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return forecast{}, err
		}
		if n == 1 || !s.paysEarly {
			if err := s.take(name); err != nil {
				return forecast{}, err
			}
		}
		began := time.Now()
		f, err := once(ctx, call, pune)
		s.settle(time.Since(began), err)
		if err == nil {
			return f, nil
		}
		if n == attempts || final(ctx, err) {
			return forecast{}, err
		}
		if s.paysEarly {
			if err := s.take(name); err != nil {
				return forecast{}, err
			}
		}
		if err := sleep(ctx, wait); err != nil {
			return forecast{}, err
		}
		wait *= 2
	}
}
