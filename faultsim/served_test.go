package faultsim_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

type (
	parcel struct{ To string }
	label  struct{ Number int }
)

var errOtherParcel = errors.New("label: the key belongs to another parcel")

// A labeller prints one label for each key. It is right.
type labeller struct {
	print func(context.Context, parcel) (label, error)
	mu    sync.Mutex
	kept  map[string]*printed
}

type printed struct {
	what parcel
	done chan struct{}
	out  label
	err  error
}

func (l *labeller) label(ctx context.Context, key string, p parcel) (label, error) {
	l.mu.Lock()
	e := l.kept[key]
	mine := e == nil
	if mine {
		e = &printed{what: p, done: make(chan struct{})}
		l.kept[key] = e
	}
	l.mu.Unlock()
	if e.what != p {
		return label{}, errOtherParcel
	}
	if mine {
		if e.out, e.err = l.print(ctx, p); errors.Is(e.err, errBusyPrinter) {
			l.mu.Lock()
			delete(l.kept, key)
			l.mu.Unlock()
		}
		close(e.done)
	}
	select {
	case <-e.done:
		return e.out, e.err
	case <-ctx.Done():
		return label{}, ctx.Err()
	}
}

var errBusyPrinter = errors.New("printer: out of paper")

func labels(change func(*faultsim.Served[parcel, label])) faultsim.Adapter {
	v := faultsim.Served[parcel, label]{
		Name: "label",
		Subject: func(s *faultsim.Stage) faultsim.Serve[parcel, label] {
			var n atomic.Int64
			print := func(context.Context, parcel) (label, error) { return label{int(n.Add(1))}, nil }
			l := &labeller{print: faultsim.Tool(s, "printer", print, faultsim.Errors{trace.Throttled: errBusyPrinter}), kept: map[string]*printed{}}
			return l.label
		},
		Args: parcel{"Pune"}, Other: parcel{"Goa"},
		Clash: func(err error) bool { return errors.Is(err, errOtherParcel) },
	}
	change(&v)
	return v.Adapter()
}

func asIs(*faultsim.Served[parcel, label]) {}

func TestCheckOfARightTool(t *testing.T) { faultsim.Check(t, labels(asIs)) }

// What a schedule plans is what the tool is called with.
func TestCallsAreMadeAsPlanned(t *testing.T) {
	s, err := faultsim.Parse(`rehearse schedule 1
action
action other
action key=2 other
action key=none
`)
	require.NoError(t, err)
	tr := faultsim.Run(t, labels(asIs), s)
	type asked struct{ key, args, code string }
	var all []asked
	for _, a := range tr.Actions() {
		all = append(all, asked{a.Key, string(a.Args), a.Code})
	}
	const key = "rehearse-5f0c1e7ab2d94c3e8a66-Vb7kQ2-Rz4"
	require.Equal(t, []asked{
		{key + "8", `{"To":"Pune"}`, ""}, {key + "8", `{"To":"Goa"}`, invariants.CodeClash},
		{key + "9", `{"To":"Goa"}`, ""}, {"", `{"To":"Pune"}`, ""},
	}, all)
}

func TestTextOfCallsReadsBack(t *testing.T) {
	const text = "rehearse schedule 1\naction\naction key=3 other\naction after=1s key=none\nat-once\n"
	s, err := faultsim.Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, s.String())
	require.Equal(t, faultsim.Plan{Key: 3, Other: true}, s.Actions[1])
	one, err := faultsim.Parse("rehearse schedule 1\naction key=1\n")
	require.NoError(t, err)
	require.Equal(t, "rehearse schedule 1\naction\n", one.String())
	for line, want := range map[string]string{
		"action key=0":     "key=0 is no number from 1",
		"action key=two":   "key=two is no number from 1",
		"action other=yes": "other takes no value",
	} {
		_, err := faultsim.Parse("rehearse schedule 1\n" + line + "\n")
		require.ErrorContains(t, err, want)
	}
}

