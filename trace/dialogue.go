package trace

import (
	"context"
	"encoding/json"
	"slices"
)

// CodeConversation is the code (see [Outcome]) of a model's failure that is about the
// form of the conversation which it was shown, such as a call without its result.
const CodeConversation = "invalid-conversation"

// A Prompt is what a model is shown for one turn: the whole conversation so
// far, in what the APIs of the providers have in common.
type Prompt struct {
	Messages []Message `json:"messages,omitempty"`
	Tools    []string  `json:"tools,omitempty"`  // names of the tools that it may ask for
	Tokens   int       `json:"tokens,omitempty"` // how long it is, where somebody counts; 0: nobody did
}

// A Message is one entry of a conversation.
type Message struct {
	From    Speaker      `json:"from"`
	Text    string       `json:"text,omitempty"`
	Calls   []ToolCall   `json:"calls,omitempty"`   // what the model asks for in it
	Results []ToolResult `json:"results,omitempty"` // what came of calls that it asked for before
}

// A Speaker says who a message is from.
type Speaker string

const (
	FromSystem Speaker = "system" // who runs the agent
	FromUser   Speaker = "user"   // the person it works for
	FromModel  Speaker = "model"
	FromTool   Speaker = "tool" // the results of calls
)

// A ToolCall is a model's request for a call of a tool.
type ToolCall struct {
	ID   string `json:"id,omitempty"` // empty: the model, or its API, gives none
	Tool string `json:"tool"`
	Args string `json:"args,omitempty"` // as the model wrote them, which need not be JSON
}

// A ToolResult is what a model is shown of a call that it asked for.
type ToolResult struct {
	ID     string `json:"id,omitempty"`
	Tool   string `json:"tool,omitempty"` // empty: the API goes by the id alone
	Text   string `json:"text,omitempty"`
	Failed bool   `json:"failed,omitempty"` // it is marked as an error, where the API has a mark
}

// A Reply is what a model answers in one turn.
type Reply struct {
	Text   string     `json:"text,omitempty"`
	Calls  []ToolCall `json:"calls,omitempty"`
	Stop   Stop       `json:"stop,omitempty"`
	Tokens int        `json:"tokens,omitempty"` // how long it is, where somebody counts; 0: nobody did
}

// A Stop says why a model's reply ends.
type Stop string

const (
	StopEnd    Stop = ""       // it said all it wanted: it waits for its calls, or for the user
	StopLength Stop = "length" // it was cut off at its greatest length, perhaps within a call
	StopFilter Stop = "filter" // the provider, or the model, refuses to answer
)

// A ModelFunc is the ordinary shape of a model in a loop of one's own.
type ModelFunc = func(context.Context, Prompt) (Reply, error)

// RecordModel returns f as a model whose turns r writes down: what it was shown,
// what it said, and the failures between. Tool calls that follow are linked to
// what the model asked for; see [Event].Ask. It changes neither prompts nor replies.
func RecordModel(r *Recorder, name string, f ModelFunc) ModelFunc {
	return func(ctx context.Context, shown Prompt) (said Reply, err error) {
		p := r.Call(ctx, Call{Tool: name, Role: RoleModel, Prompt: &shown})
		returned := false
		defer func() {
			if !returned {
				p.Answer(Outcome{Class: Unknown}, nil, errEnded)
			}
		}()
		said, err = f(ctx, shown)
		if returned = true; err != nil {
			p.Answer(r.classify(err), nil, err)
			return said, err
		}
		p.Reply(said)
		return said, nil
	}
}

// Reply records the answer of a model.
func (p Pending) Reply(said Reply) { p.reply(Outcome{Class: OK}, &said, nil) }

// Break records that a model's answer broke off: said is what the program had got
// of it by then. The zero Reply is a failure before the first word.
func (p Pending) Break(o Outcome, said Reply, err error) {
	if said.Text == "" && len(said.Calls) == 0 {
		p.Answer(o, nil, err)
		return
	}
	p.reply(o, &said, err)
}

// Say records a text that the user of the program is shown while its action
// runs: a message, or a piece of a stream. Pieces are joined as they are.
func (r *Recorder) Say(ctx context.Context, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.mark(ctx, KindSay)
	e.Result = r.hide(quoteJSON(text))
}

// clone is a copy that shares nothing with the program's own.
func (p *Prompt) clone() *Prompt {
	c := &Prompt{Messages: slices.Clone(p.Messages), Tools: slices.Clone(p.Tools), Tokens: p.Tokens}
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Calls, m.Results = slices.Clone(m.Calls), slices.Clone(m.Results)
	}
	return c
}

func (s *Reply) clone() *Reply {
	c := *s
	c.Calls = slices.Clone(s.Calls)
	return &c
}

// KeepText is the path by which a [Recorder]'s Keep is asked about the texts of a
// conversation.
const KeepText = "text"

// hidePrompt redacts a copy.
func (r *Recorder) hidePrompt(p *Prompt) *Prompt {
	if p == nil || r.Clear {
		return p
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		m.Text = r.hideText(KeepText, m.Text)
		r.hideCalls(m.Calls)
		for n := range m.Results {
			res := &m.Results[n]
			res.ID, res.Text = r.hideText(KeepCallID, res.ID), r.hideText(KeepText, res.Text)
		}
	}
	return p
}

func (r *Recorder) hideReply(s *Reply) *Reply {
	if s == nil || r.Clear {
		return s
	}
	s.Text = r.hideText(KeepText, s.Text)
	r.hideCalls(s.Calls)
	return s
}

func (r *Recorder) hideCalls(calls []ToolCall) {
	for i := range calls {
		c := &calls[i]
		c.ID, c.Args = r.hideText(KeepCallID, c.ID), string(r.hide(Canonical([]byte(c.Args))))
	}
}

// promptField and replyField read and write the two sides of a turn as JSON.
func promptField() field[Event] {
	return structField("prompt", func(e *Event) **Prompt { return &e.Prompt })
}

func replyField() field[Event] {
	return structField("reply", func(e *Event) **Reply { return &e.Reply })
}

func structField[T any](name string, at func(*Event) **T) field[Event] {
	return field[Event]{
		name: name,
		zero: func(e *Event) bool { return *at(e) == nil },
		put: func(b []byte, e *Event) []byte {
			raw, _ := json.Marshal(*at(e)) // plain data
			return append(b, raw...)
		},
		take: func(e *Event, raw json.RawMessage) error {
			if err := uniqueNames(raw); err != nil {
				return err
			}
			v := new(T)
			if err := strictly(raw, v); err != nil {
				return err
			}
			*at(e) = v
			return nil
		},
	}
}
