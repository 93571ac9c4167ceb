package faultsim

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

type purchase struct {
	City string
	Key  string `json:"key,omitempty"`
}

// ordering plugs in a write of one attempt of a second, with or without a key.
func ordering(key string, fake func(context.Context, purchase) (int, error), run func(context.Context, trace.Func[purchase, int], purchase) (any, error)) Adapter {
	a := homeAdapter()
	a.Policy.Attempt, a.Policy.Key, a.Policy.Repeatable = time.Second, "key", false
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "shop", fake, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return run(ctx, tool, purchase{"Pune", key})
		}
	}
	return a
}

func orderOnce(ctx context.Context, tool trace.Func[purchase, int], o purchase) (any, error) {
	out, err := tool(ctx, o)
	return out, err
}

// effects lists the instants of the effects, from the action's begin.
func effects(tr *trace.Trace) (at []time.Duration) {
	begin := tr.Actions()[0].Begin
	for _, e := range tr.Events {
		if e.Kind == trace.KindEffect {
			at = append(at, e.At-begin)
		}
	}
	return at
}

// The effect comes when the fault says: before, during and after the timeout.
func TestWorkIsDoneInItsOwnTime(t *testing.T) {
	for _, f := range []Fault{
		{Hang: true, Work: 300 * time.Millisecond},
		{Hang: true, Work: 3 * time.Hour},
		{Class: trace.Transient, Latency: 10 * time.Millisecond, Work: 500 * time.Millisecond},
		{Latency: 500 * time.Millisecond, Work: 20 * time.Millisecond},
		{Latency: 500 * time.Millisecond, Work: 500 * time.Millisecond},
		{Latency: 2 * time.Second, Work: 1500 * time.Millisecond},
	} {
		r := Trial(t, ordering("k1", nil, orderOnce), One(f))
		require.NoError(t, r.Err, "%+v", f)
		require.Equal(t, []time.Duration{f.Work}, effects(r.Trace), "%+v", f)
	}
}

func TestWorkUsesWhatArrivedAndAnswersWithIt(t *testing.T) {
	fake := func(ctx context.Context, o purchase) (int, error) { return len(o.City), ctx.Err() }
	r := Trial(t, ordering("k1", fake, orderOnce), One(Fault{Latency: 500, Work: 20}))
	require.Empty(t, r.Findings)
	require.Equal(t, "4", string(r.Trace.Actions()[0].Result))
}

// A repeat with the same key meets work that is still to come: it is done once.
func TestLateWorkOfAKnownKeyIsDoneOnce(t *testing.T) {
	again := func(ctx context.Context, tool trace.Func[purchase, int], o purchase) (any, error) {
		if _, err := tool(ctx, o); err == nil {
			return nil, err
		}
		out, err := tool(context.WithoutCancel(ctx), o)
		return out, err
	}
	late := One(Fault{Class: trace.Transient, Work: time.Minute})
	r := Trial(t, ordering("k1", nil, again), late)
	require.Equal(t, []time.Duration{0}, effects(r.Trace))
	r = Trial(t, ordering("", nil, again), late)
	require.Equal(t, []time.Duration{0, time.Minute}, effects(r.Trace))
	require.Contains(t, names(r.Findings), "one-effect")
}

func TestADuplicateDeliveryIsKnownByItsKey(t *testing.T) {
	for _, f := range []Fault{{Twice: true}, {Class: trace.Transient, Done: true, Twice: true}, {Hang: true, Work: 50, Twice: true}} {
		require.Len(t, effects(Trial(t, ordering("k1", nil, orderOnce), One(f)).Trace), 1)
		r := Trial(t, ordering("", nil, orderOnce), One(f))
		require.Len(t, effects(r.Trace), 2)
		require.Contains(t, names(r.Findings), "one-effect")
	}
}

