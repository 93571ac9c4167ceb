package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// owners returns the action of each call, "?" where it is ambiguous.
func owners(tr *trace.Trace) []string {
	var names []string
	for _, e := range tr.Events {
		switch {
		case e.Kind == trace.KindCall && e.Ambiguous:
			names = append(names, "?")
		case e.Kind == trace.KindCall:
			names = append(names, e.Action)
		}
	}
	return names
}

func TestAnErrorThatCannotBeReadIsUnknownAndComesBack(t *testing.T) {
	var none *oddError
	for name, r := range map[string]*trace.Recorder{
		"a nil pointer": {},
		"a classifier":  {Classify: func(error) trace.Outcome { panic("odd") }},
	} {
		t.Run(name, func(t *testing.T) {
			tool := trace.Record(r, "bank", func(context.Context, int) (int, error) { return 7, none })
			out, err := tool(t.Context(), 1)
			require.Equal(t, 7, out)
			require.True(t, err == error(none), "the program gets what the tool returned")
			require.Equal(t, trace.Unknown, r.Trace().Actions()[0].Attempts[0].Outcome.Class)
		})
	}
}

// listError is of a type that can be compared, and its value is not.
type listError struct{ list any }

func (listError) Error() string { return "a list" }

// An oddError has methods that need more than a nil pointer.
type oddError struct{ cause error }

func (e *oddError) Error() string { return e.cause.Error() }
func (e *oddError) Unwrap() error { return e.cause }

func call(r *trace.Recorder, ctx context.Context, args string) trace.Pending {
	return r.Call(ctx, trace.Call{Tool: "bank", Args: json.RawMessage(args)})
}

func TestACallBelongsToTheActionOf(t *testing.T) {
	bg := context.Background()
	tests := map[string]struct {
		do   func(r *trace.Recorder)
		want []string
	}{
		"nobody": {func(r *trace.Recorder) { call(r, bg, `1`); call(r, bg, `2`) }, []string{"", ""}},
		"its context": {func(r *trace.Recorder) {
			a, _ := r.Begin(bg, "a")
			b, _ := r.Begin(bg, "b")
			call(r, a, `1`)
			call(r, b, `1`)
			call(r, a, `1`)
		}, []string{"a", "b", "a"}},
		"its context, though another sent its key": {func(r *trace.Recorder) {
			a, _ := r.Begin(bg, "a")
			b, _ := r.Begin(bg, "b")
			call(r, a, `{"key":"k"}`)
			call(r, b, `{"key":"k"}`)
		}, []string{"a", "b"}},
		"its key": {func(r *trace.Recorder) {
			a, _ := r.Begin(bg, "a")
			b, _ := r.Begin(bg, "b")
			call(r, a, `{"key":"k-a","n":1}`)
			call(r, b, `{"key":"k-b","n":1}`)
			call(r, bg, `{"key":"k-b","n":1}`)
			call(r, bg, `{"key":"k-a","n":2}`)
		}, []string{"a", "b", "b", "a"}},
		"the only one, though it has ended": {func(r *trace.Recorder) {
			a, op := r.Begin(bg, "a")
			call(r, a, `1`)
			op.End(trace.Ending{})
			call(r, bg, `1`)
		}, []string{"a", "a"}},
		"the only open one": {func(r *trace.Recorder) {
			a, op := r.Begin(bg, "a")
			call(r, a, `1`)
			op.End(trace.Ending{})
			r.Begin(bg, "b")
			call(r, bg, `2`)
		}, []string{"a", "b"}},
		"equal arguments among the open ones": {func(r *trace.Recorder) {
			a, _ := r.Begin(bg, "a")
			b, _ := r.Begin(bg, "b")
			call(r, a, `{"x":1,"y":2}`)
			call(r, b, `{"x":3}`)
			call(r, bg, `{"y":2,"x":1.0}`)
		}, []string{"a", "b", "a"}},
		"equal arguments, detached, after the end of all": {func(r *trace.Recorder) {
			a, opA := r.Begin(bg, "a")
			b, opB := r.Begin(bg, "b")
			call(r, a, `1`)
			call(r, b, `2`)
			opA.End(trace.Ending{})
			opB.End(trace.Ending{})
			call(r, bg, `2`)
		}, []string{"a", "b", "b"}},
		"nobody for sure": {func(r *trace.Recorder) {
			a, _ := r.Begin(bg, "a")
			b, _ := r.Begin(bg, "b")
			call(r, a, `1`)
			call(r, b, `1`)
			call(r, bg, `1`)
			call(r, bg, `3`)
		}, []string{"a", "b", "?", "?"}},
		"another recorder's context": {func(r *trace.Recorder) {
			other := &trace.Recorder{}
			ctx, _ := other.Begin(bg, "foreign")
			r.Begin(bg, "own")
			call(r, ctx, `1`)
		}, []string{"own"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &trace.Recorder{Key: "key"} // redacted: the rule needs no clear text
			test.do(r)
			require.Equal(t, test.want, owners(r.Trace()))
		})
	}
}

