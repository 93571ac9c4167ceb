package scripted

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/internal/wire"
	"github.com/rehearse-go/rehearse/trace"
)

// A Provider is an API through which a program asks a model; see [Model.Client].
type Provider = wire.Provider

const (
	OpenAIChat      = wire.OpenAIChat      // OpenAI's chat completions, and of whoever copies them
	OpenAIResponses = wire.OpenAIResponses // OpenAI's responses, with all of the conversation in the input
	Anthropic       = wire.Anthropic       // Anthropic's messages
	Gemini          = wire.Gemini          // Google's generateContent and streamGenerateContent
)

// Client returns an HTTP client that speaks the provider's API, for the SDK with
// which the code under test asks its model: openai-go and anthropic-sdk-go take it by
// option.WithHTTPClient, genai by ClientConfig.HTTPClient. Only the path of a request
// tells what it is, so that the SDK's base URL and key may be any.
//
// The script is the same as that of [Model.Reply], and each request takes a turn, those
// that the SDK makes again included. A failure is answered in the provider's shape for
// its class, with the error's text, and with [Model.Hint] as Retry-After (of Gemini
// in the body); one of a connection breaks it. [Model.Cut] breaks the stream of a
// program that asks for one.
//
// A conversation that this provider would reject is reported and rejected with its
// words; see [Model.Lenient].
func (m *Model) Client(p Provider) *http.Client {
	m.t.Helper()
	api, err := p.Format()
	if err != nil {
		m.misuse(fmt.Sprintf("Client(%q)", string(p)), double.Caller(0), err.Error())
		api, _ = OpenAIChat.Format()
	}
	return &http.Client{Transport: &wire.Transport{Format: api, Model: m.overWire, Refuse: m.rejects}}
}

// overWire answers a request that the provider takes.
func (m *Model) overWire(ctx context.Context, a *wire.Ask) (said trace.Reply, err error) {
	m.t.Helper()
	var o trace.Outcome
	if a.Stream {
		said, o, err = m.stream(ctx, a.Prompt, func(trace.Piece) error { return nil })
	} else {
		said, o, err = m.answer(ctx, a.Prompt, m.whole)
	}
	if err != nil && o.Class != 0 {
		err = &worded{err, o}
	}
	return said, err
}

// worded is an error with the outcome that the script gives it.
type worded struct {
	error
	o trace.Outcome
}

func (w *worded) Unwrap() error          { return w.error }
func (w *worded) Outcome() trace.Outcome { return w.o }

// rejects reports a request that the provider would reject.
func (m *Model) rejects(ctx context.Context, a *wire.Ask, why *wire.Rejection) bool {
	m.t.Helper()
	if a == nil {
		_ = m.refused(ctx, &trace.Prompt{}, "it cannot be read: "+why.Error(), "", "send what the provider's API takes")
		return true
	}
	if m.lenient {
		return false
	}
	_ = m.refused(ctx, &a.Prompt, why.Error(), "", "show the model what this provider takes; or allow it with Lenient")
	return true
}
