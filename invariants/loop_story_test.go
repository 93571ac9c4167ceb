package invariants_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// A loopStory is a run of a loop, told event by event on a recorder. It keeps the
// conversation as a right loop does, and time moves only where it says so.
type loopStory struct {
	r    *trace.Recorder
	time *clock.Mock
	root context.Context
	ctx  context.Context
	op   *trace.Op
	stop context.CancelFunc

	prompt trace.Prompt
	open   map[string]trace.Pending // calls that are not answered, by tool
}

// requested begins a run with a request of the user.
func requested(text string) *loopStory {
	c := clock.NewMock()
	s := &loopStory{r: &trace.Recorder{Clear: true, Clock: c, Key: "key"}, time: c, root: context.Background(), open: map[string]trace.Pending{}}
	s.prompt = trace.Prompt{Tools: []string{"weather", "search", "pay", "mail"}, Messages: []trace.Message{
		{From: trace.FromSystem, Text: "You are an assistant."}, {From: trace.FromUser, Text: text},
	}}
	s.ctx, s.stop = context.WithCancel(s.root)
	s.ctx, s.op = s.r.Begin(s.ctx, "run")
	return s
}

func (s *loopStory) after(d time.Duration) *loopStory { s.time.Add(d); return s }

// shown changes what the model is shown from here on.
func (s *loopStory) shown(change func(*trace.Prompt)) *loopStory { change(&s.prompt); return s }

// offers sets the tools that the prompts offer.
func (s *loopStory) offers(tools ...string) *loopStory {
	return s.shown(func(p *trace.Prompt) { p.Tools = tools })
}

// model is a turn: the reply is appended to the conversation.
func (s *loopStory) model(text string, calls ...trace.ToolCall) *loopStory {
	return s.says(trace.Reply{Text: text, Calls: calls})
}

func (s *loopStory) says(said trace.Reply) *loopStory {
	s.by("model", s.ctx, said)
	s.prompt.Messages = append(s.prompt.Messages, trace.Message{From: trace.FromModel, Text: said.Text, Calls: said.Calls})
	return s
}

func (s *loopStory) by(model string, ctx context.Context, said trace.Reply) {
	p := s.r.Call(ctx, trace.Call{Tool: model, Role: trace.RoleModel, Prompt: &s.prompt})
	p.Reply(said)
}

// modelFails is a call of the model that fails, or breaks off where it has said
// something.
func (s *loopStory) modelFails(c trace.Class, said trace.Reply, meanwhile ...string) *loopStory {
	p := s.r.Call(s.ctx, trace.Call{Tool: "model", Role: trace.RoleModel, Prompt: &s.prompt})
	for _, text := range meanwhile {
		s.r.Say(s.ctx, text)
	}
	p.Break(trace.Outcome{Class: c}, said, errors.New("model: "+c.String()))
	return s
}

// rejected is a call of the model whose API does not take the conversation.
func (s *loopStory) rejected(why string) *loopStory {
	p := s.r.Call(s.ctx, trace.Call{Tool: "model", Role: trace.RoleModel, Prompt: &s.prompt})
	p.Answer(trace.Outcome{Class: trace.Invalid, Code: trace.CodeConversation}, nil, errors.New(why))
	return s
}

// ask is a call that a model asks for.
func ask(id, tool, args string) trace.ToolCall { return trace.ToolCall{ID: id, Tool: tool, Args: args} }

// call begins a call of a tool.
func (s *loopStory) call(tool, args string) *loopStory { return s.calls(trace.Call{Tool: tool}, args) }

func (s *loopStory) calls(c trace.Call, args string) *loopStory {
	c.Args = json.RawMessage(args)
	s.open[c.Tool] = s.r.Call(s.ctx, c)
	return s
}

// answers answers the latest call of the tool.
func (s *loopStory) answers(tool string, o trace.Outcome, result string) *loopStory {
	if o.Failed() {
		text := result
		if text == "" {
			text = tool + ": " + o.Class.String()
		}
		s.open[tool].Answer(o, nil, errors.New(text))
		return s
	}
	s.open[tool].Answer(o, json.RawMessage(result), nil)
	return s
}

// tool is a call and its answer.
func (s *loopStory) tool(tool, args string, c trace.Class) *loopStory {
	return s.call(tool, args).answers(tool, trace.Outcome{Class: c}, map[bool]string{true: `"ok"`}[c == trace.OK])
}

// fails is a call that fails with a text.
func (s *loopStory) fails(tool, args string, c trace.Class, text string) *loopStory {
	return s.call(tool, args).answers(tool, trace.Outcome{Class: c}, text)
}

// agent is a task for another agent.
func (s *loopStory) agent(name, task string, c trace.Class) *loopStory {
	return s.calls(trace.Call{Tool: name, Role: trace.RoleAgent}, task).answers(name, trace.Outcome{Class: c}, "")
}

// leave is the answer to a request for leave.
func (s *loopStory) leave(tool, args string, a trace.Approval) *loopStory {
	p := s.r.Call(s.ctx, trace.ApprovalCall("owner", ask("", tool, args)))
	p.Approve(a)
	return s
}

// result shows the model what became of a call: good, or failed where the text says so.
func (s *loopStory) result(id, text string) *loopStory {
	return s.results(trace.ToolResult{ID: id, Text: text, Failed: len(text) > 0 && text[0] == '!'})
}

func (s *loopStory) results(list ...trace.ToolResult) *loopStory {
	s.prompt.Messages = append(s.prompt.Messages, trace.Message{From: trace.FromTool, Results: list})
	return s
}

// user shows the user a text.
func (s *loopStory) user(text string) *loopStory { s.r.Say(s.ctx, text); return s }

// returns ends the run with a text, quits with an error.
func (s *loopStory) returns(text string) *trace.Trace {
	return s.ends(trace.Ending{Result: trace.Marshal(text)})
}
func (s *loopStory) quits(text string) *trace.Trace {
	return s.ends(trace.Ending{Err: errors.New(text)})
}

func (s *loopStory) ends(e trace.Ending) *trace.Trace {
	s.op.End(e)
	return s.trace()
}

func (s *loopStory) trace() *trace.Trace {
	s.stop()
	return s.r.Trace()
}

// turn is one ask and its result, as a right loop does it.
func (s *loopStory) turn(n int, tool, args string, c trace.Class) *loopStory {
	id := fmt.Sprint("c", n)
	s.model("", ask(id, tool, args)).tool(tool, args, c)
	text := "ok"
	if c != trace.OK {
		text = "!" + tool + " failed: " + c.String()
	}
	return s.result(id, text)
}

// once is a policy for tools that are called once for each ask.
var once = Policy{ID: "once/v1", MaxAttempts: 1, Repeatable: true}

// ruleOf picks one rule of the contract.
func ruleOf(l Loop, p Policy, name string) Invariant {
	for _, inv := range l.Invariants(p) {
		if inv.Name == name {
			return inv
		}
	}
	panic("no rule " + name)
}
