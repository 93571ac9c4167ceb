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
		kinds := rapid.OneOf(rapid.Just(trace.KindCall), rapid.Just(trace.KindAnswer), rapid.Map(enumGen(trace.KindSpin-1), func(k trace.Kind) trace.Kind { return k + 1 }))
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
	Name                                string
	Calls, N                            []int
	Gaps, Planned                       []time.Duration
	Classes                             []trace.Class
	Effects, Published, Waits, Troubles []int
}

func plainActions(events []trace.Event) []plainAction {
	var all []plainAction
	for _, e := range events {
		known := e.Kind == trace.KindAnswer || e.Kind == trace.KindInterrupt
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
	series := map[string]int{}
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
		case trace.KindHang, trace.KindLeak, trace.KindPanic, trace.KindSpin:
			a.Troubles = append(a.Troubles, i)
		case trace.KindCall:
			n, gap := 1, time.Duration(0)
			if before := latest(events[:i], e); before != nil {
				seen := seenOf(events, before.Call)
				if seen == nil || seen.Outcome.Class != trace.OK || trace.SameArgs(before.Args, e.Args) {
					n = series[e.Tool] + 1
					if seen != nil {
						gap = e.At - seen.At
					}
				}
			}
			series[e.Tool] = n
			class := trace.Class(0)
			if seen := seenOf(events, e.Call); seen != nil {
				class = seen.Outcome.Class
			}
			a.Calls, a.N, a.Gaps = append(a.Calls, e.Call), append(a.N, n), append(a.Gaps, gap)
			a.Classes, a.Planned, planned = append(a.Classes, class), append(a.Planned, planned), 0
		}
	}
}

// latest is the call of the same tool and action before e.
func latest(events []trace.Event, e trace.Event) *trace.Event {
	for i := len(events) - 1; i >= 0; i-- {
		if b := &events[i]; b.Kind == trace.KindCall && b.Tool == e.Tool && b.Action == e.Action {
			return b
		}
	}
	return nil
}

// seenOf is the event in which the caller saw the outcome of a call.
func seenOf(events []trace.Event, call int) *trace.Event {
	for i := range events {
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
			p := plainAction{Name: a.Name, Effects: a.Effects, Published: a.Published, Waits: a.Waits, Troubles: a.Troubles}
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
