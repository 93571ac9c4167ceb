package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// paths are where each provider is asked.
var paths = map[Provider]string{
	OpenAIChat: "/v1/chat/completions", OpenAIResponses: "/v1/responses", Anthropic: "/v1/messages",
	Gemini: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
}

func request(p Provider, body string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "https://api.test"+paths[p], strings.NewReader(body))
}

// talks are one conversation in the four formats: a system's word, a question, an
// answer with two calls, their results, of which one is a failure, and a second question.
var talks = map[Provider]string{
	OpenAIChat: `{"model":"gpt-4.1","stream":true,"stream_options":{"include_usage":true},
		"tools":[{"type":"function","function":{"name":"weather","parameters":{}}},{"type":"custom","custom":{"name":"code"}}],
		"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"How warm?"},{"type":"image_url","image_url":{}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Pune\"}"}},{"id":"b","type":"custom","custom":{"name":"code","input":"1+1"}}]},
		{"role":"tool","tool_call_id":"a","content":"19"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"no such city"}]},
		{"role":"user","content":"And now?"}]}`,
	OpenAIResponses: `{"model":"gpt-4.1","instructions":"Be brief.","tools":[{"type":"function","name":"weather"},{"type":"web_search"}],
		"input":[{"role":"user","content":[{"type":"input_text","text":"How warm?"},{"type":"input_image"}]},
		{"type":"reasoning","id":"rs_1","summary":[]},
		{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]},
		{"type":"function_call","id":"fc_1","call_id":"a","name":"weather","arguments":"{\"city\": \"Pune\"}"},
		{"type":"custom_tool_call","id":"ctc_1","call_id":"b","name":"code","input":"1+1"},
		{"type":"function_call_output","call_id":"a","output":"19"},{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"no such city"}]},
		{"role":"user","content":"And now?"}]}`,
	Anthropic: `{"model":"claude-opus-4-5","max_tokens":100,"stream":true,"system":[{"type":"text","text":"Be brief."}],"tools":[{"name":"weather"}],
		"messages":[{"role":"user","content":"How warm?"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"a","name":"weather","input":{"city": "Pune"}},{"type":"tool_use","id":"b","name":"weather","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"19"},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no such city"},{"type":"image"}]},{"type":"text","text":"And now?"}]}]}`,
	Gemini: `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"weather"}]}],
		"contents":[{"role":"user","parts":[{"text":"How warm?"},{"inlineData":{}}]},
		{"role":"model","parts":[{"thought":true,"text":"hm"},{"text":"Let me look."},{"functionCall":{"id":"a","name":"weather","args":{"city": "Pune"}}},{"function_call":{"name":"weather"}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"a","name":"weather","response":{"celsius":19}}},{"functionResponse":{"name":"weather","response":{"error":"no such city"}}},{"text":"And now?"}]}]}`,
}

// What a model is shown of each request.
func TestWhatIsReadOfARequest(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		a, err := f.Decode(request(p, ""), []byte(talks[p]))
		require.NoError(t, err)
		require.Nil(t, f.Strict(a))
		shown, err := json.MarshalIndent(a.Prompt, "", "  ")
		require.NoError(t, err)
		gold.Equal(t, fmt.Sprintf("testdata/%s/prompt.txt", p), fmt.Sprintf("model %s, stream %v, usage %v\n%s\n", a.Model, a.Stream, a.Usage, shown))
	})
}

