package invariants_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/gold"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// golden compares a text with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	gold.Equal(t, filepath.Join("testdata", name), got)
}

func TestContradictionsAreNamedWithTheirFix(t *testing.T) {
	nan := math.NaN()
	var b strings.Builder
	for _, c := range []struct {
		field  string
		change func(*Policy)
	}{
		{"MaxAttempts", func(p *Policy) { p.MaxAttempts = 0 }},
		{"MaxAttempts", func(p *Policy) { p.MaxAttempts = -2 }},
		{"MaxAttempts", func(p *Policy) { p.MaxAttempts = Unlimited }},
		{"Price", func(p *Policy) { p.Price = -1 }},
		{"Price", func(p *Policy) { p.Price = 3 }},
		{"Spend", func(p *Policy) { p.Spend = -1 }},
		{"Spend", func(p *Policy) { p.Spend = 10 }},
		{"Spend", func(p *Policy) { p.Price, p.Spend = 5, 4 }},
		{"Attempt", func(p *Policy) { p.Attempt = -1 }},
		{"Budget", func(p *Policy) { p.Budget = -1 }},
		{"Budget", func(p *Policy) { p.BudgetCuts = true }},
		{"Budget", func(p *Policy) { p.BudgetLate = LateWait }},
		{"Restart", func(p *Policy) { p.Restart = "sometimes" }},
		{"RestartBudget", func(p *Policy) { p.Restart, p.Budget, p.RestartBudget = RestartResumes, time.Second, "halved" }},
		{"RestartBudget", func(p *Policy) { p.Restart, p.RestartBudget = RestartResumes, BudgetBeginsAnew }},
		{"RestartBudget", func(p *Policy) { p.Budget, p.RestartBudget = time.Second, BudgetBeginsAnew }},
		{"Drain", func(p *Policy) { p.Restart, p.Drain = RestartResumes, "sometimes" }},
		{"Drain", func(p *Policy) { p.Restart, p.Drain = RestartInterrupts, DrainFree }},
		{"Late", func(p *Policy) { p.Late = "never" }},
		{"Advice", func(p *Policy) { p.Advice = "perhaps" }},
		{"BudgetLate", func(p *Policy) { p.Budget, p.BudgetLate = time.Second, "never" }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{0} }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{99} }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{trace.OK} }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{trace.Declined} }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{trace.Cancelled} }},
		{"Retry", func(p *Policy) { p.Retry = []trace.Class{trace.Throttled, trace.Throttled} }},
		{"Retry", func(p *Policy) { p.Retry, p.Repeatable = []trace.Class{trace.Timeout}, false }},
		{"Undone", func(p *Policy) { p.Undone = []trace.Class{trace.OK} }},
		{"Undone", func(p *Policy) { p.Undone = []trace.Class{0} }},
		{"Undone", func(p *Policy) { p.Undone = []trace.Class{trace.Transient, trace.Transient} }},
		{"Desired", func(p *Policy) { p.Desired = []trace.Class{trace.Timeout} }},
		{"Desired", func(p *Policy) { p.Desired = []trace.Class{99} }},
		{"Desired", func(p *Policy) { p.Desired, p.Retry = []trace.Class{trace.NotFound}, []trace.Class{trace.NotFound} }},
		{"Desired", func(p *Policy) { p.Desired = []trace.Class{trace.NotFound, trace.NotFound} }},
		{"Desired", func(p *Policy) { p.Desired, p.MaxAttempts = []trace.Class{trace.NotFound}, 1 }},
		{"Backoff.Base", func(p *Policy) { p.Backoff.Base = -1 }},
		{"Backoff.Base", func(p *Policy) { p.Backoff = Backoff{Jitter: DecorrelatedJitter} }},
		{"Backoff.Factor", func(p *Policy) { p.Backoff.Factor = 0.5 }},
		{"Backoff.Factor", func(p *Policy) { p.Backoff.Factor = nan }},
		{"Backoff.Factor", func(p *Policy) { p.Backoff.Factor = math.Inf(1) }},
		{"Backoff.Cap", func(p *Policy) { p.Backoff.Cap = -1 }},
		{"Backoff.Cap", func(p *Policy) { p.Backoff.Cap = time.Millisecond }},
		{"Backoff.CapIs", func(p *Policy) { p.Backoff.CapIs = "maybe" }},
		{"Backoff.Jitter", func(p *Policy) { p.Backoff.Jitter = Jitter{Low: -1, High: 1} }},
		{"Backoff.Jitter", func(p *Policy) { p.Backoff.Jitter = Between(2, 1) }},
		{"Backoff.Jitter", func(p *Policy) { p.Backoff.Jitter = Jitter{Low: nan, High: nan} }},
		{"Backoff.Jitter", func(p *Policy) { p.Backoff.Factor, p.Backoff.Jitter = 2, DecorrelatedJitter }},
		{"Backoff.Jitter", func(p *Policy) { p.Backoff.Jitter = Jitter{High: 1, Decorrelated: true} }},
		{"Backoff.Delays", func(p *Policy) { p.Backoff.Delays = []time.Duration{time.Second} }},
		{"Backoff.Delays", func(p *Policy) { p.Backoff = Backoff{Delays: []time.Duration{1, -1}} }},
		{"Hint.Use", func(p *Policy) { p.Hint.Use = "perhaps" }},
		{"Hint.Use", func(p *Policy) { p.Hint = Hint{Use: HintIgnore, Limit: time.Second} }},
		{"Hint.Over", func(p *Policy) { p.Hint = Hint{Limit: time.Second, Over: "perhaps"} }},
		{"Hint.Over", func(p *Policy) { p.Hint.Over = OverClamp }},
		{"Hint.Limit", func(p *Policy) { p.Hint.Limit = -1 }},
		{"Hint.Jitter", func(p *Policy) { p.Hint.Jitter = -0.1 }},
		{"Hint.Classes", func(p *Policy) { p.Hint.Classes = []trace.Class{trace.OK} }},
		{"Hint.Classes", func(p *Policy) { p.Hint.Classes = []trace.Class{trace.Throttled, trace.Throttled} }},
	} {
		p := reading(3, Backoff{Base: 100 * ms})
		require.NoError(t, p.Validate())
		c.change(&p)
		err := p.Validate()
		require.Error(t, err, c.field)
		named, isPolicyError := errors.AsType[*PolicyError](err)
		require.True(t, isPolicyError)
		require.Equal(t, c.field, named.Field, err.Error())
		require.NotPanics(t, func() { // a policy that contradicts itself still judges without a panic
			Find(tries(transient, transient, ok).Trace(), p.Invariants()...)
		})
		fmt.Fprintln(&b, err)
	}
	golden(t, "contradictions.golden", b.String())
}

