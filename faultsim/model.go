package faultsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Model is the double of a model, which a loop under test asks for its turns: see
// [Stage.Model].
type Model struct {
	s      *Stage
	t      *tool
	script *Script
}

// Model puts a model on the stage. It does what the script says, and misbehaves
// where the schedule plans it, turn by turn:
//
//	model 1 throttled hint=2s
//	model 2 ok move=garble
//
// Its physical calls are numbered like the attempts of a tool, those that fail
// included. It is in the trace as calls of trace.RoleModel, with what it was shown
// and what it said, and is never the adapter's main tool.
func (s *Stage) Model(name string, script Script) *Model {
	d := &Model{s: s, script: &script, t: &tool{name: name, skills: thinking{&script}}}
	s.beside(&s.models, "a model", d.t)
	if err := script.validate(); err != nil {
		s.misused(fmt.Errorf("faultsim: model %q: %w", name, err))
	}
	return d
}

// A ModelError is the failure of a model's API.
type ModelError struct {
	Model string
	Class trace.Class
	Hint  time.Duration // the wait that it asks for; 0: none
	Text  string        // its words, where the schedule plans some
}

func (e *ModelError) Error() string {
	if e.Text != "" {
		return e.Model + ": " + e.Text
	}
	return fmt.Sprintf("%s: %v", e.Model, e.Class)
}

// Outcome is how a caller reads the failure; see [trace.Classify].
func (e *ModelError) Outcome() trace.Outcome {
	return trace.Outcome{Class: e.Class, Hint: e.Hint}
}

// Reply asks the model for its next turn: the function that a loop calls.
func (d *Model) Reply(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
	return d.reply(ctx, &shown, nil)
}

// Stream asks the model for its next turn, which comes in pieces: the function that a
// loop with a stream calls. Say so in [Script].Streams.
func (d *Model) Stream(ctx context.Context, shown trace.Prompt, yield func(trace.Piece) error) (trace.Reply, error) {
	if !d.script.Streams {
		return trace.Reply{}, d.s.misused(fmt.Errorf("faultsim: the model %s is asked for a stream, and its Script does not say Streams: set it, so that schedules break the stream", d.t.name))
	}
	return d.reply(ctx, &shown, yield)
}

// reply asks for a turn; nil yield: as a whole.
func (d *Model) reply(ctx context.Context, shown *trace.Prompt, yield func(trace.Piece) error) (said trace.Reply, err error) {
	if ctx == nil {
		return said, d.s.misused(fmt.Errorf("faultsim: the model %s was called with a nil context: hand the caller's context on", d.t.name))
	}
	if d.s.gone() {
		return said, d.s.buried()
	}
	p := d.s.reached(ctx, trace.Call{Tool: d.t.name, Role: trace.RoleModel, Prompt: shown, Definition: d.script.Version})
	f, a := d.s.arrive(d.t, p)
	timing := double.Timing{Latency: f.Latency, Hang: f.Hang && f.Body == 0, Deaf: f.Deaf}
	ended := timing.Play(ctx, nil, p)
	switch {
	case d.s.gone():
		return said, d.s.buried()
	case ended != 0:
		p.Answer(trace.Outcome{Class: ended}, nil, ctx.Err())
		return said, ctx.Err()
	case f.class() != trace.OK && f.Body == 0:
		err = d.failure(&f)
		p.Answer(trace.Outcome{Class: f.Class, Hint: f.Hint, Advice: f.Advice}, nil, err)
		return said, err
	}
	if err := d.refuses(shown); err != nil {
		p.Answer(trace.Outcome{Class: trace.Invalid, Code: CodeConversation}, nil, err)
		return said, err
	}
	whole := d.turn(a, f.Move, shown)
	stream := stream{d: d, ctx: ctx, p: p, f: &f, yield: yield}
	return stream.play(whole)
}

// CodeConversation is the code of a model's failure that is about the conversation
// which it was shown: see [Script].Lenient.
const CodeConversation = trace.CodeConversation

// refuses is the error of a conversation that no provider would take; nil: it is fine.
func (d *Model) refuses(shown *trace.Prompt) error {
	if d.script.Lenient {
		return nil
	}
	wrong := double.Complaints(*shown)
	if len(wrong) == 0 {
		return nil
	}
	return d.failure(&Fault{Class: trace.Invalid, Say: wrong[0].String()})
}

// failure is the error of the model's API.
func (d *Model) failure(f *Fault) error {
	if _, own := d.script.Errors[f.class()]; own {
		err := d.s.rendered(d.t.name, d.script.Errors, f)
		if f.packed() {
			err = f.pack(d.t.name, err)
		}
		return err
	}
	err := error(&ModelError{d.t.name, f.Class, f.Hint, f.Say})
	if f.Wrap != WrapNone {
		g := *f
		g.Say = ""
		err = g.pack(d.t.name, err)
	}
	return err
}

