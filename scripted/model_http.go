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

// Client returns an HTTP client, without a socket, that answers as the provider's
// API does, for the SDK with which a loop asks its model: openai-go and
// anthropic-sdk-go take it by option.WithHTTPClient, genai by
// ClientConfig.HTTPClient. Only the path of a request tells what it is, so that the
// SDK's base URL and key may be any.
//
// Each request of the SDK takes a turn, its retries included. Failures look as the
// provider's own for their class, with the text of the error and the wait of
// [Model.Hint]; classes of a connection break it. A request that the SDK wants
// streamed gets the events of the turn, and where [Model.Cut] breaks it those of what
// came before. The events are there at once when the last of them is due: what goes
// by between pieces goes by before the first.
//
// A strict model is as strict as the provider: what that would reject is reported
// and answered with its own words. A turn that the API cannot carry, as arguments
// that are no JSON in a whole answer of Anthropic's, is reported too.
func (m *Model) Client(p Provider) *http.Client {
	m.t.Helper()
	at := double.Caller(0)
	api, err := p.Format()
	if err != nil {
		m.misuse(fmt.Sprintf("Client(%q)", string(p)), at, err.Error())
		api, _ = OpenAIChat.Format()
	}
	door := &modelDoor{m: m, api: api, name: fmt.Sprintf("Client(%q)", string(p)), at: at}
	return &http.Client{Transport: &wire.Transport{Format: api, Model: door.turn, Rejected: door.rejected, Lenient: m.lenient}}
}

// A modelDoor is the way to a model over one API.
type modelDoor struct {
	m    *Model
	api  wire.Format
	name string
	at   double.Pos
}

// turn is the model's answer to one request.
func (d *modelDoor) turn(ctx context.Context, a *wire.Ask) (said trace.Reply, err error) {
	d.m.t.Helper()
	if a.Stream {
		return d.m.stream(ctx, a.Prompt, func(trace.Piece) error { return nil })
	}
	if said, err = d.m.answer(ctx, a.Prompt, d.m.whole); err != nil {
		return said, err
	}
	if _, err := d.api.Whole(a, said); err != nil {
		d.m.misuse(d.name, d.at, fmt.Sprintf("the turn cannot be sent: %v", err))
	}
	return said, nil
}

// rejected reports a request that the provider would reject.
func (d *modelDoor) rejected(ctx context.Context, a *wire.Ask, why *wire.Rejection) {
	d.m.t.Helper()
	var shown *trace.Prompt
	if a != nil {
		shown = &a.Prompt
	}
	_ = d.m.refused(ctx, shown, why.Error(), "send what the provider takes", "")
}
