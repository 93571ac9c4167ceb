package scripted

import (
	"context"
	"errors"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// A Model is a double of a model whose turns a person writes down. Its script is
// a strict queue, as that of a [Tool]: each call takes the next turn, a call after
// the last one is reported, and so is a turn that no call has taken by the end of
// the test.
//
// A turn begins with [Model.Say], [Model.Ask], [Model.Turn], [Model.Fail],
// [Model.Hang], [Model.Panic] or [Model.Do], and the turn that was written last is
// changed by [Model.AndSay], [Model.AndAsk], [Model.ID], [Model.Anonymous],
// [Model.Stop], [Model.Tokens], [Model.Hint], [Model.Times], [Model.Any],
// [Model.After], [Model.Deaf], and for streams [Model.Pace], [Model.Cut] and
// [Model.Stall].
//
// The code under test gets [Model.Reply], [Model.Stream] or the HTTP client of
// [Model.Client]. What it shows the model is held to what the APIs of the providers
// take; see [Model.Lenient].
//
// Write the script before the first call. The calls may come from several
// goroutines at once. Only NewModel makes a Model.
type Model struct {
	desk[turn]
	lenient bool
	ids     int // how many calls have been given one
	prompts []trace.Prompt
}

// A turn is what a step of a model does.
type turn struct {
	outcome   trace.Outcome // of err
	err       error
	parts     []part // of a reply; nil: this turn is none
	stop      trace.Stop
	tokens    int
	anonymous bool            // its calls get no ids
	do        trace.ModelFunc // nil: the parts are the reply
	panics    bool
	value     any // of the panic
	stream    double.Stream
}

// A part of a reply is a text or a call, in the order in which they were written.
type part struct {
	text string
	call *trace.ToolCall // nil: it is the text
}

// NewModel returns a model without turns, of the name "model"; see [Model.Named].
// It writes down its calls in clear in a recorder of its own; see [Model.Into].
func NewModel(t TB) *Model {
	t.Helper()
	m := &Model{}
	m.desk = desk[turn]{
		name: "model", role: trace.RoleModel, made: double.Caller(0), t: t, rec: &trace.Recorder{Clear: true},
	}
	m.door = double.NewDoor(t, m.finish)
	return m
}

// Named gives the model another name, which tells it from others in a trace.
func (m *Model) Named(name string) *Model {
	m.name = name
	return m
}

// Into lets the model write into r, which tools and other doubles may share. The
// clock of r is then the model's too.
func (m *Model) Into(r *trace.Recorder) *Model {
	m.t.Helper()
	m.into(r, double.Caller(0))
	return m
}

// Clock lets latencies run on c. Nil is the recorder's clock, which by default
// is real time and virtual in a synctest bubble.
func (m *Model) Clock(c clock.Clock) *Model {
	m.clock = c
	return m
}

// Lenient lets the model take any conversation. Without it one that the APIs of
// the large providers have in common to refuse is reported, and the call fails
// with an [*Error] with [ErrConversation], of class invalid, and takes no turn:
// a call without its result or with two, a result without its call, an empty
// message, a beginning that is not the user's behind that of the system, an end
// that is the model's own. It is for code that shows the model only what is new,
// and leaves the rest to the provider to remember. It comes before [Model.Client].
func (m *Model) Lenient() *Model {
	m.lenient = true
	return m
}

// AllowUnused lets turns stay unused without a report.
func (m *Model) AllowUnused() *Model {
	m.spare = true
	return m
}

// Say adds a turn in which the model says text and asks for nothing, unless
// [Model.AndAsk] follows. An empty text is an empty reply.
func (m *Model) Say(text string) *Model {
	m.t.Helper()
	return m.step("Say", double.Caller(0), turn{parts: []part{{text: text}}})
}

// Ask adds a turn in which the model asks for a call of the tool. The arguments
// are what it writes, JSON or not; nothing holds the tool to those that there are.
// The call gets an id: call_1, call_2 and so on, over all that the model asks for;
// see [Model.ID].
func (m *Model) Ask(tool, args string) *Model {
	m.t.Helper()
	return m.step("Ask", double.Caller(0), turn{parts: []part{ask(tool, args)}})
}

func ask(tool, args string) part { return part{call: &trace.ToolCall{Tool: tool, Args: args}} }

// Turn adds a turn that is the whole reply, text before calls. Calls without an id
// get one, as those of [Model.Ask].
func (m *Model) Turn(said trace.Reply) *Model {
	m.t.Helper()
	return m.step("Turn", double.Caller(0), turn{parts: partsOf(said), stop: said.Stop, tokens: said.Tokens})
}

// partsOf is a reply in parts, with a text in front.
func partsOf(said trace.Reply) []part {
	parts := []part{{text: said.Text}}
	for _, c := range said.Calls {
		parts = append(parts, part{call: &c})
	}
	return parts
}

// Fail adds a turn that fails with err, as the provider's API does, and says how a
// caller should read that. Hint, code and advice are read off err by
// [trace.Classify].
func (m *Model) Fail(class trace.Class, err error) *Model {
	m.t.Helper()
	at := double.Caller(0)
	outcome, err := m.fails("Fail", at, class, err, false, "Say")
	return m.step("Fail", at, turn{outcome: outcome, err: err})
}

// Hang adds a turn that ends with the context's error once the context ends, and
// never where it does not. With [Model.Deaf] it never ends: its goroutine stays
// behind.
func (m *Model) Hang() *Model {
	m.t.Helper()
	m.add("Hang", double.Caller(0), turn{}, double.Timing{Hang: true})
	return m
}

// Panic adds a turn that panics with value in the caller's goroutine. It is
// written down as an answer of class unknown.
func (m *Model) Panic(value any) *Model {
	m.t.Helper()
	return m.step("Panic", double.Caller(0), turn{panics: true, value: value})
}

// Do adds a turn that f answers, which sees what the model is shown: a model that
// follows what a tool says, such as [Obedient], or one that looks whether a
// message is there. Calls without an id get one. f runs in the caller's goroutine,
// so it must not call FailNow or Fatal; [Model.Deaf] changes nothing for the
// context that f gets.
func (m *Model) Do(f trace.ModelFunc) *Model {
	m.t.Helper()
	at := double.Caller(0)
	if f == nil {
		m.misuse("Do(nil)", at, "there is no function to call; give one")
		f = func(context.Context, trace.Prompt) (trace.Reply, error) {
			return trace.Reply{}, errors.New("scripted: Do(nil)")
		}
	}
	return m.step("Do", at, turn{do: f})
}

func (m *Model) step(name string, at double.Pos, t turn) *Model {
	m.t.Helper()
	m.add(name, at, t, double.Timing{})
	return m
}

// Prompts returns what the model was shown in each call, in order.
func (m *Model) Prompts() []trace.Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return double.Clone(m.prompts)
}

// Trace returns what has been written down so far.
func (m *Model) Trace() *trace.Trace { return m.rec.Trace() }