func TestAmbiguousCallsAreMarkedAndInNoAction(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	r.Begin(t.Context(), "a")
	r.Begin(t.Context(), "b")
	p := call(r, t.Context(), `1`)
	p.Answer(trace.Outcome{Class: trace.OK}, nil, nil)
	r.Wait(t.Context(), time.Second)
	tr := r.Trace()
	require.Equal(t, []int{2}, tr.Ambiguous())
	r.Publish(t.Context(), trace.ReasonSuccess)
	require.Zero(t, p.Action())
	require.Zero(t, p.Attempt())
	require.Equal(t, 1, p.Number())
	for _, a := range tr.Actions() {
		require.Empty(t, a.Attempts)
		require.Empty(t, a.Waits)
		require.Empty(t, a.Published)
	}
}

func TestPendingKnowsActionAttemptAndKey(t *testing.T) {
	r := &trace.Recorder{Key: "meta.key"}
	ctx, op := r.Begin(t.Context(), "pay")
	require.Equal(t, 1, op.Number())
	call(r, ctx, `{"meta":{"key":"k-1"}}`)
	p := call(r, ctx, `{"meta":{"key":"k-1"}}`)
	require.Equal(t, 1, p.Action())
	require.Equal(t, 2, p.Attempt())
	require.Equal(t, "k-1", p.Key(), "a double needs the key itself")
	tr := r.Trace()
	require.NotContains(t, tr.Events[1].Key, "k-1")
	require.Equal(t, tr.Events[1].Key, tr.Events[2].Key)
	auth := r.Call(ctx, trace.Call{Tool: "bank", Role: trace.RoleAuth})
	require.Equal(t, 1, auth.Attempt(), "another role is another count")
}

func TestActionsOfOneNameAreTold(t *testing.T) {
	r := &trace.Recorder{}
	var names []string
	for _, name := range []string{"pay", "pay#2", "pay", "pay", "list", "pay#2", ""} {
		_, op := r.Begin(t.Context(), name)
		names = append(names, op.Name())
	}
	require.Equal(t, []string{"pay", "pay#2", "pay#3", "pay#4", "list", "pay#2#2", ""}, names)
}

func TestRecorderTakesManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &trace.Recorder{Key: "key"}
		tool := trace.Record(r, "bank", func(_ context.Context, in map[string]any) (string, error) {
			time.Sleep(time.Millisecond)
			return "ok", nil
		})
		sleep := r.Sleeper(nil)
		for i := range 50 {
			go func() {
				_, _ = trace.Do(t.Context(), r, "pay", func(ctx context.Context) (string, error) {
					for range 4 {
						_, _ = tool(ctx, map[string]any{"n": i, "key": fmt.Sprint(i)})
						_ = sleep(ctx, time.Second)
						_ = r.Trace().Timeline()
					}
					return "", errors.New("gave up")
				})
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		tr := r.Seal()
		actions := tr.Actions()
		require.Len(t, actions, 50)
		for _, a := range actions {
			require.Len(t, a.Attempts, 4)
			require.True(t, a.Ended)
		}
		again, _, err := writeRead(tr)
		require.NoError(t, err)
		require.True(t, sameTrace(tr, again))
	})
}