func TestEveryContradictionIsReported(t *testing.T) {
	err := (&Policy{Late: "x", Hint: Hint{Limit: -1}}).Validate()
	for _, field := range []string{"MaxAttempts", "Late", "Hint.Limit"} {
		require.ErrorContains(t, err, field)
	}
}

func TestPlacesOfKeysAndCredentialsAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		`Key: is "order..key", a path with an empty part`:        func(p *Policy) { p.Key = "order..key" },
		`Refresh.Credential: is ".", a path with an empty`:       func(p *Policy) { p.Refresh = Refresh{Once: true, Credential: "."} },
		`Refresh.Credential: is "key", where the Key is already`: func(p *Policy) { p.Key, p.Refresh = "key", Refresh{Once: true, Credential: "key"} },
	} {
		p := Policy{ID: "pay/v1", MaxAttempts: 2}
		change(&p)
		require.ErrorContains(t, p.Validate(), want)
	}
}

// A contract is declared by hand, and a rule that judges by one that contradicts
// itself would find anything.
func TestAContractThatContradictsItselfIsTheFinding(t *testing.T) {
	for name, rules := range map[string][]Invariant{
		"conforms":               Contract{Policy: Policy{ID: "pay/v1"}, EscalatesAfter: 1}.Invariants(),
		"circuit-breaker":        {CircuitBreaker(Breaker{Rate: 0.5, Window: 1000, Cooldown: 1})},
		"within-allowance":       {WithinAllowance(Allowance{Calls: -1})},
		"observer-neutral":       Sink{}.Invariants(Policy{}),
		"dials-bounded":          Session{Dials: -1}.Invariants(Policy{}),
		"cached-failure":         Cache{TTL: -1}.Invariants(),
		"observation-structured": Observation{Code: ".."}.Invariants(Policy{}),
		"repeat-has-no-effect":   Repeats{Lease: -1}.Invariants(),
	} {
		found := Find(&trace.Trace{}, rules...)
		require.Len(t, found, 1, name)
		require.Equal(t, name, found[0].Invariant)
		require.Contains(t, found[0].Advice, "mend what is declared first")
	}
}