func TestCallsThatDoNotFit(t *testing.T) {
	plan := func(p faultsim.Plan) faultsim.Schedule { return faultsim.Schedule{Actions: []faultsim.Plan{p}} }
	caller := forecasts()
	for _, c := range []struct {
		name  string
		a     faultsim.Adapter
		p     faultsim.Plan
		unfit bool
		want  string
	}{
		{"for a caller", caller, faultsim.Plan{Key: 2}, true, "Key or Other, which are for a tool under test"},
		{"a fifth key", labels(asIs), faultsim.Plan{Key: 5}, true, "uses key 5, and there are 4"},
		{"a key below none", labels(asIs), faultsim.Plan{Key: -2}, false, "keys are counted from 1"},
		{"no other arguments", labels(func(v *faultsim.Served[parcel, label]) { v.Other = parcel{} }), faultsim.Plan{Other: true}, true, "Served has no Other"},
	} {
		r := faultsim.Trial(t, c.a, plan(c.p))
		require.ErrorContains(t, r.Err, c.want, c.name)
		_, unfit := errors.AsType[*faultsim.UnfitError](r.Err)
		require.Equal(t, c.unfit, unfit, c.name)
	}
}

func TestSabotageIsForCallers(t *testing.T) {
	_, err := faultsim.ExploreSabotage(t, labels(asIs), faultsim.Test{})
	require.ErrorContains(t, err, "is a tool under test, and sins are those of code that calls tools: sabotage the adapter of a caller")
}

func TestServedThatCannotBeUsed(t *testing.T) {
	type tool = faultsim.Served[parcel, label]
	for want, change := range map[string]func(*tool){
		"Subject is nil":                              func(v *tool) { v.Subject = nil },
		"Name is empty":                               func(v *tool) { v.Name = "" },
		"repeats: AtOnce: is \"hope\"":                func(v *tool) { v.Repeats.AtOnce = "hope" },
		"Args and Other are written as the same JSON": func(v *tool) { v.Args = v.Other },
		"there is Other and no Clash":                 func(v *tool) { v.Clash = nil },
		"Other is for keys":                           func(v *tool) { v.Repeats.By = invariants.ByState },
		"and Busy is nil":                             func(v *tool) { v.Repeats.AtOnce = invariants.AtOnceRefused },
		"and Keyless is nil":                          func(v *tool) { v.Repeats.Keyless = invariants.KeylessRefused },
		"Keys[1] is \"k\", which is empty or there":   func(v *tool) { v.Keys = []string{"k", "k"} },
		"returned no action":                          func(v *tool) { v.Subject = func(*faultsim.Stage) faultsim.Serve[parcel, label] { return nil } },
	} {
		r := faultsim.Trial(t, labels(change), faultsim.Schedule{})
		require.ErrorContains(t, r.Err, want)
	}
	a := labels(asIs)
	a.Observation = &invariants.Observation{Message: "message"}
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.Schedule{}).Err, "for code that calls tools")
	a = labels(asIs)
	a.Breakers = []invariants.Breaker{{Tool: "printer", Consecutive: 3, Cooldown: time.Minute}}
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.Schedule{}).Err, "for code that calls tools")
	a = forecasts()
	a.Repeats = &invariants.Repeats{}
	require.ErrorContains(t, faultsim.Trial(t, a, faultsim.Schedule{}).Err, "build the adapter with Served")
}

// A tool that asks no other is tested by its calls alone, and counts its own work.
func TestToolWithoutToolsBelow(t *testing.T) {
	a := faultsim.Served[parcel, label]{
		Name: "label", Args: parcel{"Pune"},
		Subject: func(s *faultsim.Stage) faultsim.Serve[parcel, label] {
			var mu sync.Mutex
			kept := map[string]label{}
			return func(ctx context.Context, key string, p parcel) (label, error) {
				mu.Lock()
				defer mu.Unlock()
				if l, ok := kept[key]; ok {
					return l, nil
				}
				s.Effect(ctx)
				kept[key] = label{len(kept) + 1}
				return kept[key], nil
			}
		},
	}.Adapter()
	faultsim.Check(t, a)
	tr := faultsim.Run(t, a, faultsim.Schedule{Actions: make([]faultsim.Plan, 2)})
	require.Len(t, tr.Actions()[0].Effects, 1)
	require.Equal(t, "label", tr.Events[tr.Actions()[0].Effects[0]].Tool)
	require.Empty(t, tr.Actions()[1].Effects)
}

