package faultsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// errDraining is what the worker returns when it was told to stop.
var errDraining = errors.New("worker: draining")

// A drainer is a worker that stops when it is told to: it cuts its attempt off,
// or waits for the answer, and leaves the job to the next process.
type drainer struct {
	worker
	stopping context.Context
	patient  bool // it waits for the answer
	free     bool // what it cuts off does not count
}

// drainAdapter is jobAdapter with a process that can be told to stop.
func drainAdapter(patient bool, counts invariants.DrainedAttempt) Adapter {
	a := homeAdapter()
	a.Policy.Restart, a.Policy.Drain = invariants.RestartResumes, counts
	a.HandedBack = func(err error) bool { return errors.Is(err, errDraining) }
	build := func(s *Stage) Action {
		w := &drainer{worker{s.Disk(), Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})}, s.Draining(), patient, counts == invariants.DrainFree}
		return func(ctx context.Context) (any, error) {
			j := &job{City: "Pune"}
			raw, err := w.disk.Get(ctx, trace.ActionName(ctx))
			if err == nil {
				err = json.Unmarshal(raw, j)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			return w.run(ctx, j)
		}
	}
	a.Subject, a.Resume = build, build
	return a
}

func (w *drainer) run(ctx context.Context, j *job) (int, error) {
	if j.Result != nil {
		return *j.Result, nil
	}
	err := errors.New("nothing has begun")
	if j.Flying { // it was lost in a crash, or counts
		j.Flying, err = false, errBusy
	}
	for ; j.Attempts < 3; j.Flying = false {
		select {
		case <-time.After(time.Until(j.Next)):
		case <-ctx.Done():
		case <-w.stopping.Done():
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%w after %w", ctx.Err(), err)
		}
		if w.stopping.Err() != nil {
			return 0, errDraining
		}
		j.Attempts, j.Flying = j.Attempts+1, true
		if err := w.save(ctx, j); err != nil {
			return 0, err
		}
		var out int
		out, err = w.try(ctx, j.City)
		if err == nil {
			j.Result, j.Flying = &out, false
			return out, w.save(ctx, j)
		}
		if errors.Is(err, errForbidden) {
			return 0, err
		}
		if w.stopping.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
			if w.free {
				j.Attempts, j.Flying = j.Attempts-1, false
			}
			return 0, errors.Join(errDraining, w.save(ctx, j))
		}
		j.Next, j.Flying = time.Now().Add(100*time.Millisecond<<(j.Attempts-1)), false
		if failed := w.save(context.WithoutCancel(ctx), j); failed != nil {
			return 0, failed
		}
	}
	return 0, err
}

// try makes one attempt, which the signal cuts off.
func (w *drainer) try(ctx context.Context, city string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if !w.patient {
		defer context.AfterFunc(w.stopping, cancel)()
	}
	return w.tool(ctx, city)
}

func TestDrainsReadAsATimeline(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		patient bool
		text    string
	}{
		{false, "action\n  weather 1 transient after=10ms drain=60ms\n"},                                              // in the wait
		{false, "action grace=10s restart=1m0s\n  weather 1 ok after=10ms drain=5ms\naction\n"},                       // in flight, and an action behind it
		{true, "action\n  weather 1 ok after=10ms drain=5ms\naction\n"},                                               // the answer comes in the grace
		{true, "action\n  weather 1 transient after=10ms drain=5ms\n"},                                                // a failure comes in the grace
		{true, "action grace=1s\n  weather 1 ok after=3s drain=5ms\n"},                                                // it is killed
		{false, "action\n  weather 1 ok after=10ms drain=5ms\n  weather 2 ok after=10ms crash=2ms\n"},                 // a drain and a crash
		{false, "action\n  weather 1 transient after=10ms crash=20ms drain=15ms\n  weather 2 transient drain=15ms\n"}, // what comes too late
	} {
		s, err := Parse("rehearse schedule 1\n" + c.text)
		require.NoError(t, err)
		require.Equal(t, "rehearse schedule 1\n"+c.text, s.String())
		r := Trial(t, drainAdapter(c.patient, invariants.DrainFree), s)
		require.NoError(t, r.Err)
		require.Empty(t, r.Findings, "%s", r.Trace.Timeline())
		got.WriteString(s.String() + "\n" + r.Trace.Timeline() + "\n")
	}
	golden(t, "drains", got.String())
}

