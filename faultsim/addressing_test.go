package faultsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// order is the argument of the tools below, with a field for a key.
type order struct {
	Item string `json:"item"`
	Key  string `json:"key,omitempty"`
}

// shape is how a subject calls its tools.
type shape struct {
	sameArgs bool // every action sends the same arguments
	dropped  bool // the tools get context.Background()
	keyed    bool // every action has a key of its own
	shuffled bool // its goroutines begin in any order
}

// shop has two tools, which each action calls one after another, each with a
// retry of its own that waits the same time everywhere.
func shop(sh shape) Adapter {
	a := homeAdapter()
	a.Policy.Attempt = 0
	if sh.keyed {
		a.Policy.Key = "key"
	}
	a.Subject = func(s *Stage) Action {
		errs := Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden}
		stock := Tool(s, "stock", func(_ context.Context, o order) (string, error) { return "stock " + o.Item, nil }, errs)
		pay := Tool(s, "pay", func(_ context.Context, o order) (string, error) { return "paid " + o.Item, nil }, errs)
		number := 0
		return func(ctx context.Context) (any, error) {
			number++ // the actions begin a nanosecond apart
			o := order{Item: "tea"}
			if !sh.sameArgs {
				o.Item = fmt.Sprint("tea ", number)
			}
			if sh.keyed {
				o.Key = fmt.Sprint("key ", number)
			}
			if sh.shuffled {
				for range rand.IntN(4) {
					runtime.Gosched()
				}
			}
			cctx := ctx
			if sh.dropped {
				cctx = context.Background()
			}
			if _, err := again(ctx, cctx, stock, o); err != nil {
				return nil, err
			}
			return again(ctx, cctx, pay, o)
		}
	}
	return a
}

func again(ctx, cctx context.Context, tool trace.Func[order, string], o order) (string, error) {
	for n := 1; ; n++ {
		out, err := tool(cctx, o)
		if err == nil || err == errForbidden || n == 3 {
			return out, err
		}
		if err := pause(ctx, 100*time.Millisecond<<(n-1)); err != nil {
			return "", err
		}
	}
}

// each action has faults of its own at each tool.
func threeActions(atOnce bool) Schedule {
	busy, no := Fail(trace.Transient), Fail(trace.Forbidden)
	return Schedule{AtOnce: atOnce, Actions: []Plan{
		{Faults: map[string][]Fault{"stock": {busy}, "pay": {busy, no}}},
		{Faults: map[string][]Fault{"stock": {busy, busy}}},
		{Faults: map[string][]Fault{"stock": {{Class: trace.Transient, Latency: 7 * time.Millisecond}, {}}, "pay": {{}, no}}},
	}}
}

// saw lists, for each action, the classes that each tool answered.
func saw(tr *trace.Trace) map[string][]string {
	got := map[string][]string{}
	for _, a := range tr.Actions() {
		for _, at := range a.Attempts {
			got[a.Name] = append(got[a.Name], at.Tool+" "+at.Outcome.Class.String())
		}
	}
	return got
}

func TestEachActionGetsItsOwnFaults(t *testing.T) {
	want := map[string][]string{
		"forecast":   {"stock transient", "stock ok", "pay transient", "pay forbidden"},
		"forecast#2": {"stock transient", "stock transient", "stock ok", "pay ok"},
		"forecast#3": {"stock transient", "stock ok", "pay ok"},
	}
	for _, sh := range []shape{{}, {sameArgs: true}, {keyed: true}, {sameArgs: true, keyed: true}, {sameArgs: true, shuffled: true}} {
		for _, atOnce := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v at once %v", sh, atOnce), func(t *testing.T) {
				var first *trace.Trace
				for range 100 {
					r := Trial(t, shop(sh), threeActions(atOnce))
					require.NoError(t, r.Err)
					require.Equal(t, want, saw(r.Trace))
					if first == nil {
						first = r.Trace
					}
					require.True(t, reflect.DeepEqual(first.Events, r.Trace.Events), "a trace differs:\n%s\n%s", first.Timeline(), r.Trace.Timeline())
				}
			})
		}
	}
	// Without its context, an action that is the only one open is still known.
	t.Run("dropped, in turn", func(t *testing.T) {
		r := Trial(t, shop(shape{dropped: true, sameArgs: true}), threeActions(false))
		require.NoError(t, r.Err)
		require.Equal(t, want, saw(r.Trace))
	})
}

