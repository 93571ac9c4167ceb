package faultsim

import (
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

// speaking is what a model can show over a provider's API.
type speaking struct {
	thinking
	p   Provider
	api wire.Format
}

// forms are how the provider asks for a wait. Gemini does so in the body, and in
// one form.
func (k speaking) forms() []HintForm {
	switch k.p {
	case OpenAIChat, OpenAIResponses:
		return []HintForm{HintSeconds, HintMillis}
	}
	return []HintForm{HintSeconds}
}

func (k speaking) unusable() error { return nil } // the failures are the provider's own

func (k speaking) can(f *Fault) bool {
	if f.Move != MoveNone {
		// Anthropic writes arguments as an object: only fragments can be no JSON.
		if f.Move == MoveGarble && k.p == Anthropic && !k.script.Streams {
			return false
		}
		return k.thinking.can(f)
	}
	switch {
	case f.works() || f.Twice || f.Empty || f.Items != "" || f.Panic || f.Valid > 0 || f.Wrap != WrapNone || f.Advice != trace.AdviceNone:
		return false
	case f.Body > 0:
		return k.script.Streams && !f.packed() && f.Hint == 0
	case f.whole() || f.Hang:
		return f.Hint == 0
	case f.Hint > 0 && (f.Class != trace.Throttled && f.Class != trace.Transient || !k.asks(f.Form)):
		return false
	}
	if _, own := k.api.Failure(f.Class, "", 0); own {
		return true
	}
	return f.Say == "" && f.Hint == 0 && unspoken[f.Class]
}

func (k speaking) asks(form HintForm) bool {
	for _, f := range k.forms() {
		if f == form {
			return true
		}
	}
	return false
}

// unspoken are the failures that no provider words.
var unspoken = map[trace.Class]bool{trace.Timeout: true, trace.Reset: true, trace.NotConnected: true, trace.Malformed: true}
