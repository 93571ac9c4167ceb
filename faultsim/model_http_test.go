package faultsim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var providers = []faultsim.Provider{faultsim.OpenAIChat, faultsim.OpenAIResponses, faultsim.Anthropic, faultsim.Gemini}

// asks are a question to each provider, whole and as a stream.
func asks(ctx context.Context, p faultsim.Provider, stream bool) *http.Request {
	path, body := "/v1/messages", `{"model":"m","max_tokens":99,"stream":%v,"messages":[{"role":"user","content":"How warm is it in Pune?"}]}`
	switch p {
	case faultsim.OpenAIChat:
		path, body = "/v1/chat/completions", `{"model":"m","stream":%v,"messages":[{"role":"user","content":"How warm is it in Pune?"}]}`
	case faultsim.OpenAIResponses:
		path, body = "/v1/responses", `{"model":"m","stream":%v,"input":"How warm is it in Pune?"}`
	case faultsim.Gemini:
		path, body = "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"How warm is it in Pune?"}]}],"x":%v}`
		if stream {
			path = "/v1beta/models/m:streamGenerateContent?alt=sse"
		}
	}
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.test"+path, strings.NewReader(fmt.Sprintf(body, stream)))
	return req
}

// got is what a client sees of one request.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

func fetch(c *http.Client, req *http.Request) got {
	resp, err := c.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(body), err}
}

// overWire runs an action with the client of a model.
func overWire(t *testing.T, p faultsim.Provider, streams bool, schedule string, action func(context.Context, *http.Client)) *trace.Trace {
	t.Helper()
	script := weatherScript
	script.Streams = streams
	script.Steps = append([]faultsim.Step{faultsim.AskFor("weather", `{"city":"Pune","unit":"C"}`)}, script.Steps[1:]...)
	s, err := faultsim.Parse("rehearse schedule 1\n" + schedule)
	require.NoError(t, err)
	r := faultsim.Trial(t, wiredAdapter(script, p, func(ctx context.Context, _ *faultsim.Model, c *http.Client) error {
		action(ctx, c)
		return nil
	}), s)
	require.NoError(t, r.Err)
	return r.Trace
}

// Each provider's API has the turn, and the trace what was shown and said.
func TestAModelAnswersOverTheWire(t *testing.T) {
	for _, p := range providers {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(p, stream), func(t *testing.T) {
				tr := overWire(t, p, true, "action\n  model 1 ok move=chat after=1s\n", func(ctx context.Context, c *http.Client) {
					r := fetch(c, asks(ctx, p, stream))
					require.NoError(t, r.err)
					require.Equal(t, http.StatusOK, r.status)
					require.Equal(t, stream, r.header.Get("Content-Type") == "text/event-stream")
				})
				turns := tr.Turns(0)
				require.Len(t, turns, 1)
				require.Equal(t, "How warm is it in Pune?", turns[0].Prompt.Messages[0].Text)
				require.Equal(t, "Let me look.", turns[0].Reply.Text)
				require.Equal(t, []trace.ToolCall{{ID: "call_1", Tool: "weather", Args: `{"city":"Pune","unit":"C"}`}}, turns[0].Reply.Calls)
				require.Equal(t, time.Second, tr.Events[turns[0].Answer].At)
			})
		}
	}
}

// A failure is the provider's own, and the trace has its class and its wait.
func TestAModelFailsOverTheWire(t *testing.T) {
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			var seen []got
			tr := overWire(t, p, false, "action\n  model 1 throttled hint=7s say=\"slow down\"\n  model 2 transient\n  model 3 reset\n  model 4 quota-exhausted\n  model 5 hang\n", func(ctx context.Context, c *http.Client) {
				for range 4 {
					seen = append(seen, fetch(c, asks(ctx, p, false)))
				}
				ctx, stop := context.WithTimeout(ctx, time.Minute)
				defer stop()
				seen = append(seen, fetch(c, asks(ctx, p, false)))
			})
			require.Equal(t, http.StatusTooManyRequests, seen[0].status)
			require.Contains(t, seen[0].body, "slow down")
			if p == faultsim.Gemini {
				require.Empty(t, seen[0].header.Get("Retry-After"))
				require.Contains(t, seen[0].body, `"retryDelay":"7s"`)
			} else {
				require.Equal(t, "7", seen[0].header.Get("Retry-After"))
			}
			require.GreaterOrEqual(t, seen[1].status, 503)
			require.Error(t, seen[2].err)
			require.Equal(t, http.StatusTooManyRequests, seen[3].status)
			require.ErrorIs(t, seen[4].err, context.DeadlineExceeded)
			turn := tr.Turns(0)[0]
			require.Len(t, turn.Calls, 5)
			require.Nil(t, turn.Reply)
			var classes []trace.Class
			for _, e := range tr.Events {
				if e.Kind == trace.KindAnswer {
					classes = append(classes, e.Outcome.Class)
				}
			}
			require.Equal(t, []trace.Class{trace.Throttled, trace.Transient, trace.Reset, trace.QuotaExhausted, trace.Timeout}, classes)
			require.Equal(t, 7*time.Second, tr.Events[2].Outcome.Hint)
		})
	}
}