// All that a contract can ask for is drawn, and keys and pauses too.
func TestDrawsOfCalls(t *testing.T) {
	a := labels(func(v *faultsim.Served[parcel, label]) {
		v.Repeats.Retention = 24 * time.Hour
		v.Repeats.Keyless = invariants.KeylessRuns
	})
	seen := map[string]int{}
	gen := faultsim.Schedules(t, a)
	for i := range 500 {
		s := gen.Example(i + 1)
		for _, p := range s.Actions {
			for what, is := range map[string]bool{
				"second key": p.Key == 2, "last key": p.Key == 4, "no key": p.Key == faultsim.NoKey, "other": p.Other,
				"pause": p.After > 0, "late": p.After > 12*time.Hour, "cancel": p.Cancel > 0, "before": p.Cancel < 0, "deadline": p.Deadline > 0,
			} {
				if is {
					seen[what]++
				}
			}
			for _, f := range p.Faults["printer"] {
				if f.Hang {
					seen["hang"]++
					require.True(t, p.Deadline > 0 || p.Cancel > 0, "a hang that nobody ends:\n%s", s)
				}
				if f.Class == trace.Throttled {
					seen["failure"]++
				}
			}
		}
		if s.AtOnce {
			seen["at once"]++
		}
	}
	for _, what := range []string{"second key", "last key", "no key", "other", "pause", "late", "cancel", "before", "deadline", "hang", "failure", "at once"} {
		require.Greater(t, seen[what], 10, what)
	}
}

// A failure shrinks to the calls that show it, with the first key and the plain
// arguments.
func TestFailingCallsShrink(t *testing.T) {
	a := labels(func(v *faultsim.Served[parcel, label]) {
		v.Subject = func(s *faultsim.Stage) faultsim.Serve[parcel, label] {
			var n atomic.Int64
			tool := faultsim.Tool(s, "printer", func(context.Context, parcel) (label, error) { return label{int(n.Add(1))}, nil }, nil)
			return func(ctx context.Context, _ string, p parcel) (label, error) { return tool(ctx, p) }
		}
		v.Other, v.Clash = parcel{}, nil
	})
	o, err := faultsim.Explore(t, a)
	require.NoError(t, err)
	require.Equal(t, "repeat-has-no-effect", o.Invariant())
	require.Equal(t, "rehearse schedule 1\naction\naction\n", o.Schedule.String())
	require.True(t, strings.HasPrefix(o.Findings[0].Text, "printer did its work 2 times for key "), o.Findings[0].Text)
}

// The caller of a tool whose process dies sees a broken connection; nothing goes
// on by itself, and the next call meets a tool that is built anew.
func TestCallOfAToolThatDiesIsSevered(t *testing.T) {
	built := 0
	a := labels(func(v *faultsim.Served[parcel, label]) {
		build := v.Subject
		v.Restarts = true
		v.Repeats.AtOnce = invariants.AtOnceAny
		v.Subject = func(s *faultsim.Stage) faultsim.Serve[parcel, label] { built++; return build(s) }
	})
	s, err := faultsim.Parse("rehearse schedule 1\naction restart=5s\n  printer 1 ok after=1s done crash=500ms\naction\n")
	require.NoError(t, err)
	r := faultsim.Trial(t, a, s)
	require.NoError(t, r.Err)
	require.Equal(t, 2, built)
	actions := r.Trace.Actions()
	require.Len(t, actions, 2)
	require.Equal(t, 500*time.Millisecond, actions[0].End)
	require.Contains(t, actions[0].Error, "the process of the tool has died")
	require.GreaterOrEqual(t, actions[1].Begin, 5500*time.Millisecond)
	require.Len(t, actions[0].Restarts, 1)
	require.Equal(t, "repeat-has-no-effect", r.Findings[0].Invariant) // its keys were in memory

	a = labels(asIs)
	_, unfit := errors.AsType[*faultsim.UnfitError](faultsim.Trial(t, a, s).Err)
	require.True(t, unfit)
}

func TestCrashesAreDrawnForToolsThatRestart(t *testing.T) {
	crashes := func(a faultsim.Adapter) (before, after, flight int) {
		gen := faultsim.Schedules(t, a)
		for i := range 500 {
			s := gen.Example(i + 1)
			for _, p := range s.Actions {
				if p.CrashBeforeWrite > 0 {
					before++
				}
				if p.CrashAfterWrite > 0 {
					after++
				}
				for _, f := range p.Faults["printer"] {
					if f.Crash > 0 {
						flight++
					}
				}
			}
			if r := faultsim.Trial(t, a, s); r.Err != nil {
				t.Fatalf("%v\n%s", r.Err, s)
			}
		}
		return before, after, flight
	}
	before, after, flight := crashes(labels(func(v *faultsim.Served[parcel, label]) { v.Restarts = true }))
	for _, n := range []int{before, after, flight} {
		require.Greater(t, n, 10)
	}
	before, after, flight = crashes(labels(asIs))
	require.Zero(t, before+after+flight)
}