// Without its context and among several open actions, nobody can know whose
// call it is. Such a call gets no fault of another action, and is not judged.
func TestCallOfNoKnownActionIsAnsweredAtOnce(t *testing.T) {
	r := Trial(t, shop(shape{dropped: true, sameArgs: true}), threeActions(true))
	require.NoError(t, r.Err)
	require.NotEmpty(t, r.Trace.Ambiguous())
	for _, i := range r.Trace.Ambiguous() {
		require.Zero(t, r.Trace.Events[i].Action)
	}
	for _, e := range r.Trace.Events {
		if e.Ambiguous && e.Kind == trace.KindAnswer {
			require.Equal(t, trace.OK, e.Outcome.Class)
		}
	}
}

// A key does its work once, whatever becomes of the replies.
func TestHonestToolDoesAKeyOnce(t *testing.T) {
	s := Schedule{Actions: []Plan{{Faults: map[string][]Fault{"pay": {Lose(trace.Transient), Lose(trace.Transient)}}}}}
	r := Trial(t, shop(shape{keyed: true}), s)
	require.NoError(t, r.Err)
	effects := map[string]int{}
	for _, e := range r.Trace.Events {
		if e.Kind == trace.KindEffect {
			effects[e.Tool]++
		}
	}
	require.Equal(t, map[string]int{"stock": 1, "pay": 1}, effects)
	require.Empty(t, r.Findings)
}

// The trace is the same 1,000 of 1,000 times.
func TestTracesAreTheSameEveryTime(t *testing.T) {
	cases := map[string]struct {
		a Adapter
		s Schedule
	}{
		"plain":               {homeAdapter(), One(Fail(trace.Transient), Fail(trace.Transient))},
		"hang and deaf":       {homeAdapter(), One(Fault{Hang: true}, Fault{Class: trace.Transient, Latency: 6 * time.Second, Deaf: true})},
		"cancel in flight":    {homeAdapter(), One(Fault{Latency: 50 * time.Millisecond, Cancel: 20 * time.Millisecond})},
		"before the answer":   {homeAdapter(), One(Fault{Latency: 50 * time.Millisecond, Cancel: 50*time.Millisecond - 1})},
		"after the answer":    {homeAdapter(), One(Fault{Class: trace.Transient, Latency: 50 * time.Millisecond, Cancel: 50*time.Millisecond + 1})},
		"cancel in backoff":   {homeAdapter(), One(Fault{Class: trace.Transient, Cancel: 30 * time.Millisecond})},
		"deadline in backoff": {homeAdapter(), Schedule{Actions: []Plan{{Deadline: 99 * time.Millisecond, Faults: map[string][]Fault{"weather": {Fail(trace.Transient)}}}}}},
		"cancelled before":    {homeAdapter(), Schedule{Actions: []Plan{{Cancel: -1}, {}}}},
		"at once": {homeAdapter(), Schedule{AtOnce: true, Actions: []Plan{
			{Faults: map[string][]Fault{Main: {Fail(trace.Transient)}}}, {Cancel: 50}, {Faults: map[string][]Fault{Main: {{Hang: true}}}}}}},
		"a leak": {loopAdapter(loop{attempts: 4}), One(Fail(trace.Transient), Fail(trace.Transient), Fail(trace.Transient))},
	}
	n := 1000
	if testing.Short() || raceEnabled {
		n = 100
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			var first Result
			for i := range n {
				tr, err := newTrial(&x.a, &x.s, nil, nil).run(t)
				r := Result{Trace: tr, Err: err}
				r.Findings, _ = x.a.judge(tr)
				if i == 0 {
					first = r
					require.NoError(t, r.Err)
				}
				require.True(t, reflect.DeepEqual(first.Trace.Events, r.Trace.Events), "run %d:\n%s\n%s", i, first.Trace.Timeline(), r.Trace.Timeline())
				require.True(t, reflect.DeepEqual(first.Findings, r.Findings), "run %d", i)
			}
		})
	}
}
