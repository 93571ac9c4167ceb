package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const canary = "jane@example.com"

// leaky records the canary everywhere a program may put it.
func leaky(r *trace.Recorder) *trace.Trace {
	ctx, op := r.Begin(context.Background(), "pay")
	args := json.RawMessage(fmt.Sprintf(`{"to":%q,"list":[%q,{"deep":%q}],%q:1,"key":%q,"amount":5,"note":"x \u006aane@example.com","flag":true,"none":null}`,
		canary, canary, canary, canary, "pay-"+canary))
	p := r.Call(ctx, trace.Call{Tool: "bank", ID: "call-" + canary, Args: args})
	p.Effect()
	p.Answer(trace.Outcome{Class: trace.Invalid}, trace.Marshal(canary), errors.New("no account of "+canary))
	r.Call(ctx, trace.Call{Tool: "bank", Args: json.RawMessage("not JSON: " + canary), Key: canary, Credential: canary}).Interrupt(trace.Outcome{Class: trace.Timeout})
	op.Observe(map[string]any{"message": "failed for " + canary, "retryable": true})
	op.Observe("failed for " + canary)
	op.Trouble(trace.KindPanic, "panic: "+canary)
	op.End(trace.Ending{Err: errors.New("failed for " + canary), Result: trace.Marshal([]string{canary}), Want: trace.Marshal(canary)})
	return r.Trace()
}

func written(t *testing.T, tr *trace.Trace) string {
	var b bytes.Buffer
	_, err := tr.WriteTo(&b)
	require.NoError(t, err)
	return b.String() + tr.Timeline() + tr.Metrics().String()
}

func TestNothingIsInClearUnlessItIsAllowed(t *testing.T) {
	for name, r := range map[string]*trace.Recorder{
		"zero value":   {},
		"with a key":   {Key: "key"},
		"keeps a flag": {Keep: func(f string) bool { return f == "amount" }},
	} {
		t.Run(name, func(t *testing.T) {
			text := written(t, leaky(r))
			require.NotContains(t, text, "jane")
			require.NotContains(t, text, "example.com")
		})
	}
	require.Contains(t, written(t, leaky(&trace.Recorder{Clear: true})), canary, "the test looks at the right places")
}

// A map keyed by account or token has data in its keys.
func TestAccountsAndTokensAreNoNames(t *testing.T) {
	for name, shown := range map[string]bool{
		"city": true, "line2": true, "iso8601": true, "sha256_of_body": true, "expected_delivery_window": true,
		"acct-20331": false, "sk_live_4eC39HqLyjWDarjtT1": false, "u7d44a1": true, "jane@example.com": false,
	} {
		r := &trace.Recorder{}
		r.Call(t.Context(), trace.Call{Tool: "bank", Args: trace.Marshal(map[string]int{name: 1})})
		require.Equal(t, shown, strings.Contains(written(t, r.Trace()), name), name)
	}
}

func TestAKeepThatPanicsKeepsNothing(t *testing.T) {
	r := &trace.Recorder{Keep: func(string) bool { panic("odd") }}
	require.NotContains(t, written(t, leaky(r)), canary)
}

func TestWhatIsAllowedStaysInClear(t *testing.T) {
	tests := map[string]string{
		"to":             `"to":"jane@example.com"`,
		"list":           `"list":["jane@example.com",{"deep":"jane@example.com"}]`,
		"list.deep":      `{"deep":"jane@example.com"}`,
		trace.KeepError:  `"error":"no account of jane@example.com"`,
		trace.KeepKey:    `"key":"pay-jane@example.com"`,
		"key":            `"key":"pay-jane@example.com"`,
		trace.KeepCallID: `"call_id":"call-jane@example.com"`,
		"":               `"result":"jane@example.com"`,
		canary:           `"jane@example.com":1`,
	}
	for field, want := range tests {
		t.Run(field, func(t *testing.T) {
			r := &trace.Recorder{Key: "key", Keep: func(f string) bool { return f == field }}
			require.Contains(t, written(t, leaky(r)), want)
		})
	}
}

func TestDigestsCompareEqualUnderOneKeyOnly(t *testing.T) {
	args := func(r *trace.Recorder) string { return string(leaky(r).Events[1].Args) }
	one := &trace.Recorder{}
	first := leaky(one).Events[1]
	p := one.Call(context.Background(), trace.Call{Tool: "bank", Args: json.RawMessage(`{"to": "jane@example.com"}`)})
	p.Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	tr := one.Trace()
	var a, b struct{ To string }
	require.NoError(t, json.Unmarshal(first.Args, &a))
	require.NoError(t, json.Unmarshal(tr.Events[len(tr.Events)-2].Args, &b))
	require.Equal(t, a.To, b.To)
	require.Regexp(t, `^~[-_A-Za-z0-9]{16}$`, a.To)

	require.NotEqual(t, args(&trace.Recorder{}), args(&trace.Recorder{}), "a fresh secret for each recorder")
	key := []byte("shared")
	require.Equal(t, args(&trace.Recorder{DigestKey: key}), args(&trace.Recorder{DigestKey: key}))
	require.NotEqual(t, args(&trace.Recorder{DigestKey: key}), args(&trace.Recorder{DigestKey: []byte("other")}))
}
