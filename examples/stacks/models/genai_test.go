package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/trace"
	"google.golang.org/genai"
)

// geminiTalk is a conversation by Gemini's generateContent.
type geminiTalk struct {
	client   *genai.Client
	streams  bool
	contents []*genai.Content
}

func openGemini(c *http.Client, streams bool) func() talk { return openGeminiWith(c, streams, nil) }

func openGeminiWith(c *http.Client, streams bool, retry *genai.HTTPRetryOptions) func() talk {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "test", Backend: genai.BackendGeminiAPI, HTTPClient: c, HTTPOptions: genai.HTTPOptions{RetryOptions: retry},
	})
	if err != nil {
		panic(err) // a key and a client are all that it looks at
	}
	return func() talk {
		return &geminiTalk{client: client, streams: streams, contents: []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}}
	}
}

func (t *geminiTalk) ask(ctx context.Context) (string, []trace.ToolCall, error) {
	said, finish, err := t.generate(ctx)
	if err != nil {
		return "", nil, err
	}
	if finish == genai.FinishReasonMalformedFunctionCall {
		return "", nil, fmt.Errorf("the model's call could not be read (%s)", finish)
	}
	text := ""
	var calls []trace.ToolCall
	for _, p := range said.Parts {
		text += p.Text
		if c := p.FunctionCall; c != nil {
			args, err := json.Marshal(c.Args)
			if err != nil {
				return "", nil, err
			}
			calls = append(calls, trace.ToolCall{ID: c.ID, Tool: c.Name, Args: string(args)})
		}
	}
	if len(said.Parts) > 0 {
		t.contents = append(t.contents, said)
	}
	return text, calls, nil
}

// generate returns the content of the reply, and why it ended.
func (t *geminiTalk) generate(ctx context.Context) (*genai.Content, genai.FinishReason, error) {
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "weather", ParametersJsonSchema: schema,
	}}}}}
	if !t.streams {
		r, err := t.client.Models.GenerateContent(ctx, "gemini-2.5-pro", t.contents, config)
		if err != nil {
			return nil, "", err
		}
		return r.Candidates[0].Content, r.Candidates[0].FinishReason, nil
	}
	said, finish := &genai.Content{Role: genai.RoleModel}, genai.FinishReason("")
	for r, err := range t.client.Models.GenerateContentStream(ctx, "gemini-2.5-pro", t.contents, config) {
		if err != nil {
			return nil, "", err
		}
		if c := r.Candidates; len(c) > 0 {
			if c[0].Content != nil {
				said.Parts = append(said.Parts, c[0].Content.Parts...)
			}
			finish = c[0].FinishReason
		}
	}
	if finish == "" {
		return nil, "", fmt.Errorf("the stream ended without a reason")
	}
	return said, finish, nil
}

func (t *geminiTalk) show(results []trace.ToolResult) {
	var parts []*genai.Part
	for _, r := range results {
		name := "output"
		if r.Failed {
			name = "error"
		}
		p := genai.NewPartFromFunctionResponse(r.Tool, map[string]any{name: r.Text})
		p.FunctionResponse.ID = r.ID
		parts = append(parts, p)
	}
	t.contents = append(t.contents, genai.NewContentFromParts(parts, genai.RoleUser))
}
