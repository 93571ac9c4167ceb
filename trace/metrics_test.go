package trace_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestMetricsCountRetriesByToolAndClass(t *testing.T) {
	tr, _ := retries()
	m := tr.Metrics()
	require.Equal(t, 1, m.Actions)
	require.Equal(t, 3, m.Attempts)
	require.Zero(t, m.Exhausted)
	require.Equal(t, 3200*time.Millisecond, m.Delay)
	require.Equal(t, 3*time.Second, m.Planned)
	require.Equal(t, []trace.RetryMetrics{
		{Tool: "weather", Class: trace.Transient, Retries: 1},
		{Tool: "weather", Class: trace.Throttled, Retries: 1, Succeeded: 1},
	}, m.Retries)
}

func TestMetricsAreStable(t *testing.T) {
	tr, _ := overlapping()
	const want = `2 actions, 3 attempts, 0 exhausted, 100ms of delay
0 repeated effects prevented, 0 not

action  attempts  delay  planned  exhausted
pay     1         0s     0s       no
pay#2   2         100ms  0s       no

tool  after      retries  succeeded
bank  transient  1        1
`
	require.Equal(t, want, tr.Metrics().String())
	require.Equal(t, "0 actions, 0 attempts, 0 exhausted, 0s of delay\n0 repeated effects prevented, 0 not\n", (&trace.Trace{}).Metrics().String())
}

func TestMetricsTellExhaustionFromOtherEnds(t *testing.T) {
	tests := map[string]struct {
		classes []trace.Class
		reason  trace.Reason
		err     string
		cancel  bool
		want    bool
	}{
		"said so":                       {[]trace.Class{trace.Transient}, trace.ReasonExhausted, "x", false, true},
		"said something else":           {[]trace.Class{trace.Transient, trace.Transient}, trace.ReasonBudget, "x", false, false},
		"failed retry, nothing said":    {[]trace.Class{trace.Transient, trace.Transient}, 0, "x", false, true},
		"refused at once, nothing said": {[]trace.Class{trace.Forbidden}, 0, "x", false, false},
		"refused after a retry":         {[]trace.Class{trace.Transient, trace.Forbidden}, 0, "x", false, false},
		"cancelled":                     {[]trace.Class{trace.Transient, trace.Transient}, 0, "x", true, false},
		"success":                       {[]trace.Class{trace.Transient, trace.OK}, 0, "", false, false},
		"no attempt at all":             {nil, 0, "x", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newScript()
			c.begin("a", 0)
			for _, class := range test.classes {
				n := c.call(trace.Event{Action: "a", Tool: "t"})
				c.answer("a", "t", n, trace.Outcome{Class: class}, "19")
			}
			if test.cancel {
				c.event(trace.Event{Kind: trace.KindCancel, Action: "a"})
			}
			c.end("a", test.reason, "", test.err)
			m := c.Trace.Metrics()
			require.Equal(t, test.want, m.PerAction[0].Exhausted)
			require.Equal(t, test.want, m.Exhausted == 1)
		})
	}
}

func TestMetricsCountPreventedAndRepeatedEffects(t *testing.T) {
	tests := map[string]struct {
		keys                []string
		effects             []bool
		prevented, repeated int
	}{
		"the tool knows the key":     {[]string{"k", "k", "k"}, []bool{true, false, false}, 2, 0},
		"the tool does it again":     {[]string{"k", "k"}, []bool{true, true}, 0, 1},
		"nothing had happened":       {[]string{"k", "k"}, []bool{false, true}, 0, 0},
		"another key, another thing": {[]string{"k", "l"}, []bool{true, true}, 0, 0},
		"no key, nothing to go by":   {[]string{"", ""}, []bool{true, true}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newScript()
			for i, key := range test.keys {
				n := c.call(trace.Event{Tool: "bank", Key: key})
				if test.effects[i] {
					c.event(trace.Event{Kind: trace.KindEffect, Tool: "bank", Call: n, Key: key})
				}
				c.answer("", "bank", n, trace.Outcome{Class: trace.Reset}, "reset")
			}
			m := c.Trace.Metrics()
			require.Equal(t, test.prevented, m.EffectsPrevented)
			require.Equal(t, test.repeated, m.EffectsRepeated)
		})
	}
}

func TestAttemptsCanBeLeftEarly(t *testing.T) {
	tr, _ := overlapping()
	for at := range tr.Attempts() {
		require.Equal(t, 1, at.N)
		break
	}
	n := 0
	for range tr.Attempts() {
		n++
	}
	require.Equal(t, 3, n)
}

// A program that sleeps for ever asks for the longest Duration, more than once.
func TestSumsOfWaitsStopAtTheLongest(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "a")
	sleep := r.Sleeper(func(context.Context, time.Duration) error { return nil })
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64, -time.Second} {
		require.NoError(t, sleep(ctx, d))
	}
	r.Call(ctx, trace.Call{Tool: "bank"}).Answer(trace.Outcome{Class: trace.Throttled, Hint: math.MaxInt64, Slack: time.Second}, nil, nil)
	op.End(trace.Ending{})
	tr := r.Trace()
	require.Equal(t, time.Duration(math.MaxInt64), tr.Metrics().Planned)
	require.Equal(t, time.Duration(math.MaxInt64), tr.Actions()[0].Attempts[0].Planned)
	require.NotContains(t, tr.Timeline(), "-2562047h")
}

func TestADeadlineOfTheZeroTimeHasPassed(t *testing.T) {
	c := newScript()
	c.at = s
	c.call(trace.Event{Tool: "bank", Deadline: math.MinInt64})
	left, ok := c.Trace.Actions()[0].Attempts[0].Remaining()
	require.True(t, ok)
	require.Negative(t, left)
	require.Contains(t, c.Trace.Timeline(), "its deadline has passed")
}
