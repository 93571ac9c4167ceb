package models_test

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/rehearse-go/rehearse/trace"
)

// chatTalk is a conversation by chat completions.
type chatTalk struct {
	client  *openai.Client
	streams bool
	params  openai.ChatCompletionNewParams
}

func openChat(c *http.Client, streams bool) func() talk {
	client := openai.NewClient(option.WithAPIKey("sk-test"), option.WithHTTPClient(c))
	return func() talk {
		return &chatTalk{client: &client, streams: streams, params: openai.ChatCompletionNewParams{
			Model:    openai.ChatModelGPT4_1,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
			Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
				Name: "weather", Parameters: schema,
			})},
		}}
	}
}

// schema is what the tool takes.
var schema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}

func (t *chatTalk) ask(ctx context.Context) (string, []trace.ToolCall, error) {
	done, err := t.complete(ctx)
	if err != nil {
		return "", nil, err
	}
	said := done.Choices[0].Message
	t.params.Messages = append(t.params.Messages, said.ToParam())
	var calls []trace.ToolCall
	for _, c := range said.ToolCalls {
		calls = append(calls, trace.ToolCall{ID: c.ID, Tool: c.Function.Name, Args: c.Function.Arguments})
	}
	return said.Content, calls, nil
}

func (t *chatTalk) complete(ctx context.Context) (*openai.ChatCompletion, error) {
	if !t.streams {
		return t.client.Chat.Completions.New(ctx, t.params)
	}
	stream := t.client.Chat.Completions.NewStreaming(ctx, t.params)
	defer stream.Close()
	acc := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	return &acc.ChatCompletion, stream.Err()
}

func (t *chatTalk) show(results []trace.ToolResult) {
	for _, r := range results {
		t.params.Messages = append(t.params.Messages, openai.ToolMessage(shownText(r), r.ID))
	}
}

// shownText marks a failure by its words, for an API that has no mark.
func shownText(r trace.ToolResult) string {
	if r.Failed {
		return "error: " + r.Text
	}
	return r.Text
}

// responsesTalk is a conversation by responses, all of it in the input.
type responsesTalk struct {
	client  *openai.Client
	streams bool
	input   responses.ResponseInputParam
}

func openResponses(c *http.Client, streams bool) func() talk {
	client := openai.NewClient(option.WithAPIKey("sk-test"), option.WithHTTPClient(c))
	return func() talk {
		return &responsesTalk{client: &client, streams: streams, input: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser),
		}}
	}
}

func (t *responsesTalk) ask(ctx context.Context) (string, []trace.ToolCall, error) {
	done, err := t.respond(ctx)
	if err != nil {
		return "", nil, err
	}
	var calls []trace.ToolCall
	for _, item := range done.Output {
		switch item.Type {
		case "message":
			t.input = append(t.input, responses.ResponseInputItemParamOfMessage(done.OutputText(), responses.EasyInputMessageRoleAssistant))
		case "function_call":
			c := item.AsFunctionCall()
			t.input = append(t.input, responses.ResponseInputItemParamOfFunctionCall(c.Arguments, c.CallID, c.Name))
			calls = append(calls, trace.ToolCall{ID: c.CallID, Tool: c.Name, Args: c.Arguments})
		}
	}
	return done.OutputText(), calls, nil
}

func (t *responsesTalk) respond(ctx context.Context) (*responses.Response, error) {
	params := responses.ResponseNewParams{
		Model: openai.ChatModelGPT4_1,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: t.input},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", schema, false)},
	}
	if !t.streams {
		return t.client.Responses.New(ctx, params)
	}
	stream := t.client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.completed", "response.incomplete":
			return &e.Response, nil
		case "error", "response.failed":
			return nil, &streamError{e.Message + e.Response.Error.Message}
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return nil, &streamError{"the stream ended without its last event"}
}

// A streamError is a failure that a stream tells of.
type streamError struct{ text string }

func (e *streamError) Error() string { return e.text }

func (t *responsesTalk) show(results []trace.ToolResult) {
	for _, r := range results {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(shownText(r))
		item.OfFunctionCallOutput.CallID = openai.String(r.ID)
		t.input = append(t.input, item)
	}
}
