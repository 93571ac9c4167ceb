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

// A field that is left out of the content changes what is promised behind the
// back of baselines and traces.
func TestEveryFieldOfAContractIsInItsContent(t *testing.T) {
	var p Policy
	everyField(t, reflect.ValueOf(&p).Elem(), "Policy", func(field string) {
		require.NotEqual(t, `{}`, string(p.Content()), field)
		var back Policy
		require.NoError(t, json.Unmarshal(p.Content(), &back), field)
		require.Equal(t, p, back, field)
	})
	var r Repeats
	everyField(t, reflect.ValueOf(&r).Elem(), "Repeats", func(field string) {
		require.NotEqual(t, `{}`, string(r.Content()), field)
	})
}

// everyField calls seen with each field set by itself, those of structs included.
func everyField(t *testing.T, v reflect.Value, path string, seen func(field string)) {
	for i := range v.NumField() {
		f, name := v.Field(i), path+"."+v.Type().Field(i).Name
		switch f.Kind() {
		case reflect.Struct:
			everyField(t, f, name, seen)
			continue
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			switch e := f.Index(0); e.Kind() {
			case reflect.Uint8:
				e.SetUint(uint64(trace.Transient))
			case reflect.String:
				e.SetString("x")
			default:
				e.SetInt(7)
			}
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]Policy{"bank": {MaxAttempts: 1}}))
		default:
			t.Fatalf("%s: no value for a %v", name, f.Kind())
		}
		seen(name)
		f.SetZero()
	}
}

func TestWhatIsDeclaredBesideThePolicyReadsAsData(t *testing.T) {
	require.Nil(t, Contract{Policy: Policy{ID: "pay/v1"}}.Content())
	require.JSONEq(t, `{
		"allowance": {"calls": 8, "prices": {"bank": 2}},
		"allowed": ["bank"],
		"breakers": [{"tool": "bank", "consecutive": 5, "cooldown": "30s", "failures": ["transient"]}],
		"cache": {},
		"escalatesAfter": 3,
		"observation": {"code": "error.code"},
		"sinks": [{"name": "audit", "mandatory": true, "counts": "ends"}],
		"spreads": true
	}`, string(Contract{
		Policy:    Policy{ID: "pay/v1"},
		Allowance: &Allowance{Calls: 8, Prices: map[string]int{"bank": 2}}, Allowed: []string{"bank"},
		Breakers: []Breaker{{Tool: "bank", Consecutive: 5, Cooldown: 30 * time.Second, Failures: []trace.Class{trace.Transient}}},
		Cache:    &Cache{}, EscalatesAfter: 3, Observation: &Observation{Code: "error.code"},
		Sinks: []Sink{{Name: "audit", Mandatory: true, Counts: CountEnds}}, Spreads: true,
	}.Content()))
}

func TestContentOfALoopLeavesFunctionsUnread(t *testing.T) {
	loop := &Loop{ID: "support/v1", Turns: 3, Claims: func(string) bool { return true }, Model: Policy{ID: "model/v1", MaxAttempts: 2}}
	require.JSONEq(t, `{"loop": {"id": "support/v1", "turns": 3, "claims": "a function", "model": {"id": "model/v1", "maxAttempts": 2}}}`,
		string(Contract{Loop: loop}.Content()))
}
