package scripted_test

import (
	"context"
	"errors"
	"fmt"
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

// posted is the answer to a request.
func posted(c *http.Client, path, body string) (*http.Response, string) {
	resp, err := c.Post("https://api.test"+path, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(text) + err.Error()
	}
	return resp, string(text)
}

const (
	toClaude     = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"How warm is it in Pune?"}]}`
	toGPT        = `{"model":"m","messages":[{"role":"user","content":"How warm is it in Pune?"}]}`
	toGPTStreams = `{"model":"m","stream":true,"messages":[{"role":"user","content":"How warm is it in Pune?"}]}`
)

// Requests take the turns of the script, in the provider's shape, and the model sees
// what they show.
func TestAModelAnswersRequests(t *testing.T) {
	model := scripted.NewModel(t).
		Fail(trace.Throttled, errors.New("slow down")).Hint(1500*time.Millisecond).
		Say("Let me look.").AndAsk("weather", inPune).
		Fail(trace.Reset, errors.New("connection reset"))
	claude := model.Client(scripted.Anthropic)

	resp, body := posted(claude, "/v1/messages", toClaude)
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, "1500", resp.Header.Get("Retry-After-Ms"))
	require.JSONEq(t, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, body)

	resp, body = posted(claude, "/v1/messages", toClaude)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `{"type":"tool_use","id":"call_1","name":"weather","input":{"city":"Pune"}}`)

	resp, body = posted(claude, "/v1/messages", toClaude)
	require.Nil(t, resp)
	require.Contains(t, body, "connection reset")

	require.Equal(t, question.Messages, model.Prompts()[1].Messages)
	got := answers(model.Trace())
	require.Equal(t, trace.Throttled, got[0].Outcome.Class)
	require.Equal(t, 1500*time.Millisecond, got[0].Outcome.Hint)
	require.Equal(t, "Let me look.", got[1].Reply.Text)
}

// A stream ends as it is written: whole, cut, or with the provider's event of a failure.
func TestAModelStreamsToRequests(t *testing.T) {
	model := scripted.NewModel(t).
		Say("It is 19 °C.").
		Say("It is 19 °C.").Cut(2).
		Do(func(context.Context, trace.Prompt) (trace.Reply, error) { return trace.Reply{Text: "19 °C"}, nil })
	gpt := model.Client(scripted.OpenAIChat)
	_, body := posted(gpt, "/v1/chat/completions", toGPTStreams)
	require.True(t, strings.HasSuffix(body, "data: [DONE]\n\n"), body)
	_, body = posted(gpt, "/v1/chat/completions", toGPTStreams)
	require.True(t, strings.HasSuffix(body, "unexpected EOF"), body)
	require.Contains(t, body, `"content":"It is "`)
	require.NotContains(t, body, "[DONE]")
	resp, body := posted(gpt, "/v1/chat/completions", toGPT)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.Contains(t, body, `"content":"19 °C"`)
}

// What the script has no turn for tells the SDK not to ask again.
func TestAnExtraRequestIsFinal(t *testing.T) {
	reports := watch(t, func(m *memory) {
		resp, body := posted(scripted.NewModel(m).Client(scripted.OpenAIChat), "/v1/chat/completions", toGPT)
		require.Equal(t, "false", resp.Header.Get("X-Should-Retry"))
		require.Contains(t, body, "script")
	})
	require.Len(t, reports, 1)
}

// A lenient model takes what its provider would not.
func TestALenientModelTakesAnyRequest(t *testing.T) {
	model := scripted.NewModel(t).Lenient().Say("19 °C")
	resp, _ := posted(model.Client(scripted.Anthropic), "/v1/messages", strings.ReplaceAll(toClaude, `"max_tokens":9,`, ""))
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// A request of another API is no request of this model.
func TestARequestOfAnotherAPI(t *testing.T) {
	model := scripted.NewModel(t).AllowUnused().Say("19 °C")
	_, body := posted(model.Client(scripted.Gemini), "/v1/messages", toClaude)
	require.Contains(t, body, "POST api.test/v1/messages is no request of this model's API")
}

// A request ends with its context, in virtual time.
func TestARequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := scripted.NewModel(t).Hang()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.test/v1/messages", strings.NewReader(toClaude))
		require.NoError(t, err)
		_, err = model.Client(scripted.Anthropic).Do(req)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, trace.Timeout, answers(model.Trace())[0].Outcome.Class)
	})
}

func ExampleModel_Client() {
	t := &memory{} // a *testing.T
	model := scripted.NewModel(t).Say("It is 19 °C in Pune.")
	client := model.Client(scripted.Anthropic) // for option.WithHTTPClient(client)

	resp, _ := client.Post("https://api.anthropic.com/v1/messages", "application/json", strings.NewReader(
		`{"model":"claude-opus-4-5","max_tokens":100,"messages":[{"role":"user","content":"How warm is it in Pune?"}]}`))
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(strings.Contains(string(body), `"text":"It is 19 °C in Pune."`), model.Prompts()[0].Messages[0].Text)
	// Output: true How warm is it in Pune?
}