// A stream breaks within the call's arguments, gives up with the provider's event,
// or stops, and the trace has what had come by then.
func TestAStreamBreaksOverTheWire(t *testing.T) {
	const schedule = "action\n  model 1 reset body=1s\n  model 2 transient body=1s\n  model 3 hang body=1s\n  model 4 ok body=4s\n"
	for _, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			var seen []got
			tr := overWire(t, p, true, schedule, func(ctx context.Context, c *http.Client) {
				for range 2 {
					seen = append(seen, fetch(c, asks(ctx, p, true)))
				}
				short, stop := context.WithTimeout(ctx, time.Minute)
				defer stop()
				seen = append(seen, fetch(c, asks(short, p, true)), fetch(c, asks(ctx, p, true)))
			})
			require.ErrorIs(t, seen[0].err, io.ErrUnexpectedEOF)
			require.NoError(t, seen[1].err)
			require.Contains(t, seen[1].body, "overloaded")
			require.ErrorIs(t, seen[2].err, context.DeadlineExceeded)
			require.NoError(t, seen[3].err)
			var ends []trace.Event
			for _, e := range tr.Events {
				if e.Kind == trace.KindAnswer {
					ends = append(ends, e)
				}
			}
			for i, class := range []trace.Class{trace.Reset, trace.Transient, trace.Timeout} {
				require.Equal(t, class, ends[i].Outcome.Class)
				if p == faultsim.Gemini {
					require.Nil(t, ends[i].Reply, "a call comes in one piece")
					continue
				}
				require.Len(t, ends[i].Reply.Calls, 1)
				args := ends[i].Reply.Calls[0].Args
				require.NotEmpty(t, args)
				require.Less(t, len(args), len(`{"city":"Pune","unit":"C"}`))
			}
			require.Equal(t, trace.OK, ends[3].Outcome.Class)
			require.Equal(t, `{"city":"Pune","unit":"C"}`, ends[3].Reply.Calls[0].Args)
			require.Equal(t, 4*time.Second, ends[3].At-ends[2].At)
		})
	}
}

// A program that closes a stream before its end has what it read.
func TestAStreamThatIsLeftIsNoReply(t *testing.T) {
	tr := overWire(t, faultsim.Anthropic, true, "action\n  model 1 ok move=chat body=4s\n", func(ctx context.Context, c *http.Client) {
		resp, err := c.Do(asks(ctx, faultsim.Anthropic, true))
		require.NoError(t, err)
		_, err = io.ReadFull(resp.Body, make([]byte, 700))
		require.NoError(t, err)
		resp.Body.Close()
	})
	end := tr.Events[len(tr.Events)-2]
	require.Equal(t, trace.Cancelled, end.Outcome.Class)
	require.Equal(t, "Let me look.", end.Reply.Text)
	require.Empty(t, end.Reply.Calls)
}

// A body that is never closed is something left behind, of a model too.
func TestAnUnreadTurnIsLeftBehind(t *testing.T) {
	tr := overWire(t, faultsim.OpenAIChat, true, "action\n", func(ctx context.Context, c *http.Client) {
		_, err := c.Do(asks(ctx, faultsim.OpenAIChat, true))
		require.NoError(t, err)
	})
	last := tr.Events[len(tr.Events)-1]
	require.Equal(t, trace.KindLeak, last.Kind)
	require.Contains(t, last.Error+string(last.Result), "an answer of model, was neither read to its end nor closed")
}

