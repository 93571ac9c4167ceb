package trace_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// gameDay is a service whose faults stop at ten seconds. One action gives up in
// them, one is under way as they stop and goes through at its fourth attempt, one is
// refused by a breaker, and the last is answered.
func gameDay() *script {
	c := newScript()
	c.begin("a", 0)
	c.tries("a", trace.Transient, trace.Transient, trace.Transient)
	c.end("a", trace.ReasonExhausted, "", "x")
	c.at = 8 * s
	c.begin("b", 0)
	c.tries("b", trace.Transient, trace.Transient, trace.Transient)
	c.at = 10 * s
	c.event(trace.Event{Kind: trace.KindCalm})
	c.at = 11 * s
	c.tries("b", trace.OK)
	c.end("b", trace.ReasonSuccess, "19", "")
	c.at = 15 * s
	c.begin("c", 0)
	c.end("c", trace.ReasonBreakerOpen, "", "x")
	c.at = 40 * s
	c.begin("d", 0)
	c.tries("d", trace.OK)
	c.at = 42 * s
	c.end("d", trace.ReasonSuccess, "19", "")
	return c
}

// tries are attempts of an action that end at once.
func (c *script) tries(action string, classes ...trace.Class) {
	for _, class := range classes {
		n := c.call(trace.Event{Action: action, Tool: "weather"})
		c.answer(action, "weather", n, trace.Outcome{Class: class}, "19")
	}
}

func TestRecoveryCountsFromTheCalm(t *testing.T) {
	r := gameDay().Trace.Recovery()
	require.True(t, r.Calmed)
	require.True(t, r.Recovered())
	require.Equal(t, 10*s, r.Calm)
	require.Equal(t, 32*s, r.Time, "the success of b has a failure behind it")
	require.Equal(t, s, r.Settled)
	require.Equal(t, []int{1}, r.Open)
	require.Equal(t, []int{2}, r.Failed)
	require.Equal(t, 2.0, r.Amplification)
	require.Equal(t, 3.0, r.During, "six attempts of two actions")
	require.InDelta(t, 2.0/3, r.After, 1e-9, "two attempts of three actions")
}

func TestAmplificationIsOneNumber(t *testing.T) {
	tr := &gameDay().Trace
	require.Equal(t, tr.Metrics().Amplification(), tr.Recovery().Amplification)
	require.Zero(t, (trace.Metrics{}).Amplification())
	without := gameDay()
	without.Events = without.Events[:8]
	r := without.Trace.Recovery()
	require.Equal(t, 3.0, r.Amplification)
	require.Equal(t, r.Amplification, r.During)
	require.Zero(t, r.After)
}

// A test that asks for a bound must fail where nothing recovered, and where nobody
// said that the faults had stopped.
func TestWhatNeverRecoversIsAboveEveryBound(t *testing.T) {
	tests := map[string]func(c *script){
		"no calm":                 func(c *script) { c.begin("a", 0); c.tries("a", trace.OK); c.end("a", 0, "19", "") },
		"nothing behind the calm": func(c *script) { c.event(trace.Event{Kind: trace.KindCalm}) },
		"only failures behind it": func(c *script) {
			c.event(trace.Event{Kind: trace.KindCalm})
			c.begin("a", 0)
			c.end("a", trace.ReasonBreakerOpen, "", "x")
		},
		"a failure behind the success": func(c *script) {
			c.event(trace.Event{Kind: trace.KindCalm})
			c.begin("a", 0)
			c.at += s
			c.end("a", 0, "19", "")
			c.begin("b", 0)
			c.at += s
			c.end("b", trace.ReasonBreakerOpen, "", "x")
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			c := newScript()
			play(c)
			r := c.Trace.Recovery()
			require.Equal(t, trace.Never, r.Time)
			require.False(t, r.Recovered())
		})
	}
	c := newScript()
	c.begin("a", 0)
	c.event(trace.Event{Kind: trace.KindCalm})
	require.Zero(t, c.Trace.Recovery().Settled, "it begins with the calm")
	c = newScript()
	c.begin("a", 0)
	c.at = s
	c.event(trace.Event{Kind: trace.KindCalm})
	require.Equal(t, trace.Never, c.Trace.Recovery().Settled)
}

func TestWhatSaysNothingOfTheRecovery(t *testing.T) {
	end := func(play func(c *script)) trace.Recovery {
		c := newScript()
		c.event(trace.Event{Kind: trace.KindCalm})
		play(c)
		return c.Trace.Recovery()
	}
	left := end(func(c *script) {
		c.begin("a", 0)
		c.event(trace.Event{Kind: trace.KindCancel, Action: "a"})
		c.end("a", 0, "", "context canceled")
	})
	late := end(func(c *script) { c.begin("a", s); c.at = 2 * s; c.end("a", 0, "", "deadline exceeded") })
	refused := end(func(c *script) { c.begin("a", 0); c.tries("a", trace.NotFound); c.end("a", 0, "", "no such city") })
	for _, r := range []trace.Recovery{left, late, refused} {
		require.Empty(t, r.Failed)
		require.Equal(t, trace.Never, r.Time)
	}
	declined := end(func(c *script) { c.begin("a", 0); c.tries("a", trace.Declined); c.end("a", 0, "", "no credit") })
	require.Zero(t, declined.Time, "a no is an answer")
	kept := end(func(c *script) { c.begin("a", 0); c.end("a", trace.ReasonBreakerOpen, "19", "") })
	require.Equal(t, []int{0}, kept.Failed, "a result that stands in for an answer is none")
}

func TestCalmIsRecordedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		down := errors.New("down")
		weather := trace.Record(r, "weather", func(ctx context.Context, city string) (int, error) { return 19, down })
		ask := func() error {
			_, err := trace.Do(t.Context(), r, "ask", func(ctx context.Context) (int, error) { return weather(ctx, "Pune") })
			return err
		}
		require.Error(t, ask())
		time.Sleep(time.Minute)
		r.Calm()
		down = nil
		time.Sleep(time.Second)
		require.NoError(t, ask())
		tr := r.Trace()
		require.Equal(t, time.Second, tr.Recovery().Time)
		require.Len(t, tr.Actions(), 2, "the calm is of no action")
		require.Contains(t, tr.Timeline(), "the faults stop")

		var file bytes.Buffer
		_, err := tr.WriteTo(&file)
		require.NoError(t, err)
		require.Contains(t, file.String(), `{"at":"1m0s","kind":"calm"}`)
		again, err := trace.Read(&file)
		require.NoError(t, err)
		require.Equal(t, tr.Recovery(), again.Recovery())
	})
}

func TestACalmAloneIsATrace(t *testing.T) {
	r := new(trace.Recorder)
	r.Calm()
	tr := r.Seal()
	require.Empty(t, tr.Actions())
	require.Contains(t, tr.Timeline(), "the faults stop")
}

// A trace that is not there has not recovered, and is no crash of whoever asks.
func TestANilTraceHasNoRecovery(t *testing.T) {
	r := (*trace.Trace)(nil).Recovery()
	require.False(t, r.Calmed)
	require.False(t, r.Recovered())
}