// A request that cannot be read gets one error that names the field.
func TestRequestsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		p          Provider
		body, want string
	}{
		{OpenAIChat, `{"messages":[`, "the body of the request is no JSON that can be read (unexpected end of JSON input): send one JSON object"},
		{OpenAIChat, `{"messages":"hello"}`, "messages: a JSON string where the API has another type: send what its reference says"},
		{OpenAIChat, `{"model":"m"}`, "messages: Missing required parameter: 'messages'."},
		{OpenAIChat, `{"messages":[{"role":"bot","content":"x"}]}`, "messages[0].role: Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."},
		{OpenAIChat, `{"messages":[{"role":"user","content":7}]}`, "messages[0].content: Invalid type for 'messages[0].content': expected one of a string or array of objects."},
		{OpenAIResponses, `{"model":"m"}`, "input: Missing required parameter: 'input'."},
		{OpenAIResponses, `{"input":7}`, "input: Invalid type for 'input': expected one of a string or an array of input items."},
		{OpenAIResponses, `{"input":[{"role":"tool","content":"x"}]}`, "input[0].role: Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'."},
		{OpenAIResponses, `{"input":"x","previous_response_id":"resp_1"}`, "previous_response_id: this double keeps no conversation: send all of it in input"},
		{Anthropic, `{"model":"m","max_tokens":1}`, "messages: Field required"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"user"}]}`, "messages.0.content: Field required"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, "messages.0.role: Input should be 'user', 'assistant' or 'system'"},
		{Gemini, `{"contents":[{"role":"tool","parts":[{"text":"x"}]}]}`, "Please use a valid role: user, model."},
		{Gemini, `{"contents":[{"parts":[{"text":7}]}]}`, "Invalid JSON payload received. Invalid value at 'GenerateContentRequest.contents[0].parts[0].text'."},
	} {
		_, err := format(t, c.p).Decode(request(c.p, ""), []byte(c.body))
		require.EqualError(t, err, c.want, "%s", c.body)
	}
	_, err := gemini{}.Decode(httptest.NewRequest(http.MethodPost, "https://api.test/v1beta/models/m:streamGenerateContent", nil), []byte(`{}`))
	require.EqualError(t, err, "alt: this double streams server-sent events only: ask for alt=sse")
}

// prompt is a conversation by its letters: s system, u user, m the model with a
// text, and the ids of calls and results: "u m:a,b =a =b u".
func prompt(text string) *Ask {
	a := &Ask{}
	for word := range strings.FieldsSeq(text) {
		kind, ids, _ := strings.Cut(word, ":")
		switch {
		case word == "s":
			a.Prompt.Messages = append(a.Prompt.Messages, trace.Message{From: trace.FromSystem, Text: "s"})
		case word == "u":
			a.Prompt.Messages = append(a.Prompt.Messages, trace.Message{From: trace.FromUser, Text: "u"})
		case kind == "m":
			m := trace.Message{From: trace.FromModel}
			if ids == "" {
				m.Text = "m"
			} else {
				for id := range strings.SplitSeq(ids, ",") {
					m.Calls = append(m.Calls, trace.ToolCall{ID: strings.TrimSpace(id), Tool: "t", Args: "{}"})
				}
			}
			a.Prompt.Messages = append(a.Prompt.Messages, m)
		default:
			m := trace.Message{From: trace.FromTool}
			for id := range strings.SplitSeq(strings.TrimPrefix(word, "="), ",") {
				m.Results = append(m.Results, trace.ToolResult{ID: id, Tool: "t", Text: "r"})
			}
			a.Prompt.Messages = append(a.Prompt.Messages, m)
		}
	}
	return a
}

// What each provider rejects of a conversation, in its words; and what it does not.
func TestWhatAProviderRejects(t *testing.T) {
	each(t, func(t *testing.T, p Provider, f Format) {
		var b strings.Builder
		for _, talk := range []string{
			"u", "s u m u", "u m:a =a", "u m:a,b =a =b u", "u m:a =a m:b =b m u", "u m:a,b =b,a", "u u m:a =a",
			"", "m", "m u", "u m", "u m:a", "u m:a u", "u m:a m u", "u m:a m =a", "u m m:a =a", "u m:a,b =a", "u =a", "u m:a =a,a", "u m:a =a =a", "u m:a =b", "u m:a u =a",
			"u m:a,a =a,a", "u m:a,a =a =a u", "u m:a =a m:a =a", "u m:x.y =x.y",
		} {
			word := "fine"
			if why := f.Strict(prompt(talk)); why != nil {
				word = strings.TrimSpace(why.Error())
			}
			fmt.Fprintf(&b, "%-22s %s\n", talk, word)
		}
		gold.Equal(t, fmt.Sprintf("testdata/%s/strict.txt", p), b.String())
	})
}

// What only the request shows: empty and absent things.
func TestWhatAProviderRejectsOfARequest(t *testing.T) {
	for _, c := range []struct {
		p          Provider
		body, want string
	}{
		{OpenAIChat, `{"messages":[]}`, "messages: Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{OpenAIChat, `{"messages":[{"role":"user","content":null}]}`, "messages.[0].content: Invalid value for 'content': expected a string, got null."},
		{OpenAIChat, `{"messages":[{"role":"assistant","content":"x","tool_calls":[]}]}`, "messages[0].tool_calls: Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{Anthropic, `{"messages":[{"role":"user","content":"x"}]}`, "max_tokens: Field required"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "messages: text content blocks must be non-empty"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[]},{"role":"user","content":"x"}]}`, "messages.1: all messages must have non-empty content except for the optional final assistant message"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"So "}]}`, "messages: final assistant content cannot end with trailing whitespace"},
		{Anthropic, `{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":"{}"}]}]}`, "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
		{Gemini, `{"contents":[{"role":"user","parts":[]}]}`, "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"},
		{Gemini, `{"contents":[{"role":"user","parts":[{}]}]}`, "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n"},
		{Gemini, `{"contents":[{"role":"user","parts":[{"functionResponse":{"response":{}}}]}]}`, "* GenerateContentRequest.contents[0].parts[0].function_response.name: Name cannot be empty.\n"},
	} {
		f := format(t, c.p)
		a, err := f.Decode(request(c.p, ""), []byte(c.body))
		require.NoError(t, err, "%s", c.body)
		why := f.Strict(a)
		require.NotNil(t, why, "%s", c.body)
		require.Equal(t, c.want, why.Error())
	}
}

