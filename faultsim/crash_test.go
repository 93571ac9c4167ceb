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

// A job is what the worker writes down.
type job struct {
	City     string
	Attempts int       // begun
	Next     time.Time // when the next one may begin
	Flying   bool      // one has begun and was not answered
	Result   *int      // nil: it is not done
}

// A worker forecasts by homePolicy, and goes on with it after a crash.
type worker struct {
	disk *Disk
	tool trace.Func[string, int]
}

func jobAdapter() Adapter {
	a := homeAdapter()
	a.Policy.Restart = invariants.RestartResumes
	build := func(s *Stage) *worker {
		return &worker{s.Disk(), Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})}
	}
	a.Subject = func(s *Stage) Action {
		w := build(s)
		return func(ctx context.Context) (any, error) { return w.run(ctx, &job{City: "Pune"}) }
	}
	a.Resume = func(s *Stage) Action {
		w := build(s)
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
	return a
}

func (w *worker) save(ctx context.Context, j *job) error {
	raw, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return w.disk.Put(ctx, trace.ActionName(ctx), raw)
}

func (w *worker) run(ctx context.Context, j *job) (int, error) {
	if j.Result != nil {
		return *j.Result, nil
	}
	err := errors.New("nothing has begun")
	if j.Flying { // it was lost in a crash
		j.Flying, err = false, errBusy
	}
	for ; j.Attempts < 3; j.Flying = false {
		select {
		case <-time.After(time.Until(j.Next)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%w after %w", ctx.Err(), err)
		}
		j.Attempts, j.Flying = j.Attempts+1, true
		if err := w.save(ctx, j); err != nil {
			return 0, err
		}
		actx, cancel := context.WithTimeout(ctx, 5*time.Second)
		var out int
		out, err = w.tool(actx, j.City)
		cancel()
		if err == nil {
			j.Result, j.Flying = &out, false
			return out, w.save(ctx, j)
		}
		if errors.Is(err, errForbidden) {
			return 0, err
		}
		j.Next, j.Flying = time.Now().Add(100*time.Millisecond<<(j.Attempts-1)), false
		if failed := w.save(context.WithoutCancel(ctx), j); failed != nil {
			return 0, failed
		}
	}
	return 0, err
}

func TestCrashesReadAsATimeline(t *testing.T) {
	var got strings.Builder
	for _, text := range []string{
		"action\n  weather 1 transient after=10ms crash=60ms\n",                                           // in the wait
		"action\n  weather 1 transient after=10ms crash=60ms\n  weather 2 transient crash=50ms\naction\n", // twice, and an action after it
		"action\n  weather 1 ok after=10ms crash=5ms\n",                                                   // in flight: the tool does its work
		"action crash-before-write=1 restart=1m0s\n",
		"action crash-after-write=1\n",
		"action crash-after-write=2\n", // the result is known
	} {
		s, err := Parse("rehearse schedule 1\n" + text)
		require.NoError(t, err)
		require.Equal(t, "rehearse schedule 1\n"+text, s.String())
		r := Trial(t, jobAdapter(), s)
		require.NoError(t, r.Err)
		got.WriteString(s.String() + "\n" + r.Trace.Timeline() + "\n")
	}
	golden(t, "crashes", got.String())
}

// What a crashed process still does is written down nowhere, whatever it calls,
// and is nothing that the code under test has left behind.
func TestCrashedProcessIsCutOff(t *testing.T) {
	calls := map[string]func(ctx context.Context, s *Stage) func(){
		"tool": func(ctx context.Context, s *Stage) func() {
			other := Tool[string, int](s, "other", nil, nil)
			return func() { _, _ = other(ctx, "ghost") }
		},
		"batch": func(ctx context.Context, s *Stage) func() {
			other := Batch[string, int](s, "other", func(id string) string { return id }, nil, nil)
			return func() { _, _ = other(ctx, []string{"ghost"}) }
		},
		"http": func(ctx context.Context, s *Stage) func() {
			client := s.Client(Route{Tool: "other"})
			return func() {
				if resp, err := client.Get("http://other/"); err == nil {
					resp.Body.Close()
				}
			}
		},
		"aside": func(ctx context.Context, s *Stage) func() {
			other := Aside(s, "other", trace.RoleAuth, func(context.Context, string) (int, error) { return 0, nil })
			return func() { _, _ = other(ctx, "ghost") }
		},
		"sleeper": func(ctx context.Context, s *Stage) func() {
			sleep := s.Sleeper()
			return func() { _ = sleep(ctx, time.Hour) }
		},
		"publish": func(ctx context.Context, s *Stage) func() {
			return func() { s.Publish(ctx, trace.ReasonSuccess) }
		},
		"observe": func(ctx context.Context, s *Stage) func() {
			return func() { s.Observe(ctx, "ghost") }
		},
		"disk": func(ctx context.Context, s *Stage) func() {
			return func() { _ = s.Disk().Put(ctx, "ghost", nil) }
		},
	}
	for name, call := range calls {
		for _, loops := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, loops), func(t *testing.T) {
				a := jobAdapter()
				subject, resume := a.Subject, a.Resume
				a.Subject = func(s *Stage) Action {
					action := subject(s)
					late := call(t.Context(), s)
					return func(ctx context.Context) (any, error) {
						go func() {
							time.Sleep(100 * time.Millisecond)
							for late(); loops; {
								late()
							}
						}()
						return action(ctx)
					}
				}
				a.Resume = func(s *Stage) Action {
					action := resume(s)
					call(t.Context(), s)
					return func(ctx context.Context) (any, error) {
						out, err := action(ctx)
						if keys, _ := s.Disk().List(ctx, "ghost"); len(keys) > 0 {
							return nil, errors.New("the disk was written by a dead process")
						}
						return out, err
					}
				}
				r := Trial(t, a, One(Fault{Class: trace.Transient, Latency: 10 * time.Millisecond, Crash: 60 * time.Millisecond}))
				require.NoError(t, r.Err)
				require.Empty(t, r.Findings, "%s", r.Trace.Timeline())
				text := r.Trace.Timeline()
				require.NotContains(t, text, "ghost")
				require.NotContains(t, text, "other")
				require.NotContains(t, text, "publish")
				require.NotContains(t, text, "wait")
			})
		}
	}
}

