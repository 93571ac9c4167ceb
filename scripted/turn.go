package scripted

import (
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/internal/double"
	"github.com/rehearse-go/rehearse/trace"
)

// AndSay lets the reply before it say more, behind what it says and asks for so
// far. The texts of a reply are joined as they are.
func (m *Model) AndSay(text string) *Model {
	m.t.Helper()
	return m.adds("AndSay", double.Caller(0), part{text: text})
}

// AndAsk lets the reply before it ask for one more call: Say("Let me look.").
// AndAsk("weather", args) is a text in front of a call, Ask("weather",
// args).AndAsk("tides", args) two calls at once.
func (m *Model) AndAsk(tool, args string) *Model {
	m.t.Helper()
	return m.adds("AndAsk", double.Caller(0), ask(tool, args))
}

func (m *Model) adds(name string, at double.Pos, p part) *Model {
	m.t.Helper()
	return m.changes(name, at, func(t *turn) string {
		t.parts = append(t.parts, p)
		return ""
	})
}

// ID gives the call that was written last this id, which another call may have
// too.
func (m *Model) ID(id string) *Model {
	m.t.Helper()
	return m.changes(fmt.Sprintf("ID(%q)", id), double.Caller(0), func(t *turn) string {
		last := t.parts[len(t.parts)-1].call
		switch {
		case id == "":
			return "this is no id; for calls without one use Anonymous"
		case last == nil:
			return "there is no call right before it; put it behind Ask or AndAsk"
		}
		last.ID = id
		return ""
	})
}

// Anonymous leaves the calls of the turn before it without ids, but for those of
// [Model.ID]: not every API gives them.
func (m *Model) Anonymous() *Model {
	m.t.Helper()
	return m.speaks("Anonymous", double.Caller(0), func(t *turn) string {
		t.anonymous = true
		return ""
	})
}

// Stop says why the reply before it ends: at its greatest length
// ([trace.StopLength]), perhaps within a call whose arguments then are no JSON, or
// since the provider refuses to answer ([trace.StopFilter]).
func (m *Model) Stop(why trace.Stop) *Model {
	m.t.Helper()
	return m.changes(fmt.Sprintf("Stop(%q)", why), double.Caller(0), func(t *turn) string {
		if !slices.Contains([]trace.Stop{trace.StopEnd, trace.StopLength, trace.StopFilter}, why) {
			return "give a Stop of package trace"
		}
		t.stop = why
		return ""
	})
}

// Tokens says how long the reply before it is. 0: nobody counted.
func (m *Model) Tokens(n int) *Model {
	m.t.Helper()
	return m.changes(fmt.Sprintf("Tokens(%d)", n), double.Caller(0), func(t *turn) string {
		if n < 0 {
			return "a reply has no less than nothing; give 0 or more"
		}
		t.tokens = n
		return ""
	})
}

// Hint says which wait the failure before it asks for. It changes only what is
// written down.
func (m *Model) Hint(wait time.Duration) *Model {
	m.t.Helper()
	m.modify(fmt.Sprintf("Hint(%v)", wait), double.Caller(0), func(s *double.Step[turn]) string {
		if s.Answer.err == nil && wait >= 0 {
			return "only a failure asks for a wait; put it behind Fail"
		}
		return setHint(&s.Answer.outcome, wait)
	})
	return m
}

// Times lets the turn before it answer n calls in a row, n ≥ 1.
func (m *Model) Times(n int) *Model {
	m.t.Helper()
	m.times(n, double.Caller(0))
	return m
}

// Any lets the turn before it answer every further call, none included. It is the
// last turn.
func (m *Model) Any() *Model {
	m.t.Helper()
	m.any(double.Caller(0))
	return m
}

// After lets the turn before it begin to answer after a latency. Where the context
// ends first, the answer is its error, at that instant; where both fall on the
// same instant, either may win.
func (m *Model) After(latency time.Duration) *Model {
	m.t.Helper()
	m.after(latency, double.Caller(0))
	return m
}

// Deaf lets the turn before it ignore the context: it answers at its own time,
// however late. The end of the context is written down when it comes.
func (m *Model) Deaf() *Model {
	m.t.Helper()
	m.deaf(double.Caller(0))
	return m
}

// Pace lets d go by between two pieces of the reply before it, where the program
// reads it as a stream.
func (m *Model) Pace(d time.Duration) *Model {
	m.t.Helper()
	return m.streams(fmt.Sprintf("Pace(%v)", d), double.Caller(0), func(s *double.Stream) string {
		if d < 0 {
			return "no piece comes before the one in front of it; give 0 or more"
		}
		s.Pace = d
		return ""
	})
}

// Cut lets the connection break behind n pieces of the reply before it; see
// [Model.Stream]. The error is io.ErrUnexpectedEOF, of class reset, and what came
// is written down. To a program that reads the reply whole nothing came.
func (m *Model) Cut(n int) *Model {
	m.t.Helper()
	return m.streams(fmt.Sprintf("Cut(%d)", n), double.Caller(0), func(s *double.Stream) string {
		s.Break, s.Stall, s.After = true, false, n
		return fewer(n)
	})
}

// Stall lets nothing come behind n pieces of the reply before it, until the
// context ends; see [Model.Stream]. To a program that reads the reply whole
// nothing comes.
func (m *Model) Stall(n int) *Model {
	m.t.Helper()
	return m.streams(fmt.Sprintf("Stall(%d)", n), double.Caller(0), func(s *double.Stream) string {
		s.Break, s.Stall, s.After = false, true, n
		return fewer(n)
	})
}

func fewer(n int) (advice string) {
	if n < 0 {
		return "a stream has no fewer pieces than none; give 0 or more"
	}
	return ""
}

// streams changes how the reply that was written last is streamed.
func (m *Model) streams(name string, at double.Pos, change func(*double.Stream) (advice string)) *Model {
	m.t.Helper()
	return m.speaks(name, at, func(t *turn) string { return change(&t.stream) })
}

// changes changes the reply that was written last, of which a function makes all.
func (m *Model) changes(name string, at double.Pos, change func(*turn) (advice string)) *Model {
	m.t.Helper()
	m.modify(name, at, func(s *double.Step[turn]) string {
		switch {
		case s.Answer.do != nil:
			return "a function makes the whole reply; let it do this"
		case s.Answer.parts == nil:
			return "only a reply has it; put it behind Say, Ask or Turn"
		}
		return change(&s.Answer)
	})
	return m
}

// speaks changes the turn that was written last, which must be a reply, or a
// function that makes one.
func (m *Model) speaks(name string, at double.Pos, change func(*turn) (advice string)) *Model {
	m.t.Helper()
	m.modify(name, at, func(s *double.Step[turn]) string {
		if s.Answer.parts == nil && s.Answer.do == nil {
			return "only a reply has it; put it behind Say, Ask, Turn or Do"
		}
		return change(&s.Answer)
	})
	return m
}
