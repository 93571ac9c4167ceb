package scripted

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// Reply is the model: a [trace.ModelFunc] to hand to the code under test, whose
// reply comes whole. A call beyond the script gets an [*Error] with
// [ErrExtraCall]. A call whose context has ended before it arrives takes its turn
// and gets the context's error, unless the turn is Deaf.
func (m *Model) Reply(ctx context.Context, shown trace.Prompt) (trace.Reply, error) {
	m.t.Helper()
	if err := m.refuse(ctx, shown); err != nil {
		return trace.Reply{}, err
	}
	said, err := m.answer(ctx, shown, m.whole)
	return said, bare(err)
}

// Stream is the model as a [trace.StreamFunc], whose reply comes in pieces: each
// word of a text, with the white space behind it; and of each call its id and
// tool, and then its arguments in two halves. They come in the order in which the
// turn was written. An error of yield ends the stream and is returned; it is
// written down as cancelled, with what had come by then. yield runs in the
// caller's goroutine.
func (m *Model) Stream(ctx context.Context, shown trace.Prompt, yield func(trace.Piece) error) (trace.Reply, error) {
	m.t.Helper()
	if err := m.refuse(ctx, shown); err != nil {
		return trace.Reply{}, err
	}
	said, err := m.stream(ctx, shown, yield)
	return said, bare(err)
}

func (m *Model) stream(ctx context.Context, shown trace.Prompt, yield func(trace.Piece) error) (trace.Reply, error) {
	m.t.Helper()
	return m.answer(ctx, shown, func(ctx context.Context, a arrival[turn]) (trace.Reply, error) {
		return m.inPieces(ctx, a, yield)
	})
}

// A failed turn has an error, and how the script says that it reads.
type failed struct {
	err error
	o   trace.Outcome
}

func (f *failed) Error() string          { return f.err.Error() }
func (f *failed) Unwrap() error          { return f.err }
func (f *failed) Outcome() trace.Outcome { return f.o }

// bare is the error that the caller gets.
func bare(err error) error {
	if f, ok := err.(*failed); ok {
		return f.err
	}
	return err
}

// answer takes the next turn and lets give hand on the reply that is due. The error
// of a turn that was taken is a *failed.
func (m *Model) answer(ctx context.Context, shown trace.Prompt, give func(context.Context, arrival[turn]) (trace.Reply, error)) (trace.Reply, error) {
	m.t.Helper()
	a := m.arrive(ctx, trace.Call{Prompt: &shown}, func() { m.prompts = append(m.prompts, double.Clone(shown)) })
	if a.step == nil {
		return trace.Reply{}, m.extra(a, m.shown("shown last", lastOf(shown)))
	}
	say := &a.step.Answer
	if class := a.step.Timing.Play(ctx, m.waits(), a.Pending); class != 0 {
		return turnFails(a, trace.Outcome{Class: class}, ctx.Err())
	}
	switch {
	case say.panics:
		a.Answer(trace.Outcome{Class: trace.Unknown}, nil, fmt.Errorf("panic: %v", say.value))
		panic(say.value)
	case say.do != nil:
		m.run(ctx, shown, a, say)
	}
	if say.err != nil {
		return turnFails(a, say.outcome, say.err)
	}
	m.number(say)
	return give(ctx, a)
}

// turnFails answers with a failure before the first word.
func turnFails(a arrival[turn], o trace.Outcome, err error) (trace.Reply, error) {
	a.Answer(o, nil, err)
	return trace.Reply{}, &failed{err, o}
}

// run lets the turn's function make the reply.
func (m *Model) run(ctx context.Context, shown trace.Prompt, a arrival[turn], say *turn) {
	returned := false
	defer a.guard(&returned)
	said, err := say.do(ctx, double.Clone(shown))
	returned = true
	if err != nil {
		say.err, say.outcome = err, m.classify(err)
		return
	}
	say.parts, say.stop, say.tokens = partsOf(said), said.Stop, said.Tokens
}

// number gives the calls of a reply their ids.
func (m *Model) number(say *turn) {
	say.parts = slices.Clone(say.parts) // other calls may take the turn too
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range say.parts {
		c := say.parts[i].call
		if c == nil || c.ID != "" || say.anonymous {
			continue
		}
		m.ids++
		say.parts[i].call = &trace.ToolCall{ID: "call_" + strconv.Itoa(m.ids), Tool: c.Tool, Args: c.Args}
	}
}

// reply joins the parts.
func (t *turn) reply() trace.Reply {
	said := trace.Reply{Stop: t.stop, Tokens: t.tokens}
	for _, p := range t.parts {
		said.Text += p.text
		if p.call != nil {
			said.Calls = append(said.Calls, *p.call)
		}
	}
	return said
}

// pieces are the parts as a stream.
func (t *turn) pieces() (list []trace.Piece) {
	calls := 0
	for _, p := range t.parts {
		list = append(list, double.TextPieces(p.text)...)
		if p.call != nil {
			list = append(list, double.CallPieces(calls, *p.call)...)
			calls++
		}
	}
	return list
}

