package trace_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestActionsTellWhatTheCallerSaw(t *testing.T) {
	tr, _ := deafTool()
	a := tr.Actions()[0]
	at := a.Attempts[0]
	require.Equal(t, trace.Timeout, at.Outcome.Class, "an interrupt counts before a later answer")
	require.Equal(t, trace.OK, at.Answer.Class)
	require.Equal(t, 5*time.Second, at.End)
	require.Equal(t, 5*time.Second, at.Interrupted)
	require.Equal(t, 8*time.Second, at.Answered)
	require.Equal(t, 5, at.AnswerEvent)
	require.Equal(t, []int{4}, a.Effects)
	require.Equal(t, 3, a.EndEvent)
	require.Equal(t, 1, a.Cause)
}

func TestASuccessWithOtherArgumentsBeginsASeries(t *testing.T) {
	tr, _ := pages()
	a := tr.Actions()[0]
	require.Len(t, a.Series, 2)
	require.Len(t, a.Series[0].Attempts, 1)
	require.Len(t, a.Series[1].Attempts, 2)
	require.Equal(t, 2, a.Attempts[2].N, "after a failure, other arguments are drift within the series")
	require.Zero(t, a.Attempts[1].Gap)
	require.Equal(t, time.Second, a.Attempts[2].Gap)
}

// The items of a batch are asked for at once; the one that fails is retried.
func TestCallsAtOnceWithOtherArgumentsAreSeriesOfTheirOwn(t *testing.T) {
	c := newScript()
	ask := func(item string) int { return c.call(trace.Event{Tool: "look", Args: trace.Marshal(item)}) }
	one, two, three := ask("1"), ask("2"), ask("3")
	c.at = s
	c.answer("", "look", one, fine, "a")
	c.answer("", "look", two, unavailable, "busy")
	c.answer("", "look", three, fine, "c")
	c.at = 2 * s
	two = ask("2")
	c.answer("", "look", two, fine, "b")
	a := c.Trace.Actions()[0]
	require.Len(t, a.Series, 3)
	require.Equal(t, []int{1, 1, 1, 2}, []int{a.Attempts[0].N, a.Attempts[1].N, a.Attempts[2].N, a.Attempts[3].N})
	require.Equal(t, s, a.Attempts[3].Gap)
	require.Len(t, a.Series[1].Attempts, 2)
	text := c.Trace.Timeline()
	require.Contains(t, text, "look 2.2  call       same arguments · 1s later")
	require.NotContains(t, text, "CHANGED")
}

func TestANeedlessCallStaysInItsSeries(t *testing.T) {
	c := newScript()
	for range 2 {
		n := c.call(trace.Event{Tool: "weather"})
		c.answer("", "weather", n, fine, "19")
	}
	a := c.Trace.Actions()[0]
	require.Len(t, a.Series, 1)
	require.Equal(t, 2, a.Attempts[1].N)
}

func TestOverlappingAttemptsHaveANegativeGap(t *testing.T) {
	c := newScript()
	a := c.call(trace.Event{Tool: "weather"})
	c.at = s
	b := c.call(trace.Event{Tool: "weather"})
	c.at = 3 * s
	c.answer("", "weather", a, unavailable, "busy")
	c.answer("", "weather", b, fine, "19")
	require.Equal(t, -2*s, c.Trace.Actions()[0].Attempts[1].Gap)
	require.Contains(t, c.Trace.Timeline(), "before the answer to the one before")
}

func TestActionsAreComputedOnce(t *testing.T) {
	tr, _ := overlapping()
	require.Same(t, &tr.Actions()[0], &tr.Actions()[0])
	require.Empty(t, (&trace.Trace{}).Actions())
}

// worldGen draws traces with few names, so that things meet: many actions,
// many tools, sparse call numbers, calls that are never answered.
func worldGen() *rapid.Generator[*trace.Trace] {
	return rapid.Custom(func(t *rapid.T) *trace.Trace {
		// The two ends matter: one of each, and more than are searched one by one.
		actions := rapid.SampledFrom([]int{1, 2, 20}).Draw(t, "actions")
		tools := rapid.SampledFrom([]int{1, 2, 20}).Draw(t, "tools")
		step := rapid.SampledFrom([]int{1, 1, 1000}).Draw(t, "step")
		kinds := rapid.OneOf(rapid.Just(trace.KindCall), rapid.Just(trace.KindAnswer), rapid.Map(enumGen(trace.KindCalm-1), func(k trace.Kind) trace.Kind { return k + 1 }))
		tr := &trace.Trace{}
		var open []trace.Event
		call := 0
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			e := trace.Event{
				At:     time.Duration(len(tr.Events)),
				Kind:   kinds.Draw(t, "kind"),
				Action: fmt.Sprint("a", rapid.IntRange(1, actions).Draw(t, "action")),
			}
			switch e.Kind {
			case trace.KindCall:
				call += step
				e.Call, e.Tool = call, fmt.Sprint("t", rapid.IntRange(1, tools).Draw(t, "tool"))
				e.Args = trace.Marshal(rapid.IntRange(1, 2).Draw(t, "args"))
				open = append(open, e)
			case trace.KindAnswer, trace.KindInterrupt, trace.KindEffect:
				if len(open) == 0 {
					continue
				}
				o := open[rapid.IntRange(0, len(open)-1).Draw(t, "of")]
				e.Call, e.Action, e.Tool = o.Call, o.Action, o.Tool
				e.Outcome.Class = rapid.SampledFrom([]trace.Class{trace.OK, trace.Transient}).Draw(t, "class")
			case trace.KindWait:
				e.Wait = 1
			}
			tr.Events = append(tr.Events, e)
		}
		return tr
	})
}

