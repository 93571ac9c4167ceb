package scripted_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// An api is how a program asks a model through a provider: the least that it sends.
type api struct {
	provider scripted.Provider
	url      string
	stream   string // the same for a stream
	asks     func(stream string) string
	lost     string // a conversation with a result whose call is lost
	takes    string // what an answer that asks for the weather in Pune holds, in its own form
}

var apis = map[string]api{
	"chat": {
		scripted.OpenAIChat, "https://api.test/v1/chat/completions", "https://api.test/v1/chat/completions",
		func(stream string) string {
			return `{"model":"m",` + stream + `"messages":[{"role":"user","content":"How warm?"}]}`
		},
		`{"model":"m","messages":[{"role":"user","content":"How warm?"},{"role":"tool","tool_call_id":"call_1","content":"19"}]}`,
		`"arguments":"{\"city\":\"Pune\"}"`,
	},
	"responses": {
		scripted.OpenAIResponses, "https://api.test/v1/responses", "https://api.test/v1/responses",
		func(stream string) string { return `{"model":"m",` + stream + `"input":"How warm?"}` },
		`{"model":"m","input":[{"role":"user","content":"How warm?"},{"type":"function_call_output","call_id":"call_1","output":"19"}]}`,
		`"arguments":"{\"city\":\"Pune\"}"`,
	},
	"anthropic": {
		scripted.Anthropic, "https://api.test/v1/messages", "https://api.test/v1/messages",
		func(stream string) string {
			return `{"model":"m","max_tokens":9,` + stream + `"messages":[{"role":"user","content":"How warm?"}]}`
		},
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"19"}]}]}`,
		`"input":{"city":"Pune"}`,
	},
	"gemini": {
		scripted.Gemini, "https://api.test/v1beta/models/m:generateContent", "https://api.test/v1beta/models/m:streamGenerateContent?alt=sse",
		func(string) string { return `{"contents":[{"role":"user","parts":[{"text":"How warm?"}]}]}` },
		`{"contents":[{"role":"user","parts":[{"text":"How warm?"}]},{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"output":"19"}}}]}]}`,
		`"args":{"city":"Pune"}`,
	},
}

// postTurn sends one request and returns what came of the answer.
func postTurn(t *testing.T, client *http.Client, url, body string) (resp *http.Response, answer string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err = client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

func eachAPI(t *testing.T, f func(*testing.T, api)) {
	t.Helper()
	for name, a := range apis {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, a) }) })
	}
}

const streamed = `"stream":true,`

func TestAModelAnswersAsItsProviderDoes(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api) {
		model := scripted.NewModel(t).
			Ask("weather", inPune).After(time.Second).
			Say("It is warm.").
			Ask("weather", inPune)
		client := model.Client(a.provider)
		begin := time.Now()
		resp, answer, err := postTurn(t, client, a.url, a.asks(""))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, answer)
		require.Contains(t, answer, a.takes)
		require.Equal(t, time.Second, time.Since(begin))

		resp, answer, err = postTurn(t, client, a.stream, a.asks(streamed))
		require.NoError(t, err)
		require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
		require.Contains(t, answer, "warm.")
		_, answer, err = postTurn(t, client, a.stream, a.asks(streamed))
		require.NoError(t, err)
		require.Contains(t, answer, `"weather"`)

		require.Equal(t, "How warm?", model.Prompts()[0].Messages[0].Text)
		require.Equal(t, "call_1", model.Trace().Turns(0)[0].Asks[0].ID)
	})
}

func TestAProvidersFailureIsThatOfItsClass(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api) {
		model := scripted.NewModel(t).
			Fail(trace.Throttled, errUnavailable).Hint(2*time.Second).
			Fail(trace.Unauthenticated, errUnavailable).
			Fail(trace.Reset, errUnavailable)
		client := model.Client(a.provider)
		resp, answer, err := postTurn(t, client, a.url, a.asks(""))
		require.NoError(t, err)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.Contains(t, answer, "503", "its words")
		if a.provider != scripted.Gemini {
			require.Equal(t, "2", resp.Header.Get("Retry-After"))
		}
		resp, _, err = postTurn(t, client, a.url, a.asks(""))
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, resp.StatusCode)
		_, _, err = postTurn(t, client, a.url, a.asks(""))
		require.Equal(t, trace.Reset, trace.Classify(err).Class)
		require.Equal(t, trace.Throttled, answers(model.Trace())[0].Outcome.Class)
	})
}

func TestAStreamBreaksOnTheWire(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api) {
		model := scripted.NewModel(t).Say("It is very warm.").Cut(2)
		_, answer, err := postTurn(t, model.Client(a.provider), a.stream, a.asks(streamed))
		require.Contains(t, answer, "It ")
		require.NotContains(t, answer, "warm.")
		require.Error(t, err)
		require.Equal(t, "It is ", answers(model.Trace())[0].Reply.Text)
	})
}

func TestAConversationThatTheProviderRejects(t *testing.T) {
	eachAPI(t, func(t *testing.T, a api) {
		reports := watch(t, func(m *memory) {
			model := scripted.NewModel(m).Say("19 °C")
			client := model.Client(a.provider)
			for _, body := range []string{a.lost, "no JSON"} {
				resp, answer, err := postTurn(t, client, a.url, body)
				require.NoError(t, err)
				require.Equal(t, http.StatusBadRequest, resp.StatusCode, answer)
			}
			require.Len(t, model.Prompts(), 2)
			require.Equal(t, trace.Invalid, answers(model.Trace())[0].Outcome.Class)
		})
		require.Len(t, reports, 1)
		require.Contains(t, reports[0], "scripted: model: a provider would refuse the conversation in call 1: ")

		requireQuiet(t, watch(t, func(m *memory) {
			model := scripted.NewModel(m).Lenient().Say("19 °C")
			resp, answer, err := postTurn(t, model.Client(a.provider), a.url, a.lost)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, resp.StatusCode, answer)
		}))
	})
}

func TestATurnThatTheAPICannotCarryIsReported(t *testing.T) {
	reports := watch(t, func(m *memory) {
		model := scripted.NewModel(m).Ask("weather", `{"ci`)
		_, _, err := postTurn(t, model.Client(scripted.Anthropic), apis["anthropic"].url, apis["anthropic"].asks(""))
		require.Error(t, err)
	})
	require.Len(t, reports, 1)
	require.Contains(t, reports[0], `Client("anthropic")`)
	require.Contains(t, reports[0], "the turn cannot be sent: ")
}

func TestACancelReachesAModelOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := scripted.NewModel(t).Hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := apis["chat"]
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, strings.NewReader(a.asks("")))
		require.NoError(t, err)
		_, err = model.Client(a.provider).Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, trace.Timeout, answers(model.Trace())[0].Outcome.Class)
	})
}
