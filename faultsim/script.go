package faultsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Script is what a model does that behaves. It goes by what it is shown, and
// never by how often it was asked: it takes the first step that the conversation
// does not show as done. A call that came back as a failure ends it with Sorry.
// Schedules say where it misbehaves; see [Move].
type Script struct {
	// Steps are its turns: [AskFor], [Say] and [Then]. The last one says something
	// to the user.
	Steps []Step

	// Sorry is what it says in the end where a call has failed. Empty: "I could not do
	// this."
	Sorry string

	// Reads tells whether a result that the model is shown tells of a failure. Nil:
	// those that are marked as failed.
	Reads func(trace.ToolResult) bool

	// Lenient lets the model take any conversation. Without it one that the APIs of the
	// providers refuse, such as one in which a call has no result, fails as
	// trace.Invalid, with words that say what is wrong.
	Lenient bool

	// Version is the version of the model, recorded with each of its calls; empty:
	// none.
	Version string

	// Streams says that the loop takes its replies as a stream, by [Model.Stream], which
	// schedules then break and hold up. One that breaks off fails with the error that
	// Errors has for trace.Reset, and without one with io.ErrUnexpectedEOF.
	Streams bool

	// Errors says how failures of the model itself look, by class. Nil: a
	// [*ModelError] for each class that a model's API can show. Over the wire they
	// look as the provider's own.
	Errors Errors
}

// A Step is one turn of a [Script].
type Step struct {
	calls []trace.ToolCall
	text  string
	then  func(trace.Prompt) trace.Reply
	err   error
}

// AskFor is a turn in which the model asks for one call of the tool, with args as
// they are written as JSON; a string is the JSON itself.
func AskFor(tool string, args any) Step {
	text, unwritten := "", error(nil)
	switch v := args.(type) {
	case string:
		text = v
	case nil:
		text = "{}"
	default:
		_, unwritten = json.Marshal(v)
		text = string(double.JSON(v))
	}
	s := Step{calls: []trace.ToolCall{{Tool: tool, Args: text}}}
	if tool == "" {
		s.err = errors.New("a step asks for a tool without a name: give AskFor the name under which the loop knows it")
	}
	if unwritten != nil {
		s.err = fmt.Errorf("the arguments of %s cannot be written as JSON (%w): give AskFor what a model could write", tool, unwritten)
	} else if !json.Valid([]byte(text)) {
		s.err = fmt.Errorf("the arguments of %s are %q, which is no JSON: a model that behaves writes JSON; plan MoveGarble for one that does not", tool, text)
	}
	return s
}

// And asks for another call in the same turn.
func (s Step) And(tool string, args any) Step {
	more := AskFor(tool, args)
	s.calls = append(slices.Clone(s.calls), more.calls...)
	if s.err == nil {
		s.err = more.err
	}
	if s.text != "" || s.then != nil {
		s.err = errors.New("And follows a step that asks for nothing: begin with AskFor")
	}
	return s
}

// Say is a turn in which the model says a text to the user, and asks for nothing.
func Say(text string) Step {
	s := Step{text: text}
	if text == "" {
		s.err = errors.New("a step says an empty text: give Say some words; plan MoveSilent for a model that has none")
	}
	return s
}

// Then is a turn that depends on what the model is shown. It is the last step: it is
// asked for each turn that follows, and may be asked in several trials at once. What it
// is shown is its own, and what it returns is copied.
func Then(f func(trace.Prompt) trace.Reply) Step {
	s := Step{then: f}
	if f == nil {
		s.err = errors.New("Then was given nil: give the function that makes the turn")
	}
	return s
}

// validate reports what makes the script unplayable; nil: nothing.
func (s *Script) validate() error {
	if len(s.Steps) == 0 {
		return errors.New("the Script has no Steps: begin with AskFor or Say")
	}
	for i, st := range s.Steps {
		switch {
		case st.err != nil:
			return fmt.Errorf("Script.Steps[%d]: %w", i, st.err)
		case st.text == "" && st.then == nil && len(st.calls) == 0:
			return fmt.Errorf("Script.Steps[%d] is empty: make it with AskFor, Say or Then", i)
		}
		if st.then != nil && i < len(s.Steps)-1 {
			return fmt.Errorf("Script.Steps[%d] is a Then with steps behind it, which would never come: make it the last", i)
		}
	}
	if last := s.Steps[len(s.Steps)-1]; len(last.calls) > 0 {
		return errors.New("the last of Script.Steps asks for a tool: add what the model says when it has the result, with Say or Then")
	}
	return nil
}

// turn is what the model does that behaves.
func (s *Script) turn(shown *trace.Prompt) trace.Reply {
	for i := range s.Steps {
		st := &s.Steps[i]
		switch {
		case st.then != nil:
			said := st.then(double.Clone(*shown))
			said.Calls = slices.Clone(said.Calls) // they get ids, and it may return the same again
			return said
		case len(st.calls) == 0:
			if i < len(s.Steps)-1 && hasSaid(shown, st.text) {
				continue
			}
			return trace.Reply{Text: st.text}
		}
		done, failed := s.stands(shown, st.calls)
		switch {
		case failed:
			return trace.Reply{Text: s.sorry()}
		case !done:
			return trace.Reply{Calls: slices.Clone(st.calls)}
		}
	}
	return trace.Reply{Text: s.sorry()}
}

func (s *Script) sorry() string {
	if s.Sorry == "" {
		return "I could not do this."
	}
	return s.Sorry
}

// claim is what the model says when all went well.
func (s *Script) claim() string {
	for _, st := range slices.Backward(s.Steps) {
		if st.text != "" {
			return st.text
		}
	}
	return "It is done."
}

// hasSaid reports whether the model has said the text in this conversation.
func hasSaid(shown *trace.Prompt, text string) bool {
	return slices.ContainsFunc(shown.Messages, func(m trace.Message) bool { return m.From == trace.FromModel && m.Text == text })
}

// stands reports what has become of calls: done, each has a result that is none of a
// failure; failed, the latest result of one is. A call that it asked for and saw no
// result of is not done.
func (s *Script) stands(shown *trace.Prompt, calls []trace.ToolCall) (done, failed bool) {
	done = true
	for _, c := range calls {
		r, seen := resultOf(shown, c)
		switch {
		case !seen:
			done = false
		case s.reads(r):
			return false, true
		}
	}
	return done, false
}

func (s *Script) reads(r trace.ToolResult) bool {
	if s.Reads != nil {
		return s.Reads(r)
	}
	return r.Failed
}

// resultOf is the latest result of a call for the tool with these arguments.
func resultOf(shown *trace.Prompt, want trace.ToolCall) (r trace.ToolResult, seen bool) {
	args := trace.Canonical([]byte(want.Args))
	for i := range shown.Messages {
		for _, c := range shown.Messages[i].Calls {
			if c.Tool != want.Tool || !trace.SameArgs(trace.Canonical([]byte(c.Args)), args) {
				continue
			}
			if found, ok := answerTo(shown.Messages[i+1:], c); ok {
				r, seen = found, true
			}
		}
	}
	return r, seen
}

// answerTo is the first result of the call in the messages that follow it.
func answerTo(later []trace.Message, c trace.ToolCall) (trace.ToolResult, bool) {
	for i := range later {
		for _, r := range later[i].Results {
			if c.ID != "" && r.ID == c.ID || (c.ID == "" || r.ID == "") && r.Tool == c.Tool {
				return r, true
			}
		}
	}
	return trace.ToolResult{}, false
}