// Where no key is declared the code can do nothing about a duplicate, nor about
// a tool that says that nothing was done and lies.
func TestAWriteWithoutAKeyHasNoFaultThatNobodyCouldHelp(t *testing.T) {
	a := ordering("k1", nil, orderOnce)
	a.Policy.Key, a.Policy.Retry, a.Policy.Undone = "", nil, []trace.Class{trace.Transient}
	for _, f := range []Fault{{Twice: true}, Lose(trace.Transient), {Class: trace.Transient, Work: 1}} {
		_, unfit := errors.AsType[*UnfitError](Trial(t, a, One(f)).Err)
		require.True(t, unfit, describe(&f))
		b := a
		b.Policy.Repeatable = true
		require.NoError(t, Trial(t, b, One(f)).Err, describe(&f))
	}
	a.Policy.Undone = nil
	require.NoError(t, Trial(t, a, One(Lose(trace.Transient))).Err, "a lost reply")
}

func TestOverHTTPWorkAndDuplicatesAreTheSame(t *testing.T) {
	for key, n := range map[string]int{"k1": 1, "": 2} {
		a := homeAdapter()
		a.Policy.Key, a.Policy.Repeatable = "Idempotency-Key", false
		a.Subject = func(s *Stage) Action {
			c := s.Client(Route{Tool: "shop"})
			return func(ctx context.Context) (any, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.test/", strings.NewReader("{}"))
				if err != nil {
					return nil, err
				}
				req.Header.Set("Idempotency-Key", key)
				resp, err := c.Do(req)
				if err != nil {
					return nil, err
				}
				return nil, resp.Body.Close()
			}
		}
		r := Trial(t, a, One(Fault{Class: trace.Reset, Latency: 30, Work: time.Minute, Twice: true}))
		require.NoError(t, r.Err)
		require.Len(t, effects(r.Trace), n)
		require.Equal(t, time.Minute, effects(r.Trace)[0])
	}
}

func TestWorkThatContradictsItself(t *testing.T) {
	a := homeAdapter()
	for _, f := range []Fault{{Work: 1}, {Work: -1, Class: trace.Transient}, {Class: trace.Transient, Twice: true}, {Hang: true, Twice: true}} {
		require.Error(t, Trial(t, a, One(f)).Err, "%+v", f)
	}
}

func TestLateWorkThatPanicsIsReported(t *testing.T) {
	fake := func(context.Context, purchase) (int, error) { panic("no shelf") }
	r := Trial(t, ordering("k1", fake, orderOnce), One(Fault{Class: trace.Transient, Work: time.Minute}))
	require.ErrorContains(t, r.Err, "faultsim: what shop does panicked: no shelf at ")
}

// A lost reply whose work comes late shrinks to one whose work comes at once.
func TestWorkShrinksAway(t *testing.T) {
	seen := map[Fault]bool{}
	for s := range smallerThan(One(Fault{Hang: true, Work: 90 * time.Second, Twice: true}), &drawer{}) {
		if list := s.Actions[0].Faults[Main]; len(list) == 1 {
			seen[list[0]] = true
		}
	}
	for _, f := range []Fault{
		{Hang: true, Work: 90 * time.Second}, {Hang: true, Done: true, Twice: true}, {Hang: true}, {Hang: true, Work: time.Second, Twice: true},
	} {
		require.True(t, seen[f], "%+v", f)
	}
}

func TestWorkIsDrawnForLostReplies(t *testing.T) {
	late, twice, done := 0, 0, 0
	for _, s := range drawn(t, draws, func(a *Adapter) { a.Policy.Key = "key" }) {
		for _, p := range s.Actions {
			for i := range p.Faults["weather"] {
				f := &p.Faults["weather"][i]
				require.NoError(t, f.validate())
				if f.Done {
					done++
				}
				if f.Work > 0 {
					late++
				}
				if f.Twice {
					twice++
				}
			}
		}
	}
	rare(t, "late work", late, float64(done), 1.0/2)
	rare(t, "duplicates", twice, float64(done), 1.0/4)
}
