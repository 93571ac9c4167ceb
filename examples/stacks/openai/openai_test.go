// Package openai_test holds openai-go (v3.99.0) to the policy that it really
// has, and pins where its documentation promises otherwise.
package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
)

// completion is a chat completion as the service sends it.
const completion = `{
  "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
  "object": "chat.completion",
  "created": 1773480413,
  "model": "gpt-4.1-2025-04-14",
  "choices": [{
    "index": 0,
    "message": {"role": "assistant", "content": "19 degrees in Pune.", "refusal": null, "annotations": []},
    "logprobs": null,
    "finish_reason": "stop"
  }],
  "usage": {"prompt_tokens": 19, "completion_tokens": 6, "total_tokens": 25},
  "service_tier": "default"
}`

// chat is the completions endpoint. It asks for waits in all three forms.
var chat = faultsim.Route{
	Tool: "chat", Method: http.MethodPost, Path: "/v1/chat/completions",
	Answer: answer("application/json", http.StatusOK, completion),
	Hints:  []faultsim.HintForm{faultsim.HintSeconds, faultsim.HintDate, faultsim.HintMillis},
}

func answer(kind string, status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// policy is what the client does with its defaults, MaxRetries 2. The lines
// are those of internal/requestconfig/requestconfig.go.
var policy = invariants.Policy{
	ID:          "openai-go/v3.99.0",
	MaxAttempts: 3, // retryCount <= cfg.MaxRetries
	Retry: []trace.Class{ // shouldRetry:
		trace.Transient, trace.Throttled, trace.Conflict, // >= 500, 429, 409
		trace.Reset, trace.NotConnected, trace.Timeout, // res == nil: every error of the transport
	},
	Backoff: invariants.Backoff{ // retryDelay:
		Base:   500 * time.Millisecond,
		Cap:    8 * time.Second,             // DefaultMaxServerDelay
		Jitter: invariants.Between(0.75, 1), // delay -= rand(delay/4), after the cap
	},
	Hint: invariants.Hint{ // parseRetryAfterHeader:
		Use:   invariants.HintReplace, // shorter than the own backoff, too
		Limit: 2 * time.Minute,        // defaultMaxRetryAfterDelay
		Over:  invariants.OverStop,    // "Delays above this limit stop automatic retries."
	},
	Late:       invariants.LateWait, // WaitForDelay sleeps into the deadline
	Repeatable: true,                // the client repeats a POST after a reset and sends no key: see TestResetIsSentTwice
}

// ask asks for one completion.
func ask(ctx context.Context, c *openai.Client) (string, error) {
	done, err := c.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    openai.ChatModelGPT4_1,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How warm is it in Pune?")},
	})
	if err != nil {
		return "", err
	}
	return done.Choices[0].Message.Content, nil
}

func adapter(p invariants.Policy, r faultsim.Route, opts ...option.RequestOption) faultsim.Adapter {
	return faultsim.Adapter{
		Name:   "ask",
		Policy: p,
		Subject: func(s *faultsim.Stage) faultsim.Action {
			client := openai.NewClient(append(opts, option.WithAPIKey("sk-test"),
				option.WithHTTPClient(s.Client(r)))...) // the one line that plugs it in
			return func(ctx context.Context) (any, error) { return ask(ctx, &client) }
		},
		Want:     "19 degrees in Pune.",
		Reason:   reason,
		Attempts: attempts,
		Trials:   10_000,
	}
}

// reason reads the client's errors as its callers can.
func reason(err error) trace.Reason {
	switch {
	case errors.Is(err, context.Canceled):
		return trace.ReasonCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return trace.ReasonDeadline
	}
	api, ok := errors.AsType[*openai.Error](err)
	switch {
	case !ok:
		return 0 // the transport's own error, or an answer that cannot be read
	case api.StatusCode == http.StatusBadRequest:
		return trace.ReasonNeedsInput
	case api.StatusCode == http.StatusConflict, api.StatusCode == http.StatusTooManyRequests, api.StatusCode >= 500:
		if attempts(err) < 3 {
			return trace.ReasonHintTooLong
		}
		return trace.ReasonExhausted
	}
	return trace.ReasonRefused
}

// attempts reads the number off the header that the client sends with each.
func attempts(err error) int {
	if api, ok := errors.AsType[*openai.Error](err); ok {
		if n, err := strconv.Atoi(api.Response.Request.Header.Get("X-Stainless-Retry-Count")); err == nil {
			return n + 1
		}
	}
	return 0
}

func TestMatrix(t *testing.T) { matrix.Run(t, adapter(policy, chat)) }

func TestFaults(t *testing.T) { faultsim.Check(t, adapter(policy, chat)) }
