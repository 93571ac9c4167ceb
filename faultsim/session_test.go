package faultsim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

var (
	errRefused = errors.New("connection refused")
	errLost    = errors.New("connection reset")
)

// A line is what a test does over sessions, dialled by their numbers.
type line struct {
	dial func(context.Context) (*Session, error)
	call trace.Func[int, int]
}

func wired(do func(context.Context, line) error) Adapter {
	a := homeAdapter()
	a.Session = &invariants.Session{}
	a.Subject = func(s *Stage) Action {
		w := line{s.Sessions("weather").Dial, Tool[int, int](s, "weather", nil, Errors{trace.Transient: errBusy, trace.NotConnected: errRefused, trace.Reset: errLost})}
		return func(ctx context.Context) (any, error) { return nil, do(ctx, w) }
	}
	return a
}

// calls makes one call for each number, over a session that is dialled where the
// number is new.
func calls(over ...int) func(context.Context, line) error {
	return func(ctx context.Context, w line) error {
		open := map[int]*Session{}
		for _, n := range over {
			if open[n] == nil {
				var err error
				if open[n], err = w.dial(ctx); err != nil {
					return err
				}
			}
			_, _ = w.call(open[n].Over(ctx), 0)
		}
		return nil
	}
}

func TestASessionIsLostAndStaysSo(t *testing.T) {
	refused, lost := trace.Outcome{Class: trace.NotConnected}, trace.Outcome{Class: trace.Reset}
	for _, tt := range []struct {
		name string
		over []int
		s    Schedule
		want []trace.Outcome
	}{
		{"it serves many calls", []int{1, 1, 1}, Schedule{}, []trace.Outcome{up, up, up}},
		{"another failure leaves it", []int{1, 1}, One(Fail(trace.Transient)), []trace.Outcome{down, up}},
		{"a reset loses it", []int{1, 1, 2}, One(Fail(trace.Reset)), []trace.Outcome{lost, refused, up}},
		{"a refusal loses it", []int{1, 1, 2}, One(Fail(trace.NotConnected)), []trace.Outcome{refused, refused, up}},
		{"others stay", []int{1, 2, 1, 2}, One(Fail(trace.Reset)), []trace.Outcome{lost, up, refused, up}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, seen(t, wired(calls(tt.over...)), tt.s))
		})
	}
}

// What is refused on a session that is lost has no effect, and each call is
// recorded with its session.
func TestARefusedCallDoesNoWork(t *testing.T) {
	a := wired(calls(1, 1, 2))
	a.Policy.Repeatable, a.Policy.Retry = false, nil
	r := Trial(t, a, One(Lose(trace.Reset)))
	require.NoError(t, r.Err)
	act := r.Trace.Actions()[0]
	require.Len(t, act.Effects, 2)
	require.Equal(t, []int{1, 1, 2}, []int{act.Attempts[0].Session, act.Attempts[1].Session, act.Attempts[2].Session})
}

// No session can be opened while nothing can be reached.
func TestDialsFailInAnOutage(t *testing.T) {
	var errs []error
	a := wired(func(ctx context.Context, w line) error {
		for range 2 {
			_, err := w.dial(ctx)
			errs = append(errs, err)
			time.Sleep(time.Second)
		}
		return nil
	})
	for class, want := range map[trace.Class][]error{trace.NotConnected: {errRefused, nil}, trace.Transient: {nil, nil}} {
		errs = nil
		require.NoError(t, Trial(t, a, Schedule{Outages: []Outage{{Main, 0, time.Second, class}}}).Err)
		require.Equal(t, want, errs, class)
	}
}

// Closing a session ends the calls over it, and their callers do not know what
// became of them.
func TestCloseEndsTheCallsOverASession(t *testing.T) {
	a := wired(func(ctx context.Context, w line) error {
		c, err := w.dial(ctx)
		if err != nil {
			return err
		}
		time.AfterFunc(time.Second, func() { c.Close(); c.Close() })
		_, err = w.call(c.Over(ctx), 0)
		return err
	})
	r := Trial(t, a, One(Fault{Latency: time.Minute}))
	require.NoError(t, r.Err)
	at := r.Trace.Actions()[0].Attempts[0]
	require.Equal(t, trace.Reset, at.Outcome.Class)
	require.Equal(t, time.Second, at.End)
	require.Equal(t, "session-left-alone", r.Findings[0].Invariant)
}

// The end of the caller's context is no loss of the session.
func TestACancelledCallLeavesItsSession(t *testing.T) {
	a := wired(func(ctx context.Context, w line) error {
		c, err := w.dial(ctx)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = w.call(c.Over(short), 0)
		_, err = w.call(c.Over(ctx), 0)
		return err
	})
	require.Equal(t, []trace.Outcome{{Class: trace.Timeout}, up}, seen(t, a, One(Fault{Hang: true})))
}

// A loop of dials without a wait ends the trial as any other loop does.
func TestDialsWithoutAnEndAreFound(t *testing.T) {
	a := wired(func(ctx context.Context, w line) error {
		for {
			if _, err := w.dial(ctx); err == nil {
				return nil
			}
		}
	})
	r := Trial(t, a, Schedule{Outages: []Outage{{Main, 0, time.Second, trace.NotConnected}}})
	require.NoError(t, r.Err)
	require.Equal(t, "no-spin", r.Findings[0].Invariant)
}

func TestSessionsThatCannotBeAreNamed(t *testing.T) {
	for want, build := range map[string]func(*Stage){
		`Stage.Sessions speaks of tool "wether"`:       func(s *Stage) { s.Sessions("wether") },
		`Stage.Sessions of "weather" was called twice`: func(s *Stage) { s.Sessions("weather"); s.Sessions("weather") },
		`"weather" cannot`:                             func(s *Stage) { s.Sessions("weather") },
		`Subject has no sessions`:                      func(*Stage) {},
	} {
		a := homeAdapter()
		a.Session = &invariants.Session{}
		a.Subject = func(s *Stage) Action {
			tool := Tool[int, int](s, "weather", nil, Errors{trace.Transient: errBusy})
			build(s)
			return func(ctx context.Context) (any, error) { return tool(ctx, 0) }
		}
		require.ErrorContains(t, Trial(t, a, Schedule{}).Err, want)
	}
	bare := wired(func(ctx context.Context, w line) error { _, err := w.call(ctx, 0); return err })
	require.ErrorContains(t, Trial(t, bare, Schedule{}).Err, "weather was called without a session")
	bad := wired(calls(1))
	bad.Session = &invariants.Session{Dials: -1}
	require.ErrorContains(t, bad.validate(), "Dials is -1")
}

// Losses, and outages in which no session can be opened, are drawn for adapters
// with sessions.
func TestLossesAreDrawn(t *testing.T) {
	a := wired(calls(1))
	tools, err := inspect(t, &a)
	require.NoError(t, err)
	gen := newDrawer(&a, tools).schedules()
	var lost, out int
	for i := range 500 {
		s := gen.Example(i)
		for _, p := range s.Actions {
			for _, f := range p.Faults["weather"] {
				if f.Class == trace.Reset || f.Class == trace.NotConnected {
					lost++
				}
			}
		}
		for _, o := range s.Outages {
			if o.Class == trace.NotConnected {
				out++
			}
		}
	}
	require.Greater(t, lost, 200)
	require.Greater(t, out, 40)
}
