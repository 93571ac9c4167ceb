package invariants_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPolicyReadsAsData(t *testing.T) {
	p := Policy{
		ID: "weather/v2", MaxAttempts: 3, Attempt: 1500 * ms, Retry: []trace.Class{trace.Transient, trace.Throttled},
		Backoff: Backoff{Base: 100 * ms, Cap: 8 * time.Second, Jitter: FullJitter}, Hint: Hint{Limit: 10 * time.Second}, Repeatable: true,
	}
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, `{"id":"weather/v2","maxAttempts":3,"attempt":"1.5s","retry":["transient","throttled"],`+
		`"backoff":{"base":"100ms","cap":"8s","jitter":"full"},"hint":{"limit":"10s"},"repeatable":true}`, string(text))
	require.Equal(t, string(trace.Canonical(text)), string(p.Content()))
	require.Equal(t, `{"maxAttempts":"unlimited"}`, string(Policy{MaxAttempts: Unlimited}.Content()))
	require.Equal(t, `{}`, string(Policy{Retry: []trace.Class{}, Backoff: Backoff{Delays: []time.Duration{}}}.Content()))
}

func TestPolicyComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		var back Policy
		require.NoError(t, json.Unmarshal(p.Content(), &back))
		require.Equal(t, p, back)
		require.Equal(t, p.Content(), back.Content())
	})
}

func TestEveryFieldIsWritten(t *testing.T) {
	p := Policy{
		ID: "all/v1", MaxAttempts: 3, Attempt: 1, Budget: 2, BudgetCuts: true, Price: 3, Spend: 4, Retry: []trace.Class{trace.Throttled}, Advice: AdviceStops,
		Undone: []trace.Class{trace.Transient}, Desired: []trace.Class{trace.NotFound}, Backoff: Backoff{Base: 5}, Hint: Hint{Limit: 6},
		Late: LateWait, BudgetLate: LateWait, Key: "k", Reconcile: true, Winner: WinnerSuccess, Hedge: Hedge{After: 7, Max: 1},
		Restart: RestartResumes, RestartBudget: BudgetBeginsAnew, Repeatable: true, Tools: map[string]Policy{"a": {ID: "a"}}, Refresh: Refresh{Once: true}, Correct: Correct{Once: true, Fields: []string{"units"}},
	}
	for v, i := reflect.ValueOf(p), 0; i < v.NumField(); i++ {
		require.False(t, v.Field(i).IsZero(), "the test sets no %s", v.Type().Field(i).Name)
	}
	var back Policy
	require.NoError(t, json.Unmarshal(p.Content(), &back))
	require.Equal(t, p, back)
}

func TestPolicyTextIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{"retires":3}`:                       `no field "retires"`,
		`{"backoff":{"bsae":"1s"}}`:           `no field "bsae"`,
		`{"backoff":{"jitter":{"hi":1}}}`:     `no field "hi"`,
		`{"backoff":{"jitter":"ful"}}`:        `"ful" is not known`,
		`{"attempt":"5"}`:                     `"5" is no duration`,
		`{"maxAttempts":"three"}`:             `say a number, or "unlimited"`,
		`{"retry":["transitory"]}`:            `unknown class "transitory"`,
		`{"maxAttempts":1} {"maxAttempts":2}`: `after top-level value`,
		`{"budget":5}`:                        `budget: a JSON number does not belong here`,
		`null`:                                `null says nothing`,
		`[]`:                                  `a JSON array does not belong here`,
	} {
		var p Policy
		require.ErrorContains(t, json.Unmarshal([]byte(text), &p), want, text)
	}
}