// Ids that the double itself gave twice, or did not give, are no fault of who hands
// them on.
func TestIdsOfTheDoubleAreForgiven(t *testing.T) {
	for _, talk := range []string{"u m:a,a =a,a", "u m:a =a m:a =a"} {
		a := prompt(talk)
		require.NotNil(t, messages{}.Strict(a))
		a.Given = map[string]int{"a": 2}
		require.Nil(t, messages{}.Strict(a))
	}
	a := prompt("u m: =")
	a.Prompt.Messages[1].Text, a.Prompt.Messages[1].Calls = "", []trace.ToolCall{{Tool: "t", Args: "{}"}}
	require.NotNil(t, messages{}.Strict(a))
	a.Given = map[string]int{"": 1}
	require.Nil(t, messages{}.Strict(a))
}

// No request makes a format panic, and each is read or gets one error.
func FuzzDecode(f *testing.F) {
	for i, p := range Providers() {
		f.Add(uint8(i), talks[p])
		f.Add(uint8(i), `{"messages":[{"role":"tool","content":null,"tool_calls":[{}]}],"input":[{}],"contents":[{"parts":[{}]}]}`)
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		p := Providers()[int(n)%len(Providers())]
		api := format(t, p)
		a, err := api.Decode(request(p, ""), []byte(body))
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.True(t, json.Valid(Rejects(api, err.(*Rejection)).Body))
			return
		}
		if why := api.Strict(a); why != nil {
			require.NotEmpty(t, why.Text)
		}
	})
}

// No body makes a reading panic.
func FuzzRead(f *testing.F) {
	for i, p := range Providers() {
		api := format(f, p)
		for _, r := range replies {
			a := weatherTalk()
			for _, a.Stream = range []bool{false, true} {
				out, _ := Reply(api, a, r.said)
				f.Add(uint8(i), string(out.Body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		format(t, Providers()[int(n)%len(Providers())]).Read([]byte(body))
	})
}