func TestWorkersKeepTheirPolicyOverDrains(t *testing.T) {
	for _, counts := range []invariants.DrainedAttempt{invariants.DrainUndeclared, invariants.DrainCounts, invariants.DrainFree} {
		for _, patient := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", counts, patient), func(t *testing.T) { Check(t, drainAdapter(patient, counts)) })
		}
	}
}

// A process that waits for its signal, and hears none, is nothing left behind.
func TestTheSignalComesWhenTheTrialCloses(t *testing.T) {
	for _, drains := range []bool{true, false} {
		a, heard := drainAdapter(false, invariants.DrainFree), 0
		subject := a.Subject
		a.Subject = func(s *Stage) Action {
			go func() {
				<-s.Draining().Done()
				heard++
			}()
			return subject(s)
		}
		if !drains {
			a = homeAdapter()
			home := a.Subject
			a.Subject = func(s *Stage) Action {
				require.Nil(t, s.Draining().Done(), "no Resume, no signal")
				heard++
				return home(s)
			}
		}
		r := Trial(t, a, One(Fail(trace.Transient)))
		require.NoError(t, r.Err)
		require.Empty(t, r.Findings, "%s", r.Trace.Timeline())
		require.Equal(t, 1, heard)
	}
}

// What hands an action back without having been told to stop has ended it.
func TestNothingIsHandedBackWithoutASignal(t *testing.T) {
	a := drainAdapter(false, invariants.DrainFree)
	a.HandedBack = func(error) bool { return true }
	r := Trial(t, a, One(Fail(trace.Forbidden)))
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	require.NotContains(t, r.Trace.Timeline(), "handback")
}

func TestUnplayableDrainNamesFieldAndFix(t *testing.T) {
	drain := Fault{Class: trace.Transient, Drain: time.Millisecond}
	plan := func(p Plan) Schedule {
		p.Faults = map[string][]Fault{Main: {drain}}
		return Schedule{Actions: []Plan{p}}
	}
	var got strings.Builder
	for _, s := range []Schedule{
		plan(Plan{Deadline: time.Second}), plan(Plan{Cancel: time.Second}), plan(Plan{Grace: -1}), plan(Plan{Grace: 2 * longestTime}),
		{Actions: []Plan{{Grace: time.Minute}}},
		{Actions: []Plan{plan(Plan{}).Actions[0], {}}, AtOnce: true},
		One(Fault{Class: trace.Transient, Drain: -1}),
	} {
		r := Trial(t, drainAdapter(false, invariants.DrainFree), s)
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	for _, a := range []Adapter{homeAdapter(), jobAdapter()} {
		r := Trial(t, a, One(drain))
		require.IsType(t, &UnfitError{}, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	a := drainAdapter(false, invariants.DrainFree)
	a.HandedBack = func(error) bool { panic("no such error") }
	r := Trial(t, a, One(drain))
	require.ErrorContains(t, r.Err, `HandedBack of "forecast" panicked: no such error`)
	golden(t, "unplayable-drains", got.String())
}

func TestHandedBackAndPolicyMustAgree(t *testing.T) {
	var got strings.Builder
	for _, change := range []func(*Adapter){
		func(a *Adapter) { a.HandedBack = nil },
		func(a *Adapter) {
			a.Resume, a.Policy.Restart, a.Policy.Drain = nil, invariants.RestartUndeclared, invariants.DrainUndeclared
		},
	} {
		a := drainAdapter(false, invariants.DrainFree)
		change(&a)
		r := Trial(t, a, One())
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	golden(t, "unusable-handbacks", got.String())
}

func TestDrainsShrinkWithTheirSchedule(t *testing.T) {
	s := Schedule{Actions: []Plan{{Grace: time.Minute + 5, Restart: time.Minute + 5, Faults: map[string][]Fault{"weather": {{Drain: time.Second + 3}}}}}}
	seen := map[string]bool{}
	for smaller := range smallerThan(s, &drawer{}) {
		require.NotEqual(t, s.String(), smaller.String())
		seen[smaller.String()] = true
	}
	for _, want := range []string{
		"action\n",
		"action grace=1m0.000000005s\n  weather 1 ok drain=1.000000003s\n",
		"action restart=1m0.000000005s\n  weather 1 ok drain=1.000000003s\n",
		"action grace=1m0.000000005s restart=1m0.000000005s\n  weather 1 ok drain=3ns\n",
		"action grace=1.000000005s restart=1m0.000000005s\n  weather 1 ok drain=1.000000003s\n",
	} {
		require.True(t, seen["rehearse schedule 1\n"+want], want)
	}
}
