package models_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// failed plays a schedule and returns the error of the loop and the number of
// physical calls of its model.
func failed(t *testing.T, k stack, streams bool, schedule string) (err error, calls int) {
	t.Helper()
	a := k.adapter(streams)
	a.Reason = func(e error) trace.Reason { err = e; return 0 }
	r, _ := play(t, a, schedule)
	for _, e := range r.Trace.Events {
		if e.Kind == trace.KindCall && e.Role == trace.RoleModel {
			calls++
		}
	}
	return err, calls
}

// A failure is the SDK's own error, with the code of the provider.
func TestFailuresAreTheSDKsOwnErrors(t *testing.T) {
	const refused = "  model 1 forbidden say=\"not you\"\n"
	for _, k := range stacks {
		t.Run(k.name, func(t *testing.T) {
			for _, streams := range []bool{false, true} {
				err, calls := failed(t, k, streams, refused)
				require.Equal(t, 1, calls)
				switch k.api {
				case faultsim.Anthropic:
					own, ok := errors.AsType[*anthropic.Error](err)
					require.True(t, ok, "%v", err)
					require.Equal(t, http.StatusForbidden, own.StatusCode)
					require.Equal(t, "permission_error", string(own.Type()))
					require.Equal(t, "not you", own.Message)
					require.Equal(t, "req_1", own.RequestID)
				case faultsim.Gemini:
					own, ok := errors.AsType[genai.APIError](err)
					require.True(t, ok, "%v", err)
					require.Equal(t, genai.APIError{Code: 403, Message: "not you", Status: "PERMISSION_DENIED"}, own)
				default:
					own, ok := errors.AsType[*openai.Error](err)
					require.True(t, ok, "%v", err)
					require.Equal(t, http.StatusForbidden, own.StatusCode)
					require.Equal(t, "request_forbidden", own.Type)
					require.Equal(t, "not you", own.Message)
				}
			}
		})
	}
}

// The wait that a provider asks for is waited for, in virtual time, and shows in the
// trace: the header of OpenAI and Anthropic. Of Gemini's, which is in the body, the SDK
// reads nothing, where it retries at all.
func TestTheProvidersWaitShowsInTheTrace(t *testing.T) {
	for _, k := range stacks {
		if k.api == faultsim.Gemini {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			r, _ := play(t, k.adapter(false), "  model 1 throttled hint=7s\n")
			require.Empty(t, r.Findings)
			turn := r.Trace.Turns(0)[0]
			require.Len(t, turn.Calls, 2)
			require.Equal(t, 7*time.Second, r.Trace.Events[turn.Calls[1]].At)
		})
	}
}

// "If not specified, default to 5" attempts is true where there are RetryOptions. By
// default there are none, and nothing is retried.
func TestGenaiRetriesOnlyWhereItIsToldTo(t *testing.T) {
	k := stacks[3]
	_, calls := failed(t, k, false, "  model 1 transient\n")
	require.Equal(t, 1, calls)
	k.policy.MaxAttempts = 5
	k.open = func(c *http.Client, streams bool) func() talk {
		return openGeminiWith(c, streams, &genai.HTTPRetryOptions{})
	}
	r, _ := play(t, k.adapter(false), "  model 1 throttled hint=1h\n  model 2 transient\n")
	turn := r.Trace.Turns(0)[0]
	require.Len(t, turn.Calls, 3)
	require.Less(t, r.Trace.Events[turn.Calls[1]].At, 3*time.Second, "the service asked for an hour")
}

// A quota that is used up until next month is asked for again like a rate limit.
func TestAQuotaIsAskedForAgain(t *testing.T) {
	const used = "  model 1 quota-exhausted\n  model 2 quota-exhausted\n  model 3 quota-exhausted\n"
	for _, k := range stacks[:3] {
		_, calls := failed(t, k, false, used)
		require.Equal(t, 3, calls, k.name)
	}
}

// No SDK asks again for a stream that broke off, and the loop gets nothing of it.
func TestABrokenStreamIsNotAskedForAgain(t *testing.T) {
	for _, k := range stacks {
		t.Run(k.name, func(t *testing.T) {
			err, calls := failed(t, k, true, "  model 1 reset body=1s\n")
			require.Equal(t, 1, calls)
			require.Error(t, err)
			require.Equal(t, k.api != faultsim.Gemini, errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
		})
	}
}

// An answer that breaks off half-way is asked for again by anthropic-sdk-go alone.
func TestABrokenAnswerIsAskedForAgainByOne(t *testing.T) {
	for _, k := range stacks {
		client := k.open
		k.open = func(c *http.Client, _ bool) func() talk { return client(c, false) }
		a := k.adapter(true) // so that bodies can break
		s, err := faultsim.Parse("rehearse schedule 1\naction\n  model 1 reset body=1s\n")
		require.NoError(t, err)
		r := faultsim.Trial(t, a, s)
		require.NoError(t, r.Err)
		want := 1
		if k.api == faultsim.Anthropic {
			want = 2
		}
		require.Len(t, r.Trace.Turns(0)[0].Calls, want, k.name)
	}
}

// A provider that gives up within a stream: each SDK tells it in another way.
func TestAProviderGivesUpWithinAStream(t *testing.T) {
	const over = "  model 1 transient body=1s\n"
	err, calls := failed(t, stacks[0], true, over)
	require.Equal(t, 1, calls)
	own, ok := errors.AsType[*ssestream.StreamError](err)
	require.True(t, ok, "%T %v", err, err)
	require.Contains(t, own.Message, "overloaded")

	// Of the responses it is an event like others, which the program has to know.
	err, calls = failed(t, stacks[1], true, over)
	require.Equal(t, 1, calls)
	told, ok := errors.AsType[*streamError](err)
	require.True(t, ok, "%T %v", err, err)
	require.Contains(t, told.text, "overloaded")

	// An error with the status of a success.
	err, calls = failed(t, stacks[2], true, over)
	require.Equal(t, 1, calls)
	claude, ok := errors.AsType[*anthropic.Error](err)
	require.True(t, ok, "%T %v", err, err)
	require.Equal(t, http.StatusOK, claude.StatusCode)
	require.Equal(t, "overloaded_error", string(claude.Type()))

	err, calls = failed(t, stacks[3], true, over)
	require.Equal(t, 1, calls)
	google, ok := errors.AsType[genai.APIError](err)
	require.True(t, ok, "%T %v", err, err)
	require.Equal(t, 503, google.Code)
}

// A call that is cut off at the greatest length has no arguments in what
// anthropic-sdk-go puts together of a stream: a loop that does not look at the
// reason of the end calls the tool with none.
func TestACallThatIsCutOffIsEmptyForAnthropic(t *testing.T) {
	r, _ := play(t, stacks[2].adapter(true), "  model 1 ok move=length\n")
	require.NotEmpty(t, r.Findings)
	require.Equal(t, "arguments-whole", r.Findings[0].Invariant)
	r, _ = play(t, stacks[0].adapter(true), "  model 1 ok move=length\n")
	require.Empty(t, r.Findings, "openai-go hands on what came, which is no JSON")
}