// plainAction is an action as the definition has it, found the slow way.
type plainAction struct {
	Name                                                string
	Calls, N                                            []int
	Gaps, Planned                                       []time.Duration
	Classes                                             []trace.Class
	Effects, Published, Observed, Hits, Waits, Troubles []int
}

func plainActions(events []trace.Event) []plainAction {
	var all []plainAction
	for _, e := range events {
		known := e.Kind == trace.KindAnswer || e.Kind == trace.KindInterrupt || e.Kind == trace.KindCalm
		for _, a := range all {
			known = known || a.Name == e.Action
		}
		if !known {
			all = append(all, plainAction{Name: e.Action})
		}
	}
	for i := range all {
		all[i].fill(events)
	}
	return all
}

func (a *plainAction) fill(events []trace.Event) {
	planned := time.Duration(0)
	var strands []*strand
	for i, e := range events {
		if e.Action != a.Name {
			continue
		}
		switch e.Kind {
		case trace.KindWait:
			a.Waits, planned = append(a.Waits, i), planned+e.Wait
		case trace.KindEffect:
			a.Effects = append(a.Effects, i)
		case trace.KindPublish:
			a.Published = append(a.Published, i)
		case trace.KindObservation:
			a.Observed = append(a.Observed, i)
		case trace.KindHit:
			a.Hits = append(a.Hits, i)
		case trace.KindHang, trace.KindLeak, trace.KindPanic, trace.KindSpin:
			a.Troubles = append(a.Troubles, i)
		case trace.KindCall:
			n, gap := 1, time.Duration(0)
			s := strandOf(strands, events, i)
			if s == nil {
				s = &strand{}
				strands = append(strands, s)
			} else {
				seen := seenOf(events, s.last.Call)
				if seen == nil || seen.Outcome.Class != trace.OK || trace.SameArgs(s.last.Args, e.Args) {
					n = s.n + 1
					if seen != nil {
						gap = e.At - seen.At
					}
				}
			}
			s.n, s.last = n, &events[i]
			class := trace.Class(0)
			if seen := seenOf(events, e.Call); seen != nil {
				class = seen.Outcome.Class
			}
			a.Calls, a.N, a.Gaps = append(a.Calls, e.Call), append(a.N, n), append(a.Gaps, gap)
			a.Classes, a.Planned, planned = append(a.Classes, class), append(a.Planned, planned), 0
		}
	}
}

// A strand is a chain of calls of one tool that follow each other.
type strand struct {
	last *trace.Event
	n    int
}

// strandOf is the strand that call i continues; nil: none.
func strandOf(strands []*strand, events []trace.Event, i int) *strand {
	e := events[i]
	var good, free *strand
	for _, s := range strands {
		if s.last.Tool != e.Tool {
			continue
		}
		seen := seenOf(events, s.last.Call)
		switch {
		case trace.SameArgs(s.last.Args, e.Args):
			return s
		case seen == nil:
			free = s
		case seen.At > e.At: // under way
		case seen.Outcome.Class == trace.OK:
			good = s
		default:
			free = s
		}
	}
	if good != nil {
		return good
	}
	return free
}

// seenOf is the event in which the caller saw the outcome of a call.
func seenOf(events []trace.Event, call int) *trace.Event {
	var under *trace.Event
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == trace.KindCall && e.Call == call:
			under = e
		case (e.Kind == trace.KindCrash || e.Kind == trace.KindHandback) && under != nil && e.Action == under.Action:
			return nil // nobody lived to see it
		}
		if e := &events[i]; e.Call == call && (e.Kind == trace.KindAnswer || e.Kind == trace.KindInterrupt) {
			return e
		}
	}
	return nil
}

func TestActionsAreWhatTheirDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := worldGen().Draw(t, "trace")
		var got []plainAction
		for _, a := range tr.Actions() {
			p := plainAction{Name: a.Name, Effects: a.Effects, Published: a.Published, Observed: a.Observed, Hits: a.Hits, Waits: a.Waits, Troubles: a.Troubles}
			inSeries := 0
			for _, at := range a.Attempts {
				p.Calls, p.N, p.Gaps = append(p.Calls, at.Call), append(p.N, at.N), append(p.Gaps, at.Gap)
				p.Classes, p.Planned = append(p.Classes, at.Outcome.Class), append(p.Planned, at.Planned)
			}
			for _, s := range a.Series {
				inSeries += len(s.Attempts)
				for i, at := range s.Attempts {
					if at.N != i+1 || at.Tool != s.Tool {
						t.Fatalf("attempt %d of a series of %s is number %d of %s", i+1, s.Tool, at.N, at.Tool)
					}
				}
			}
			if inSeries != len(a.Attempts) {
				t.Fatalf("%d attempts, and %d in series", len(a.Attempts), inSeries)
			}
			got = append(got, p)
		}
		want := plainActions(tr.Events)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}
