package models_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// retries is what the two generated clients do with their defaults; the lines are
// those of internal/requestconfig/requestconfig.go.
func retries(id string) invariants.Policy {
	return invariants.Policy{
		ID:          id,
		MaxAttempts: 3, // MaxRetries is 2
		Retry: []trace.Class{ // shouldRetry: >= 500, 429 of either kind, 409, and every error of the transport
			trace.Transient, trace.Throttled, trace.QuotaExhausted, trace.Conflict, trace.Reset, trace.NotConnected, trace.Timeout,
		},
		Backoff:    invariants.Backoff{Base: 500 * time.Millisecond, Cap: 8 * time.Second, Jitter: invariants.Between(0.75, 1)},
		Hint:       invariants.Hint{Use: invariants.HintReplace},
		Late:       invariants.LateWait,
		Repeatable: true,
	}
}

var stacks = []stack{
	{"openai chat", faultsim.OpenAIChat, limited(retries("openai-go/v3.99.0")), openChat},
	{"openai responses", faultsim.OpenAIResponses, limited(retries("openai-go/v3.99.0")), openResponses},
	{"anthropic", faultsim.Anthropic, retries("anthropic-sdk-go/v2.15.0"), openMessages},
	{"genai", faultsim.Gemini, invariants.Policy{ID: "genai/v1.77.0", MaxAttempts: 1}, openGemini}, // RetryOptions is nil
}

// limited ends a call that is asked to wait for more than two minutes
// (defaultMaxRetryAfterDelay).
func limited(p invariants.Policy) invariants.Policy {
	p.Hint.Limit, p.Hint.Over = 2*time.Minute, invariants.OverStop
	return p
}

// each runs a test for every SDK, with whole answers and with streams.
func each(t *testing.T, test func(*testing.T, stack, bool)) {
	for _, k := range stacks {
		t.Run(k.name, func(t *testing.T) { test(t, k, false) })
		t.Run(k.name+" stream", func(t *testing.T) { test(t, k, true) })
	}
}

func play(t *testing.T, a faultsim.Adapter, schedule string) (*faultsim.Result, *trace.Action) {
	t.Helper()
	s, err := faultsim.Parse("rehearse schedule 1\naction\n" + schedule)
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	return &r, &r.Trace.Actions()[0]
}

// Two parallel calls and their results go around, and the trace has the same in
// every SDK: the prompt, the calls with their ids, what served them, and what the
// model was shown of it.
func TestACallGoesAround(t *testing.T) {
	each(t, func(t *testing.T, k stack, streams bool) {
		r, _ := play(t, k.adapter(streams), "  model 1 ok move=chat\n")
		require.Empty(t, r.Findings)
		turns := r.Trace.Turns(0)
		require.Len(t, turns, 2)
		require.Equal(t, []trace.Message{{From: trace.FromUser, Text: question}}, turns[0].Prompt.Messages)
		require.Equal(t, []string{"weather"}, turns[0].Prompt.Tools)
		require.Equal(t, "Let me look.", turns[0].Reply.Text)
		require.Len(t, turns[0].Asks, 2)
		for i, want := range []string{"19 °C", "7 °C"} {
			ask := turns[0].Asks[i]
			require.Len(t, ask.Attempts, 1)
			require.Len(t, ask.Results, 1)
			require.Equal(t, want, ask.Results[0].Text)
			require.False(t, ask.Results[0].Failed)
		}
		require.False(t, turns[0].Skipped)
		require.Equal(t, answer, turns[1].Reply.Text)
	})
}
