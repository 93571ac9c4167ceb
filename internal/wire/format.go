package wire

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// A Provider names the API through which a program asks a model.
type Provider string

const (
	OpenAIChat      Provider = "openai-chat"      // POST …/chat/completions
	OpenAIResponses Provider = "openai-responses" // POST …/responses
	Anthropic       Provider = "anthropic"        // POST …/v1/messages
	Gemini          Provider = "gemini"           // POST …/models/NAME:generateContent and :streamGenerateContent
)

// Providers are all of them.
func Providers() []Provider { return []Provider{OpenAIChat, OpenAIResponses, Anthropic, Gemini} }

// Format is the API of the provider; an error names the ones that there are.
func (p Provider) Format() (Format, error) {
	switch p {
	case OpenAIChat:
		return chat{}, nil
	case OpenAIResponses:
		return responses{}, nil
	case Anthropic:
		return messages{}, nil
	case Gemini:
		return gemini{}, nil
	}
	return nil, fmt.Errorf("there is no provider %q: say OpenAIChat, OpenAIResponses, Anthropic or Gemini", string(p))
}

// A Format is one API. Its methods keep nothing and may be called by several
// goroutines at once.
type Format interface {
	// Match reports whether a request asks for a turn of a model.
	Match(*http.Request) bool

	// Decode reads a request that matches. The error is a *Rejection.
	Decode(req *http.Request, body []byte) (*Ask, error)

	// Strict is what the real provider would reject in a request that can be read;
	// nil: nothing.
	Strict(*Ask) *Rejection

	// Whole is the body of an answer that is there at once. The error says what of
	// the reply the API cannot carry.
	Whole(*Ask, trace.Reply) ([]byte, error)

	// Stream is the body of an answer as events, each with its end.
	Stream(*Ask, trace.Reply) [][]byte

	// Read is the reply in a body, or in what has come of one, without tokens.
	Read(body []byte) trace.Reply

	// Failure is the provider's answer for a class; false: it has none of its own.
	// Say is the message in it; empty: the usual one. Wait is what it asks for in
	// the body, where the provider says it there; 0: nothing.
	Failure(class trace.Class, say string, wait time.Duration) (Failure, bool)

	// Reject is the answer to a request that cannot be read, or is rejected.
	Reject(*Rejection) Failure

	// Broken is the event that ends a stream in which the provider fails, and
	// whether it has one for the class.
	Broken(class trace.Class, say string) ([]byte, bool)
}

// An Ask is a request for a turn of a model.
type Ask struct {
	Prompt trace.Prompt
	Model  string    // its name; empty: none is said
	Stream bool      // the answer is a stream of events
	Usage  bool      // a stream of OpenAI's chat completions tells the usage
	Number int       // of the request, in ids of the answer; 0: none is counted
	At     time.Time // of the answer

	// Given is how often the double itself has given an id to a call. Ids that it
	// has given twice, and empty ones, are no fault of the program that hands them on.
	Given map[string]int

	at    []int // where each message of the prompt is in the request; nil: at its own place
	flaws []Rejection
}

// place is where a message of the prompt is in the request.
func (a *Ask) place(i int) int {
	if a.at == nil {
		return i
	}
	return a.at[i]
}

// add adds a message of the prompt that is at a place in the request.
func (a *Ask) add(at int, m trace.Message) {
	a.Prompt.Messages, a.at = append(a.Prompt.Messages, m), append(a.at, at)
}

// flaw notes what a strict provider rejects and the prompt no longer shows.
func (a *Ask) flaw(field, format string, args ...any) {
	a.flaws = append(a.flaws, Rejection{field, fmt.Sprintf(format, args...)})
}

// A Rejection is why a provider rejects a request.
type Rejection struct {
	Field string // where it is, as the provider would name it; empty: nowhere in particular
	Text  string // the provider's message
}

// Error is the message, with the field where the message does not name it.
func (r *Rejection) Error() string {
	if r.Field == "" {
		return r.Text
	}
	return r.Field + ": " + r.Text
}

func reject(field, format string, args ...any) *Rejection {
	return &Rejection{field, fmt.Sprintf(format, args...)}
}

// A Failure is an answer that is an error.
type Failure struct {
	Status int
	Header http.Header // an empty value takes a usual field away
	Body   []byte
}

// nameResults says of which tool results without an id are, in the order of the
// model's calls before them: an API that goes by ids alone does not.
func (a *Ask) nameResults() {
	var calls []trace.ToolCall
	next := 0
	for i := range a.Prompt.Messages {
		m := &a.Prompt.Messages[i]
		if m.From == trace.FromModel {
			calls, next = m.Calls, 0
		}
		for n := range m.Results {
			if r := &m.Results[n]; next < len(calls) {
				if r.ID == "" && r.Tool == "" && calls[next].ID == "" {
					r.Tool = calls[next].Tool
				}
				next++
			}
		}
	}
}