// whole hands the reply on at once, or nothing of it where its stream breaks.
func (m *Model) whole(ctx context.Context, a arrival[turn]) (trace.Reply, error) {
	say := &a.step.Answer
	switch {
	case say.stream.Stall:
		class := double.Timing{Hang: true, Deaf: a.step.Timing.Deaf}.Play(ctx, m.waits(), a.Pending)
		return turnFails(a, trace.Outcome{Class: class}, ctx.Err())
	case say.stream.Break:
		return turnFails(a, trace.Outcome{Class: trace.Reset}, io.ErrUnexpectedEOF)
	}
	said := say.reply()
	a.Reply(said)
	return said, nil
}

// inPieces hands the reply on piece by piece. Beside an error it returns what
// came.
func (m *Model) inPieces(ctx context.Context, a arrival[turn], yield func(trace.Piece) error) (came trace.Reply, err error) {
	m.t.Helper()
	say := &a.step.Answer
	pieces := say.pieces()
	m.holdCut(a.step, len(pieces))
	returned := false
	defer func() {
		if !returned {
			a.Break(trace.Outcome{Class: trace.Unknown}, came, unreturned)
		}
	}()
	stream := say.stream
	stream.Deaf = a.step.Timing.Deaf
	class, err := stream.Play(ctx, m.waits(), a.Pending, pieces, yield, &came)
	returned = true
	if err != nil {
		o := trace.Outcome{Class: class}
		a.Break(o, came, err)
		return came, &failed{err, o}
	}
	said := say.reply()
	a.Reply(said)
	return said, nil
}

// holdCut reports a stream that is to end behind more pieces than there are.
func (m *Model) holdCut(s *double.Step[turn], pieces int) {
	m.t.Helper()
	stream, word := s.Answer.stream, "Cut"
	if stream.Stall {
		word = "Stall"
	}
	if (stream.Break || stream.Stall) && stream.After > pieces {
		m.misuse(fmt.Sprintf("%s(%d) on %s", word, stream.After, s.Name), s.Pos,
			fmt.Sprintf("the reply comes in %s; give 0 to %d", plural(pieces, "piece"), pieces))
	}
}

// refuse answers a conversation that the API of a provider would not take.
func (m *Model) refuse(ctx context.Context, shown trace.Prompt) error {
	if m.lenient {
		return nil
	}
	complaints := double.Complaints(shown)
	if len(complaints) == 0 {
		return nil
	}
	m.t.Helper()
	return m.refused(ctx, &shown, complaints[0].String(), complaints[0].Advice, others(complaints[1:]))
}

// refused writes down and reports a call whose conversation is refused, and returns
// its error. Nil shown: it could not be read.
func (m *Model) refused(ctx context.Context, shown *trace.Prompt, why, advice, also string) error {
	m.t.Helper()
	m.mu.Lock()
	if shown == nil {
		m.prompts = append(m.prompts, trace.Prompt{})
	} else {
		m.prompts = append(m.prompts, double.Clone(*shown))
	}
	p := m.rec.Call(ctx, trace.Call{Tool: m.name, Role: m.role, Prompt: shown})
	call, broken, due := len(m.prompts), m.broken, m.due()
	m.spare = true // turns that are not reached follow from it
	m.mu.Unlock()

	text := fmt.Sprintf("scripted: %s: %s in call %d: %s", m.name, ErrConversation, call, why)
	if !broken {
		m.door.Report(m.id+"conversation", "%s%s\n\tIt came to %s.\n\tTo do: %s; or allow it with Lenient.", text, also, due, advice)
	}
	err := &Error{Tool: m.name, Call: call, Text: text, Err: ErrConversation}
	p.Answer(err.Outcome(), nil, err)
	return err
}

// due is what a call finds in the script. m.mu is held.
func (m *Model) due() string {
	if next := m.script.Next(); next != nil {
		return fmt.Sprintf("%s at %s", next.Name, next.Pos)
	}
	return "the end of the script that was made at " + m.made.String()
}

// others are complaints beside the first one, a line each.
func others(complaints []double.Complaint) string {
	const most = 4
	var b strings.Builder
	for i, c := range complaints {
		if i == most {
			fmt.Fprintf(&b, "\n\tand %d more", len(complaints)-most)
			break
		}
		fmt.Fprintf(&b, "\n\talso %s", c)
	}
	return b.String()
}

// lastOf is the newest message of a conversation in a line.
func lastOf(p trace.Prompt) string {
	if len(p.Messages) == 0 {
		return "nothing"
	}
	m := &p.Messages[len(p.Messages)-1]
	text := m.Text
	for _, r := range m.Results {
		if text != "" {
			text += " "
		}
		text += r.Text
	}
	return string(m.From) + ": " + strconv.Quote(text)
}
