package faultsim

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// A header says whole seconds. A schedule that shrank to a microsecond would
// ask for one thing, and the timeline would show another.
func TestHintsShrinkInWholeSeconds(t *testing.T) {
	s := One(Throttle(90 * time.Second))
	tried := 0
	rounder(s, 0, func(change step) bool {
		hint := with(s, change).Actions[0].Faults[Main][0].Hint
		require.Zero(t, hint%time.Second, "%v", hint)
		tried++
		return true
	})
	require.NotZero(t, tried)
}

// An outage that is there to make attempts of one action fail is told as failures. Of
// several actions, or of many attempts, it is plainer as it is.
func TestOutageIsToldAsFailures(t *testing.T) {
	told := func(attempts, actions int) (list []Schedule) {
		s := Schedule{Actions: make([]Plan, actions), Outages: []Outage{{Tool: "weather", To: time.Hour, Class: trace.Timeout}}}
		d := &drawer{tools: []drawnTool{{name: "weather", most: attempts}}}
		simplerSpells(s, d, func(change step) bool {
			list = append(list, with(s, change))
			return true
		})
		return list
	}
	failures := func(list ...Fault) Schedule {
		return Schedule{Actions: []Plan{{Faults: map[string][]Fault{"weather": list}}}, Outages: []Outage{}}
	}
	timeout := Fault{Class: trace.Timeout}
	require.Equal(t, []Schedule{failures(timeout, timeout), failures(timeout)}, told(2, 1)[1:])
	for _, other := range [][]Schedule{told(2, 2), told(fewFailures+1, 1), told(-1, 1)} {
		require.Len(t, other, 1, "only the one without it")
	}
}

// Thousands of the same fault are made plainer and rounder together, and not one by one.
func TestALongStreakIsChangedTogether(t *testing.T) {
	slow := Fault{Class: trace.Timeout, Latency: 1234 * time.Millisecond}
	plain := Fault{Class: trace.Transient, Latency: slow.Latency}
	d := &drawer{tools: []drawnTool{{name: Main, retried: []Fault{{Class: trace.Transient}, {Class: trace.Timeout}}}}}
	streak := func(f Fault, n int) []Fault { return slices.Repeat([]Fault{f}, n) }
	lists := func(s Schedule) (all [][]Fault) {
		for change := range steps(s, d) {
			all = append(all, with(s, change).Actions[0].Faults[Main])
		}
		return all
	}
	const n = 5000
	long := lists(One(append([]Fault{plain}, streak(slow, n)...)...))
	require.Less(t, len(long), 100)
	require.Contains(t, long, append([]Fault{plain}, streak(plain, n)...))
	require.Contains(t, long, append([]Fault{plain}, streak(Fault{Class: trace.Timeout}, n)...), "without its latency")
	require.Contains(t, long, append([]Fault{plain}, streak(Fault{Class: trace.Timeout, Latency: time.Second}, n)...))
	require.Contains(t, lists(One(slow, slow)), []Fault{slow, plain}, "a few are changed one by one")
}
