package models_test

import (
	"context"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/rehearse-go/rehearse/trace"
)

// messagesTalk is a conversation by Anthropic's messages.
type messagesTalk struct {
	client  *anthropic.Client
	streams bool
	params  anthropic.MessageNewParams
}

func openMessages(c *http.Client, streams bool) func() talk {
	client := anthropic.NewClient(option.WithAPIKey("sk-ant-test"), option.WithHTTPClient(c))
	return func() talk {
		return &messagesTalk{client: &client, streams: streams, params: anthropic.MessageNewParams{
			Model: "claude-opus-4-5", MaxTokens: 1000,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
			Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
				Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"]},
			}}},
		}}
	}
}

func (t *messagesTalk) ask(ctx context.Context) (string, []trace.ToolCall, error) {
	said, err := t.message(ctx)
	if err != nil {
		return "", nil, err
	}
	text := ""
	var calls []trace.ToolCall
	for _, b := range said.Content {
		switch b.Type {
		case "text":
			text += b.Text
		case "tool_use":
			calls = append(calls, trace.ToolCall{ID: b.ID, Tool: b.Name, Args: string(b.Input)})
		}
	}
	t.params.Messages = append(t.params.Messages, said.ToParam())
	return text, calls, nil
}

func (t *messagesTalk) message(ctx context.Context) (*anthropic.Message, error) {
	if !t.streams {
		return t.client.Messages.New(ctx, t.params)
	}
	stream := t.client.Messages.NewStreaming(ctx, t.params)
	defer stream.Close()
	said := &anthropic.Message{}
	for stream.Next() {
		if err := said.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	return said, stream.Err()
}

func (t *messagesTalk) show(results []trace.ToolResult) {
	var blocks []anthropic.ContentBlockParamUnion
	for _, r := range results {
		blocks = append(blocks, anthropic.NewToolResultBlock(r.ID, r.Text, r.Failed))
	}
	t.params.Messages = append(t.params.Messages, anthropic.NewUserMessage(blocks...))
}