func TestDiskOutlivesACrashAndNothingElse(t *testing.T) {
	a := jobAdapter()
	builds := 0
	tool := func(s *Stage) { Tool[string, int](s, "weather", nil, Errors{trace.Transient: errBusy}) }
	a.Subject = func(s *Stage) Action {
		builds++
		tool(s)
		d := s.Disk()
		return func(ctx context.Context) (any, error) {
			value := []byte("one")
			require.NoError(t, d.Put(ctx, "a/1", value))
			value[0] = 'X' // what was stored is a copy
			require.NoError(t, d.Put(ctx, "a/2", []byte("two")))
			require.NoError(t, d.Put(ctx, "b", nil))
			require.NoError(t, d.Delete(ctx, "a/2"))
			require.NoError(t, d.Delete(ctx, "none"))
			return nil, d.Put(ctx, "lost", nil)
		}
	}
	a.Resume = func(s *Stage) Action {
		tool(s)
		d := s.Disk()
		return func(ctx context.Context) (any, error) {
			keys, err := d.List(ctx, "")
			require.NoError(t, err)
			require.Equal(t, []string{"a/1", "b"}, keys)
			keys, err = d.List(ctx, "a/")
			require.NoError(t, err)
			require.Equal(t, []string{"a/1"}, keys)
			value, err := d.Get(ctx, "a/1")
			require.NoError(t, err)
			require.Equal(t, "one", string(value))
			value[0] = 'X'
			value, err = d.Get(ctx, "a/1")
			require.NoError(t, err)
			require.Equal(t, "one", string(value))
			_, err = d.Get(ctx, "a/2")
			require.ErrorIs(t, err, fs.ErrNotExist)
			ended, cancel := context.WithCancel(ctx)
			cancel()
			require.ErrorIs(t, d.Put(ended, "b", nil), context.Canceled)
			_, err = d.Get(ended, "b")
			require.ErrorIs(t, err, context.Canceled)
			_, err = d.List(ended, "b")
			require.ErrorIs(t, err, context.Canceled)
			return nil, errors.New("seen")
		}
	}
	r := Trial(t, a, Schedule{Actions: []Plan{{CrashBeforeWrite: 6}}})
	require.NoError(t, r.Err)
	require.Equal(t, 1, builds)
	require.Contains(t, r.Trace.Timeline(), "seen")
}