func TestSealEndsTheRecording(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "a")
	tr := r.Seal()
	p := call(r, ctx, `1`)
	p.Answer(trace.Outcome{}, nil, nil)
	op.End(trace.Ending{})
	require.Len(t, tr.Events, 1)
	require.Empty(t, r.Trace().Events)
}

func TestRecycledStorageKeepsNothing(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, _ := r.Begin(t.Context(), "secret")
	for range 20 {
		call(r, ctx, `"secret"`)
	}
	old := r.Seal()
	r = &trace.Recorder{Clear: true}
	r.Recycle(old)
	r.Recycle(nil)
	require.Empty(t, old.Events)
	ctx, _ = r.Begin(t.Context(), "a")
	r.Call(ctx, trace.Call{Tool: "t"})
	tr := r.Seal()
	require.Len(t, tr.Events, 2)
	require.Equal(t, trace.Event{At: tr.Events[1].At, Kind: trace.KindCall, Action: "a", Tool: "t", Call: 1}, tr.Events[1])
}

func TestArgumentsAreCopiedWhenTheyArrive(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	args := json.RawMessage(`{"n":1}`)
	p := r.Call(t.Context(), trace.Call{Tool: "t", Args: args})
	args[5] = '2'
	r.Call(t.Context(), trace.Call{Tool: "t", Args: args})
	result := json.RawMessage(`[1]`)
	p.Answer(trace.Outcome{Class: trace.OK}, result, nil)
	result[1] = '2'
	tr := r.Trace()
	require.Equal(t, `{"n":1}`, string(tr.Events[0].Args))
	require.Equal(t, `{"n":2}`, string(tr.Events[1].Args))
	require.Equal(t, `[1]`, string(tr.Events[2].Result))
}

func TestAClockThatIsSetBackStandsStill(t *testing.T) {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	r := &trace.Recorder{Clear: true, Clock: mock}
	ctx, _ := r.Begin(t.Context(), "a")
	mock.Set(mock.Now().Add(time.Second))
	call(r, ctx, `1`)
	mock.Set(mock.Now().Add(-time.Hour))
	call(r, ctx, `1`)
	tr := r.Trace()
	require.Equal(t, time.Second, tr.Events[1].At)
	require.Equal(t, time.Second, tr.Events[2].At)
	_, _, err := writeRead(tr)
	require.NoError(t, err)
}

func TestDeadlinesAreInstantsOfTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ctx, _ = r.Begin(ctx, "a")
		time.Sleep(time.Second)
		inner, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		call(r, inner, `1`)
		a := r.Trace().Actions()[0]
		require.Equal(t, 10*time.Second, a.Deadline)
		left, ok := a.Attempts[0].Remaining()
		require.True(t, ok)
		require.Equal(t, 2*time.Second, left)
	})
}

func TestAnOpTellsWhatOnlyItsDriverKnows(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	_, op := r.Begin(ctx, "a")
	op.Cancel()
	op.Publish(trace.ReasonCancelled)
	r.Publish(t.Context(), trace.ReasonCancelled)
	op.Trouble(trace.KindLeak, "one goroutine")
	op.End(trace.Ending{Reason: trace.ReasonCancelled, Err: context.Canceled, Want: json.RawMessage(` 1 `), Cause: -1, Count: 2})
	a := r.Trace().Actions()[0]
	require.True(t, a.Cancelled())
	require.Negative(t, a.Deadline)
	require.Equal(t, []int{2, 3}, a.Published)
	require.Equal(t, []int{4}, a.Troubles)
	require.Equal(t, "1", string(a.Want))
	require.Equal(t, -1, a.Cause)
	require.Equal(t, 2, a.Count)
	require.Equal(t, trace.ReasonCancelled, a.Reason)
}

func TestADeadlineAtTheStartIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		ctx, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		r.Begin(ctx, "a")
		require.Equal(t, time.Duration(-1), r.Trace().Actions()[0].Deadline)
	})
}

func TestDoRecordsACancelBeforeWhatComesOfIt(t *testing.T) {
	for range 100 { // context tells of a cancel on another goroutine: the order must not depend on it
		synctest.Test(t, func(t *testing.T) {
			r := &trace.Recorder{Clear: true}
			sleep := r.Sleeper(nil)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1500*time.Millisecond, cancel)
			tool := trace.Record(r, "bank", func(context.Context, int) (int, error) { return 0, io.ErrUnexpectedEOF })
			_, err := trace.Do(ctx, r, "pay", func(ctx context.Context) (int, error) {
				_, _ = tool(ctx, 1)
				err := sleep(ctx, 4*time.Second)
				_, _ = tool(ctx, 1)
				return 0, err
			})
			require.ErrorIs(t, err, context.Canceled)
			synctest.Wait()
			var kinds []string
			for _, e := range r.Seal().Events {
				kinds = append(kinds, e.Kind.String())
			}
			require.Equal(t, []string{"begin", "call", "answer", "wait", "cancel", "call", "answer", "end"}, kinds)
		})
	}
}

func TestDoTellsCancelsFromOtherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		do := func(ctx context.Context, after func()) trace.Action {
			r := &trace.Recorder{Clear: true}
			_, _ = trace.Do(ctx, r, "a", func(ctx context.Context) (int, error) { after(); return 1, ctx.Err() })
			synctest.Wait()
			return r.Trace().Actions()[0]
		}
		ctx, cancel := context.WithCancel(t.Context())
		a := do(ctx, func() {})
		cancel()
		require.False(t, a.Cancelled(), "a cancel after the end is none")
		require.Equal(t, trace.ReasonSuccess, a.Reason)
		a = do(ctx, func() {})
		require.True(t, a.Cancelled(), "cancelled before it began")
		require.Equal(t, 1, a.CancelAt)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a = do(ctx, func() { time.Sleep(2 * time.Second) })
		require.False(t, a.Cancelled(), "a deadline is no cancel")
		require.Equal(t, "context deadline exceeded", a.Error)
		require.Zero(t, a.Reason)
	})
}

func TestPanicsAreRecordedAndGoOn(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	tool := trace.Record(r, "bank", func(context.Context, int) (int, error) { panic("odd") })
	require.PanicsWithValue(t, "odd", func() {
		_, _ = trace.Do(t.Context(), r, "pay", func(ctx context.Context) (int, error) { return tool(ctx, 1) })
	})
	a := r.Trace().Actions()[0]
	require.Len(t, a.Troubles, 1)
	require.Equal(t, trace.Unknown, a.Attempts[0].Outcome.Class)
	require.False(t, a.Ended)
}

func TestObservingChangesNothing(t *testing.T) {
	r := &trace.Recorder{}
	p := call(r, t.Context(), `1`)
	p.Answer(trace.Outcome{Class: trace.Unknown}, nil, textPanics{})
	p = call(r, t.Context(), `1`)
	p.Answer(trace.Outcome{Class: trace.Unknown}, nil, errors.New(""))
	for _, e := range r.Trace().Events {
		require.Equal(t, e.Kind == trace.KindAnswer, e.Error != "", "there is a text where there is an error")
	}
}

type textPanics struct{}

func (textPanics) Error() string { panic("odd") }

func TestSleeperWritesDownWhatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		ctx, _ := r.Begin(t.Context(), "a")
		call(r, ctx, `1`).Answer(trace.Outcome{Class: trace.Transient}, nil, io.EOF)
		require.NoError(t, r.Sleeper(nil)(ctx, 2*time.Second))
		require.NoError(t, r.Sleeper(func(ctx context.Context, d time.Duration) error { time.Sleep(d / 2); return nil })(ctx, time.Second))
		call(r, ctx, `1`)
		at := r.Trace().Actions()[0].Attempts[1]
		require.True(t, at.Slept)
		require.Equal(t, 3*time.Second, at.Planned)
		require.Equal(t, 2500*time.Millisecond, at.Gap)
		cancelled, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, r.Sleeper(nil)(cancelled, time.Hour), context.DeadlineExceeded)
	})
}

func TestSleeperRunsOnAMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble is here to wait for the sleeper, not for its time
		mock := clock.NewMock()
		r := &trace.Recorder{Clear: true, Clock: mock}
		done := false
		go func() {
			_ = r.Sleeper(nil)(t.Context(), time.Minute)
			done = true
		}()
		synctest.Wait()
		mock.Add(59 * time.Second)
		synctest.Wait()
		require.False(t, done)
		mock.Add(time.Second)
		synctest.Wait()
		require.True(t, done)
		require.Equal(t, time.Minute, r.Trace().Events[0].Wait)
	})
}

// Do tells which attempt's error the returned one keeps: the last, an earlier
// one, or none; and nothing where there was no error that could be kept.
func TestDoTellsWhoseErrorIsKept(t *testing.T) {
	first, last := errors.New("first"), &oddError{errors.New("last")}
	for name, tc := range map[string]struct {
		end  func() error
		want int
	}{
		"success": {func() error { return nil }, 0},
		"wrapped": {func() error { return fmt.Errorf("gave up: %w", last) }, 2},
		"as text": {func() error { return fmt.Errorf("gave up: %v", last) }, 2},
		"earlier": {func() error { return first }, 1},
		"made up": {func() error { return errors.New("sorry") }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			r, errs := &trace.Recorder{Clear: true}, []error{first, last}
			tool := trace.Record(r, "bank", func(_ context.Context, n int) (int, error) { return 0, errs[n] })
			_, err := trace.Do(t.Context(), r, "a", func(ctx context.Context) (int, error) {
				for n := range errs {
					_, _ = tool(ctx, n)
				}
				return 0, tc.end()
			})
			require.Equal(t, tc.end() == nil, err == nil)
			require.Equal(t, tc.want, r.Trace().Actions()[0].Cause)
		})
	}
	t.Run("an error that cannot be compared", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		tool := trace.Record(r, "bank", func(context.Context, int) (int, error) { return 0, listError{[]int{1}} })
		_, _ = trace.Do(t.Context(), r, "a", func(ctx context.Context) (int, error) { return tool(ctx, 1) })
		require.Equal(t, 1, r.Trace().Actions()[0].Cause)
	})
	t.Run("a status", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		_, _ = trace.Do(t.Context(), r, "a", func(ctx context.Context) (int, error) {
			call(r, ctx, `1`).Answer(trace.Outcome{Class: trace.Transient, Code: "503"}, nil, nil)
			return 0, errors.New("the bank is down")
		})
		require.Zero(t, r.Trace().Actions()[0].Cause)
	})
	t.Run("an interrupt", func(t *testing.T) {
		r := &trace.Recorder{Clear: true}
		_, _ = trace.Do(t.Context(), r, "a", func(ctx context.Context) (int, error) {
			p := call(r, ctx, `1`)
			p.Interrupt(trace.Outcome{Class: trace.Timeout})
			p.Answer(trace.Outcome{Class: trace.Transient}, nil, first)
			return 0, context.DeadlineExceeded
		})
		require.Zero(t, r.Trace().Actions()[0].Cause)
	})
}
