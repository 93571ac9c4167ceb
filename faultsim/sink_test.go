package faultsim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// sinking is an agent that writes a line to each of its sinks before and after
// its one attempt, and returns what became of the lines.
func sinking(write func(context.Context, func(context.Context, string) error) error, sinks ...invariants.Sink) Adapter {
	a := subjectAdapter(func(ctx context.Context, s *Stage, tool weatherTool) (any, error) { return nil, nil })
	a.Policy = invariants.Policy{ID: "once/v1", MaxAttempts: 1, Repeatable: true}
	a.Sinks = sinks
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil }, nil)
		var lines []func(context.Context, string) error
		for _, k := range sinks {
			lines = append(lines, Sink[string](s, k.Name))
		}
		return func(ctx context.Context) (any, error) {
			n, err := tool(ctx, "Pune")
			for _, line := range lines {
				if failed := write(ctx, line); failed != nil {
					return n, failed
				}
			}
			return n, err
		}
	}
	return a
}

func straight(ctx context.Context, line func(context.Context, string) error) error {
	return line(ctx, "asked")
}

func TestASinkFailsAsTheSchedulePlans(t *testing.T) {
	var got []error
	a := sinking(func(ctx context.Context, line func(context.Context, string) error) error {
		for range 3 {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			got = append(got, line(ctx, "asked"))
			cancel()
		}
		return nil
	}, invariants.Sink{Name: "log", Wait: 3 * time.Second})
	a.Serial = true
	s, err := Parse("rehearse schedule 1\naction\n  log 1 transient after=20ms\n  log 2 hang\n")
	require.NoError(t, err)
	tr := Run(t, a, s)
	require.Len(t, got, 3)
	require.EqualError(t, got[0], "log: the record was not written (transient)")
	require.ErrorIs(t, got[1], context.DeadlineExceeded)
	require.NoError(t, got[2])
	require.Len(t, tr.Actions()[0].Attempts, 1, "records are no attempts")
	require.Contains(t, tr.Timeline(), `log log 1  transient`)
	require.Equal(t, 1, tr.Metrics().Attempts)
}

func TestAPanicOfASinkStaysInTheTrial(t *testing.T) {
	s, err := Parse("rehearse schedule 1\naction\n  log 1 panic\n")
	require.NoError(t, err)
	r := Trial(t, sinking(straight, invariants.Sink{Name: "log"}), s)
	require.NoError(t, r.Err)
	require.Equal(t, "observer-neutral", r.Findings[0].Invariant)

	elsewhere := make(chan error, 1)
	r = Trial(t, sinking(func(ctx context.Context, line func(context.Context, string) error) error {
		done := make(chan struct{})
		go func() { elsewhere <- line(ctx, "asked"); close(done) }()
		<-done
		return nil
	}, invariants.Sink{Name: "log"}), s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.ErrorContains(t, <-elsewhere, "the writer of the record is broken")
}

func TestSinksAreDeclaredAndBuilt(t *testing.T) {
	log := invariants.Sink{Name: "log"}
	trial := func(change func(*Adapter)) error {
		a := sinking(straight, log)
		change(&a)
		return Trial(t, a, One()).Err
	}
	subject := func(build func(*Stage)) func(*Adapter) {
		return func(a *Adapter) {
			plain := a.Subject
			a.Subject = func(s *Stage) Action {
				action := plain(s)
				build(s)
				return action
			}
		}
	}
	for _, c := range []struct {
		change func(*Adapter)
		want   string
	}{
		{func(a *Adapter) { a.Sinks = nil }, `the stage has a sink "log", and the adapter's Sinks do not: add its contract there`},
		{func(a *Adapter) { a.Sinks = append(a.Sinks, invariants.Sink{Name: "audit"}) }, `Sinks name "audit", and Subject puts no such sink on the stage`},
		{func(a *Adapter) { a.Sinks = append(a.Sinks, log) }, `Sinks has "log" twice`},
		{func(a *Adapter) { a.Sinks[0].Name = Main }, `or it stands for the main tool`},
		{func(a *Adapter) { a.Sinks = []invariants.Sink{{}} }, `Name: is empty: say how the sink is named in the trace`},
		{func(a *Adapter) { a.Sinks[0].Wait = 2 * longestTime }, `Wait is 17520h0m0s, and a trial plays 1095h0m0s at most`},
		{subject(func(s *Stage) { Sink[int](s, "log") }), `the stage has two doubles named "log"`},
		{subject(func(s *Stage) { Tool[int, int](s, "log", nil, nil) }), `the stage has two tools named "log"`},
	} {
		require.ErrorContains(t, trial(c.change), c.want)
	}
}

func TestASinkAnswersNothingButRecords(t *testing.T) {
	for _, text := range []string{"log 1 throttled hint=2s", "log 1 transient done", "log 1 transient say=x", "log 1 panic hang", "weather 1 panic"} {
		s, err := Parse("rehearse schedule 1\naction\n  " + text + "\n")
		require.NoError(t, err, text)
		err = Trial(t, sinking(straight, invariants.Sink{Name: "log"}), s).Err
		_, unfit := errors.AsType[*UnfitError](err)
		require.True(t, unfit, "%s: %v", text, err)
	}
}

// What a sink does is drawn behind everything else, and for declared sinks only.
func TestSinksChangeNoOtherDraw(t *testing.T) {
	plain := homeAdapter()
	a := plain
	a.Sinks = []invariants.Sink{{Name: "log", Wait: time.Second}}
	tools, err := inspect(t, &plain)
	require.NoError(t, err)
	with, without := stormy(&a, tools), stormy(&plain, tools)
	kinds := map[string]bool{}
	for seed := 1; seed < 500; seed++ {
		s := with.Example(seed)
		for i := range s.Actions {
			for _, f := range s.Actions[i].Faults["log"] {
				kinds[fmt.Sprint(f.class(), f.Hang, f.Panic, f.Latency > 0)] = true
			}
			delete(s.Actions[i].Faults, "log")
		}
		require.Equal(t, without.Example(seed), s)
	}
	require.Len(t, kinds, 7, "%v", kinds)
}

// What a trace is judged by is in it.
func TestATraceSaysItsFormatAndItsPolicy(t *testing.T) {
	a := homeAdapter()
	tr := Run(t, a, One())
	require.Equal(t, trace.Schema, tr.Schema)
	require.JSONEq(t, string(a.Policy.Content()), string(tr.Policy))
	require.Contains(t, string(tr.Policy), `"id":"`+a.Policy.ID+`"`)
}