func TestUnplayableCrashNamesFieldAndFix(t *testing.T) {
	crash := Fault{Class: trace.Transient, Crash: time.Millisecond}
	plan := func(p Plan) Schedule {
		if p.Faults == nil {
			p.Faults = map[string][]Fault{Main: {crash}}
		}
		return Schedule{Actions: []Plan{p}}
	}
	var got strings.Builder
	for _, s := range []Schedule{
		plan(Plan{Deadline: time.Second}), plan(Plan{Cancel: time.Second}), plan(Plan{Cancel: -1}),
		plan(Plan{Faults: map[string][]Fault{Main: {crash, {Cancel: time.Second}}}}),
		plan(Plan{Restart: -1}), plan(Plan{Restart: 2 * longestTime}), plan(Plan{CrashBeforeWrite: -1}), plan(Plan{CrashAfterWrite: -1}),
		{Actions: []Plan{{Restart: time.Minute}}},
		{Actions: []Plan{{CrashAfterWrite: 1}, {}}, AtOnce: true},
		One(Fault{Class: trace.Transient, Crash: -1}),
	} {
		r := Trial(t, jobAdapter(), s)
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	r := Trial(t, homeAdapter(), One(crash))
	require.IsType(t, &UnfitError{}, r.Err)
	fmt.Fprintf(&got, "%v\n", r.Err)
	for _, resume := range []func(s *Stage) Action{
		func(*Stage) Action { return nil },
		func(s *Stage) Action {
			Tool[int, int](s, "other", nil, nil)
			return func(context.Context) (any, error) { return nil, nil }
		},
	} {
		a := jobAdapter()
		a.Resume = resume
		r := Trial(t, a, One(crash))
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	a := jobAdapter()
	a.Resume = func(*Stage) Action { panic("no store") }
	r = Trial(t, a, One(crash))
	require.ErrorContains(t, r.Err, `faultsim: Resume of "forecast" panicked: no store`)
	golden(t, "unplayable-crashes", got.String())
}

func TestPersistedJobKeepsItsPolicyOverCrashes(t *testing.T) {
	Check(t, jobAdapter())
}

func TestResumeAndPolicyMustAgree(t *testing.T) {
	var got strings.Builder
	for _, change := range []func(*Adapter){
		func(a *Adapter) { a.Policy.Restart = invariants.RestartUndeclared },
		func(a *Adapter) { a.Resume = nil },
		func(a *Adapter) { a.Policy.Restart = invariants.RestartInterrupts },
		func(a *Adapter) {
			a.Breaker = &invariants.Breaker{Consecutive: 3, Cooldown: time.Minute}
			a.Reason = func(error) trace.Reason { return 0 }
		},
		func(a *Adapter) {
			a.Breakers = []invariants.Breaker{{Tool: "weather", Consecutive: 3, Cooldown: time.Minute}}
			a.Reason = func(error) trace.Reason { return 0 }
		},
	} {
		a := jobAdapter()
		change(&a)
		r := Trial(t, a, One())
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	golden(t, "unusable-resumes", got.String())
}

// revivable is jobAdapter with an operator.
func revivable() Adapter {
	a := jobAdapter()
	a.Again = func(s *Stage) Action {
		resumed := a.Resume(s)
		return func(ctx context.Context) (any, error) {
			if raw, err := s.Disk().Get(ctx, trace.ActionName(ctx)); err == nil {
				j := &job{}
				if err := json.Unmarshal(raw, j); err != nil {
					return nil, err
				}
				j.Attempts, j.Next, j.Flying = 0, time.Time{}, false
				if raw, err = json.Marshal(j); err != nil {
					return nil, err
				}
				if err := s.Disk().Put(ctx, trace.ActionName(ctx), raw); err != nil {
					return nil, err
				}
			}
			return resumed(ctx)
		}
	}
	return a
}

func TestAnOperatorHasAnActionDoneAgain(t *testing.T) {
	busy := Fail(trace.Transient)
	s := Schedule{Actions: []Plan{
		{Faults: map[string][]Fault{"weather": {busy, busy, busy}}},
		{Again: true, After: 24 * time.Hour, CrashBeforeWrite: 2, Faults: map[string][]Fault{"weather": {busy, busy}}},
		{},
	}}
	text := s.String()
	require.Contains(t, text, "action again after=24h0m0s crash-before-write=2\n")
	again, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, again.String())
	r := Trial(t, revivable(), s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	golden(t, "operator-retry", r.Trace.Timeline())
}

func TestOperatorsRetriesKeepThePolicy(t *testing.T) { Check(t, revivable()) }

func TestUnplayableRetryNamesFieldAndFix(t *testing.T) {
	var got strings.Builder
	for _, s := range []Schedule{
		{Actions: []Plan{{Again: true}}},
		{Actions: []Plan{{}, {Again: true}}, AtOnce: true},
	} {
		r := Trial(t, revivable(), s)
		require.Error(t, r.Err)
		fmt.Fprintf(&got, "%v\n", r.Err)
	}
	r := Trial(t, homeAdapter(), Schedule{Actions: []Plan{{}, {Again: true}}})
	require.IsType(t, &UnfitError{}, r.Err)
	fmt.Fprintf(&got, "%v\n", r.Err)
	a := revivable()
	a.Again = func(*Stage) Action { return nil }
	r = Trial(t, a, Schedule{Actions: []Plan{{}, {Again: true}}})
	fmt.Fprintf(&got, "%v\n", r.Err)
	golden(t, "unplayable-retries", got.String())
}

func TestCrashesShrinkWithTheirSchedule(t *testing.T) {
	s := Schedule{Actions: []Plan{{CrashBeforeWrite: 3, CrashAfterWrite: 2, Restart: time.Minute + 5,
		Faults: map[string][]Fault{"weather": {{Crash: time.Second + 3}}}}}}
	seen := map[string]bool{}
	for smaller := range smallerThan(s, &drawer{}) {
		require.NotEqual(t, s.String(), smaller.String())
		seen[smaller.String()] = true
	}
	for _, want := range []string{
		"action crash-after-write=2 restart=1m0.000000005s\n  weather 1 ok crash=1.000000003s\n",
		"action crash-before-write=1 crash-after-write=2 restart=1m0.000000005s\n  weather 1 ok crash=1.000000003s\n",
		"action crash-before-write=3 restart=1m0.000000005s\n  weather 1 ok crash=1.000000003s\n",
		"action crash-before-write=3 crash-after-write=2\n  weather 1 ok crash=1.000000003s\n",
		"action crash-before-write=3 crash-after-write=2 restart=1m0.000000005s\n",
		"action crash-before-write=3 crash-after-write=2 restart=1m0.000000005s\n  weather 1 ok crash=3ns\n",
	} {
		require.True(t, seen["rehearse schedule 1\n"+want], want)
	}
	last := with(s, func(c *Schedule) { c.Actions[0] = Plan{Restart: time.Minute, Faults: map[string][]Fault{}} })
	require.Zero(t, last.Actions[0].Restart, "nothing crashes any more")
}