// turn is the model's turn, with ids.
func (d *Model) turn(a *act, m Move, shown *trace.Prompt) trace.Reply {
	if a != nil {
		d.s.mu.Lock()
		if m == MoveStubborn {
			a.stubborn = true
		}
		if a.stubborn {
			m = MoveStubborn
		}
		d.s.mu.Unlock()
	}
	said := d.script.turn(shown)
	if m != MoveNone {
		said = d.misbehave(m, shown, said)
	}
	d.identify(a, m, said.Calls)
	return said
}

// behaved is the turn as the script says it, with ids.
func (d *Model) behaved(a *act, shown *trace.Prompt) trace.Reply {
	said := d.script.turn(shown)
	d.identify(a, MoveNone, said.Calls)
	return said
}

// identify gives calls the ids that a provider would: each another one over the
// action. A Then may give its own.
func (d *Model) identify(a *act, m Move, calls []trace.ToolCall) {
	for i := range calls {
		switch {
		case m == MoveAnonymous:
			calls[i].ID = ""
		case m == MoveTwin && i == len(calls)-1 && i > 0:
			calls[i].ID = calls[0].ID
		case calls[i].ID == "":
			calls[i].ID = d.s.callID(a)
		}
	}
}

// callID is the next id of a model's call in the action.
func (s *Stage) callID(a *act) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &s.asks
	if a != nil {
		n = &a.asks
	}
	*n++
	return fmt.Sprintf("call_%d", *n)
}

// other is a tool on the stage that the run may not use; empty: there is none.
func (d *Model) other() string {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loop == nil {
		return ""
	}
	for _, t := range s.tools {
		if len(s.loop.Tools) > 0 && !slices.Contains(s.loop.Tools, t.name) {
			return t.name
		}
	}
	return ""
}

// protects reports whether the contract keeps the model from changing the argument.
func (d *Model) protects(tool, name string) bool {
	return d.s.loop != nil && slices.ContainsFunc(d.s.loop.Protected, func(path string) bool {
		path = strings.TrimPrefix(path, tool+".")
		return path == name || strings.HasPrefix(path, name+".")
	})
}

// thinking is what a model can show.
type thinking struct{ script *Script }

func (thinking) thinks() {} // which tells it, and what embeds it, from tools

func (k thinking) forms() []HintForm { return []HintForm{HintSeconds} }

func (k thinking) unusable() error {
	if k.script.Errors == nil {
		return nil
	}
	return k.script.Errors.unusable()
}

func (k thinking) can(f *Fault) bool {
	if f.Move != MoveNone {
		g := *f
		g.Move, g.Class, g.Latency, g.Cancel, g.Crash, g.Deaf = MoveNone, 0, 0, 0, 0, false
		if k.script.Streams {
			g.Body = 0
		}
		return g == Fault{} && f.class() == trace.OK
	}
	if f.Done || f.Work > 0 || f.Twice || f.Empty || f.Items != "" || f.Panic || f.Valid > 0 {
		return false // a turn has no effect
	}
	if f.Body > 0 {
		return k.script.Streams && !f.packed() && !f.gives()
	}
	if k.script.Errors != nil {
		return k.script.Errors.can(f)
	}
	switch f.class() {
	case trace.Declined, trace.Partial, trace.Conflict, trace.Cancelled:
		return false
	}
	return f.Hint == 0 || slices.Contains(askers, f.Class)
}

// beside puts a double on the stage that is no tool: a model or an approver, whose list
// it is given. Such a double can be put there again after a crash.
func (s *Stage) beside(list *[]*tool, what string, t *tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.build = s.build
	i := slices.IndexFunc(*list, func(o *tool) bool { return o.name == t.name })
	switch {
	case t.name == "" || t.name == Main:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: %s on the stage is named %q: give it a name of its own, for schedules and reports", what, t.name))
	case i >= 0 && (*list)[i].build < t.build:
		t.follows((*list)[i])
		(*list)[i] = t
		return
	case i >= 0 || s.double(t.name) != nil:
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: the stage has two doubles named %q: give each its own name", t.name))
	}
	if err := t.unusable(); err != nil {
		s.misuse = append(s.misuse, fmt.Errorf("faultsim: model %q: %w", t.name, err))
	}
	*list = append(*list, t)
}

// Say records a text that the user of the code under test is shown while its action
// runs: a message, or a piece of one that is streamed. What the action returns is
// shown as well, where it is a text, and need not be said twice.
func (s *Stage) Say(ctx context.Context, text string) {
	if ctx == nil {
		s.misused(errors.New("faultsim: Stage.Say was called with a nil context: hand the action's context on"))
		return
	}
	if s.gone() {
		_ = s.buried()
		return
	}
	s.rec.Say(s.member.owns(ctx), text)
}

// describeModels lists the models on the stage.
func (s *Stage) describeModels() string {
	names := make([]string, len(s.models))
	for i, t := range s.models {
		names[i] = fmt.Sprintf("%q", t.name)
	}
	return strings.Join(names, ", ")
}
