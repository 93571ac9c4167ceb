package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// The words of the loops' own code, which knows nothing of the toolkit: what a model
// is shown, what it says, and the tools that it may ask for.
type (
	// A brain is the client of a model.
	brain = func(ctx context.Context, talk []line, tools []string) (speech, error)

	// A line is one message of a conversation.
	line struct {
		from    string // system, user, model or tool
		text    string
		wishes  []wish
		answers []notice
	}

	// A speech is one reply of the model.
	speech struct {
		text   string
		wishes []wish
		cut    bool // at its greatest length
		barred bool // by the provider's filter
	}

	// A wish is a call that the model asks for.
	wish struct{ id, tool, args string }

	// A notice is what the model gets to read of a wish.
	notice struct {
		id, tool, text string
		failed         bool
		known          bool // from before: nothing was called for it
	}
)

// A consent asks somebody whether the wish may be carried out, and says until when: the zero
// time is for good.
type consent = func(ctx context.Context, w wish) (until time.Time, err error)

// A gadget is a tool in the registry of a loop.
type gadget struct {
	takes string   // its arguments, in words for the model
	fixed []string // arguments that do not change once they are asked for
	most  int      // attempts of one wish
	goal  bool     // its success is what the user wants

	needsLeave bool

	// read makes a deed of the arguments that the model has written.
	read func(args string) (deed, error)
}

// A deed is a call that is ready to be made. The key is the same for all its attempts.
type deed func(ctx context.Context, key string) (string, error)

// errArgs is said of arguments that cannot be read.
var errArgs = errors.New("these are not its arguments")

// strictly reads arguments that must be an object with the fields of In, and no others.
func strictly[In any](args string) (in In, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("%w: %w", errArgs, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return in, fmt.Errorf("%w: there is more behind them", errArgs)
	}
	return in, nil
}

// spoken is the answer of a tool as the model reads it.
func spoken(answer any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(answer)
	return string(raw), err
}

// client is the model's own client: it speaks the provider's words.
func client(model trace.ModelFunc) brain {
	return func(ctx context.Context, talk []line, tools []string) (speech, error) {
		said, err := model(ctx, trace.Prompt{Messages: onWireTalk(talk), Tools: tools})
		if err != nil {
			return speech{}, err
		}
		s := speech{text: said.Text, cut: said.Stop == trace.StopLength, barred: said.Stop == trace.StopFilter}
		for _, c := range said.Calls {
			s.wishes = append(s.wishes, wish{c.ID, c.Tool, c.Args})
		}
		return s, nil
	}
}

var speakers = map[string]trace.Speaker{
	"system": trace.FromSystem, "user": trace.FromUser, "model": trace.FromModel, "tool": trace.FromTool,
}

func onWireTalk(talk []line) []trace.Message {
	messages := make([]trace.Message, len(talk))
	for i, l := range talk {
		m := trace.Message{From: speakers[l.from], Text: l.text}
		for _, w := range l.wishes {
			m.Calls = append(m.Calls, trace.ToolCall{ID: w.id, Tool: w.tool, Args: w.args})
		}
		for _, r := range l.answers {
			m.Results = append(m.Results, trace.ToolResult{ID: r.id, Tool: r.tool, Text: r.text, Failed: r.failed})
		}
		messages[i] = m
	}
	return messages
}