// What the provider would not take is refused with its words, and what the double
// did wrong itself is forgiven.
func TestAConversationIsHeldToItsProvider(t *testing.T) {
	const question = `{"role":"user","content":"How warm?"}`
	post := func(ctx context.Context, c *http.Client, messages string) got {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.test/v1/messages", strings.NewReader(`{"model":"m","max_tokens":9,"messages":[`+messages+`]}`))
		return fetch(c, req)
	}
	tr := overWire(t, faultsim.Anthropic, false, "action\n  model 3 ok move=twin\n", func(ctx context.Context, c *http.Client) {
		r := post(ctx, c, question+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather","input":{}}]},`+question)
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Contains(t, r.body, "`tool_use` ids were found without `tool_result` blocks immediately after: a.")
		r = post(ctx, c, `{"role":"bot","content":"x"}`)
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Contains(t, r.body, "messages.0.role: Input should be")
		r = post(ctx, c, question)
		require.Equal(t, 2, strings.Count(r.body, `"id":"call_1"`))
		const twins = `,{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"weather","input":{}},{"type":"tool_use","id":"call_1","name":"weather","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"19"},{"type":"tool_result","tool_use_id":"call_1","content":"19"}]}`
		require.Equal(t, http.StatusOK, post(ctx, c, question+twins).status)
		require.Equal(t, http.StatusBadRequest, post(ctx, c, question+strings.ReplaceAll(twins, "call_1", "call_9")).status)
	})
	require.Len(t, tr.Turns(0), 3, "refused calls have no reply")
}

// What a provider cannot show cannot be planned.
func TestWhatAModelCanShowOverTheWire(t *testing.T) {
	for _, tc := range []struct {
		p       faultsim.Provider
		streams bool
		plan    string
		can     bool
	}{
		{faultsim.OpenAIChat, false, "ok move=garble", true},
		{faultsim.Anthropic, false, "ok move=garble", false},
		{faultsim.Anthropic, true, "ok move=garble", true},
		{faultsim.Gemini, false, "ok move=garble", true},
		{faultsim.OpenAIChat, false, "throttled hint=1500ms form=ms", true},
		{faultsim.Gemini, false, "throttled hint=1500ms form=ms", false},
		{faultsim.OpenAIChat, false, "conflict", false},
		{faultsim.Anthropic, false, "conflict", true},
		{faultsim.OpenAIChat, false, "unknown", false},
		{faultsim.OpenAIChat, false, "malformed", true},
		{faultsim.OpenAIChat, false, "invalid wrap=wrapped", false},
		{faultsim.OpenAIChat, false, "ok body=1s", false},
		{faultsim.OpenAIChat, true, "throttled body=1s", true},
		{faultsim.OpenAIChat, true, "ok done", false},
	} {
		s, err := faultsim.Parse("rehearse schedule 1\naction\n  model 1 " + tc.plan + "\n")
		require.NoError(t, err)
		script := weatherScript
		script.Streams = tc.streams
		r := faultsim.Trial(t, wiredAdapter(script, tc.p, func(context.Context, *faultsim.Model, *http.Client) error { return nil }), s)
		if tc.can {
			require.NoError(t, r.Err, tc.plan)
			continue
		}
		_, unfit := errors.AsType[*faultsim.UnfitError](r.Err)
		require.True(t, unfit, "%s: %v", tc.plan, r.Err)
	}
}

// A client in the wrong hands, and a provider that does not exist, are told.
func TestAClientInTheWrongHands(t *testing.T) {
	r := faultsim.Trial(t, wiredAdapter(weatherScript, faultsim.Anthropic, func(ctx context.Context, _ *faultsim.Model, c *http.Client) error {
		return fetch(c, asks(ctx, faultsim.Gemini, false)).err
	}), faultsim.Schedule{})
	require.ErrorContains(t, r.Err, `the client of model "model" is asked for POST api.test/v1beta/models/m:generateContent, which is no turn of its provider's API`)
	r = faultsim.Trial(t, wiredAdapter(weatherScript, "claude", func(context.Context, *faultsim.Model, *http.Client) error { return nil }), faultsim.Schedule{})
	require.ErrorContains(t, r.Err, `faultsim: model "model": Client: there is no provider "claude": say OpenAIChat`)
}

func wiredAdapter(script faultsim.Script, p faultsim.Provider, action func(context.Context, *faultsim.Model, *http.Client) error) faultsim.Adapter {
	return faultsim.Adapter{
		Name:   "run",
		Policy: invariants.Policy{ID: "one try", MaxAttempts: 1, Attempt: time.Hour, Repeatable: true},
		Loop:   &invariants.Loop{Tools: []string{"weather"}},
		Subject: func(s *faultsim.Stage) faultsim.Action {
			m := s.Model("model", script)
			c := m.Client(p)
			faultsim.Tool(s, "weather", func(context.Context, query) (celsius, error) { return celsius{19}, nil }, nil)
			return func(ctx context.Context) (any, error) { return nil, action(ctx, m, c) }
		},
	}
}

// A program may fall back from streams to whole answers, which have no arguments that
// are no JSON: that is no mistake of the test.
func TestAMoveThatAWholeAnswerCannotCarryIsNotMade(t *testing.T) {
	overWire(t, faultsim.Anthropic, true, "action\n  model 1 ok move=garble\n  model 2 ok move=garble\n", func(ctx context.Context, c *http.Client) {
		whole := fetch(c, asks(ctx, faultsim.Anthropic, false))
		require.NoError(t, whole.err)
		require.Contains(t, whole.body, `"input":{"city":"Pune","unit":"C"}`)
		stream := fetch(c, asks(ctx, faultsim.Anthropic, true))
		require.NoError(t, stream.err)
		require.NotContains(t, stream.body, `\"C\"}`)
	})
}
