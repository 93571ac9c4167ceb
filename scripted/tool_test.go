package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

var (
	_ scripted.TB = (*testing.T)(nil)
	_ scripted.TB = (*testing.B)(nil)
	_ scripted.TB = (*testing.F)(nil)
)

// retry is the code under test of this file: attempts with a pause in between.
func retry[In, Out any](ctx context.Context, tool trace.Func[In, Out], in In, attempts int, pause time.Duration) (out Out, err error) {
	for n := range attempts {
		if n > 0 {
			time.Sleep(pause)
		}
		if out, err = tool(ctx, in); err == nil {
			return out, nil
		}
	}
	return out, err
}

// attempts returns those of the only action of a trace.
func attempts(t *testing.T, tr *trace.Trace) []trace.Attempt {
	t.Helper()
	actions := tr.Actions()
	require.Len(t, actions, 1)
	return actions[0].Attempts
}

func classes(all []trace.Attempt) (list []trace.Class) {
	for _, a := range all {
		list = append(list, a.Outcome.Class)
	}
	return list
}

func TestStepsAnswerInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").
			Fail(trace.Transient, errUnavailable).Times(2).
			Return(Forecast{Celsius: 19})

		got, err := retry(t.Context(), weather.Call, pune, 3, time.Second)
		require.NoError(t, err)
		require.Equal(t, Forecast{Celsius: 19}, got)
		require.Equal(t, []Query{pune, pune, pune}, weather.Args())
		require.Equal(t, 3, weather.Calls())

		all := attempts(t, weather.Trace())
		require.Equal(t, []trace.Class{trace.Transient, trace.Transient, trace.OK}, classes(all))
		require.Equal(t, time.Second, all[2].Gap)
		require.JSONEq(t, `{"city":"Pune"}`, string(all[2].Args))
		require.JSONEq(t, `{"celsius":19}`, string(all[2].Result))
	})
}

func TestAnswerTakesItsTime(t *testing.T) {
	for name, tc := range map[string]struct {
		script func(*scripted.Tool[Query, Forecast])
		want   error
		class  trace.Class
		after  time.Duration
	}{
		"returns in time":  {func(w *scripted.Tool[Query, Forecast]) { w.Return(Forecast{}).After(time.Second) }, nil, trace.OK, time.Second},
		"fails in time":    {func(w *scripted.Tool[Query, Forecast]) { w.Fail(trace.Transient, errUnavailable).After(time.Second) }, errUnavailable, trace.Transient, time.Second},
		"returns too late": {func(w *scripted.Tool[Query, Forecast]) { w.Return(Forecast{}).After(time.Minute) }, context.DeadlineExceeded, trace.Timeout, 5 * time.Second},
		"hangs":            {func(w *scripted.Tool[Query, Forecast]) { w.Hang() }, context.DeadlineExceeded, trace.Timeout, 5 * time.Second},
		"answers late":     {func(w *scripted.Tool[Query, Forecast]) { w.Return(Forecast{}).After(time.Minute).Deaf() }, nil, trace.Timeout, time.Minute},
		"does something": {func(w *scripted.Tool[Query, Forecast]) {
			w.Do(func(context.Context, Query) (Forecast, error) { return Forecast{}, errUnavailable }).After(time.Second)
		}, errUnavailable, trace.Unknown, time.Second},
		"loses the reply": {func(w *scripted.Tool[Query, Forecast]) { w.Lose(trace.Reset, errUnavailable).After(time.Minute) }, context.DeadlineExceeded, trace.Timeout, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				weather := scripted.NewTool[Query, Forecast](t, "weather")
				tc.script(weather)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				_, err := weather.Call(ctx, pune)
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, tc.after, time.Since(start))
				require.Equal(t, []trace.Class{tc.class}, classes(attempts(t, weather.Trace())), "as the caller saw it")
			})
		})
	}
}

func TestLateAnswerIsWrittenDownBesideTheInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{}).After(time.Minute).Deaf()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := weather.Call(ctx, pune)
		require.NoError(t, err)
		only := attempts(t, weather.Trace())[0]
		require.Equal(t, trace.Cancelled, only.Outcome.Class)
		require.Equal(t, time.Second, only.Interrupted)
		require.Equal(t, time.Minute, only.Answered)
	})
}

func TestEndedContextTakesItsStep(t *testing.T) {
	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Return(Forecast{}).
		Return(Forecast{}).Deaf()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := weather.Call(ctx, pune)
	require.ErrorIs(t, err, context.Canceled)
	_, err = weather.Call(ctx, pune)
	require.NoError(t, err)
}

func TestPanicComesFromTheCallersGoroutine(t *testing.T) {
	weather := scripted.NewTool[Query, Forecast](t, "weather").Panic("oops").After(0)
	require.PanicsWithValue(t, "oops", func() { _, _ = weather.Call(t.Context(), pune) })
	require.Equal(t, []trace.Class{trace.Unknown}, classes(attempts(t, weather.Trace())))
}

func TestFunctionAnswersWithWhatItIsGiven(t *testing.T) {
	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Do(func(_ context.Context, q Query) (Forecast, error) { return Forecast{Notes: []string{q.City}}, nil })
	got, err := weather.Call(t.Context(), pune)
	require.NoError(t, err)
	require.Equal(t, []string{"Pune"}, got.Notes)
}

type sized struct{ Parts []string }

func TestArgumentsAndAnswersAreCopies(t *testing.T) {
	answer := Forecast{Notes: []string{"dry"}}
	tool := scripted.NewTool[*sized, Forecast](t, "weather").Return(answer).Times(2)
	answer.Notes[0] = "changed after the script"

	in := &sized{Parts: []string{"a"}}
	first, _ := tool.Call(t.Context(), in)
	first.Notes[0] = "changed by the caller"
	in.Parts[0] = "b"
	second, _ := tool.Call(t.Context(), in)

	require.Equal(t, []string{"dry"}, second.Notes)
	require.Equal(t, []*sized{{[]string{"a"}}, {[]string{"b"}}}, tool.Args())
	tool.Args()[0].Parts[0] = "changed by a reader"
	require.Equal(t, "a", tool.Args()[0].Parts[0])
}

func TestMeansSaysHowAnAnswerReads(t *testing.T) {
	pay := scripted.NewTool[Query, Forecast](t, "pay").
		Fail(trace.Throttled, errUnavailable).Hint(2 * time.Second).
		Return(Forecast{}).Means(trace.Declined)
	_, _ = pay.Call(t.Context(), pune)
	_, err := pay.Call(t.Context(), pune)
	require.NoError(t, err)
	all := attempts(t, pay.Trace())
	require.Equal(t, trace.Outcome{Class: trace.Throttled, Hint: 2 * time.Second}, all[0].Outcome)
	require.Equal(t, trace.Declined, all[1].Outcome.Class)
}

type payment struct {
	Key    string    `json:"idempotency_key"`
	Amount int       `json:"amount"`
	SentAt time.Time `json:"sent_at"`
}

func TestKeyAndVolatileFieldsAreNotCompared(t *testing.T) {
	pay := scripted.NewTool[payment, string](t, "pay").
		Key("idempotency_key").Volatile("sent_at").
		Fail(trace.Timeout, errUnavailable).
		Return("ch-1")
	_, _ = pay.Call(t.Context(), payment{"k1", 7, time.Unix(1, 0)})
	_, _ = pay.Call(t.Context(), payment{"k2", 7, time.Unix(2, 0)})
	all := attempts(t, pay.Trace())
	require.Equal(t, `{"amount":7}`, string(all[0].Args))
	require.Equal(t, string(all[0].Args), string(all[1].Args))
	require.Equal(t, "k1", all[0].Key)
	require.Equal(t, "k2", all[1].Key)
}

func TestDoublesShareARecorder(t *testing.T) {
	rec := &trace.Recorder{Clear: true}
	token := scripted.NewTool[string, string](t, "token").Into(rec).As(trace.RoleAuth).Return("t1").Any()
	weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).Return(Forecast{})
	_, err := trace.Do(t.Context(), rec, "forecast", func(ctx context.Context) (Forecast, error) {
		_, _ = token.Call(ctx, "me")
		return weather.Call(ctx, pune)
	})
	require.NoError(t, err)
	require.Len(t, attempts(t, rec.Trace()), 1, "authentication is no attempt")
	require.Len(t, weather.Trace().Events, 6)
}

func TestLatencyRunsOnTheRecordersClock(t *testing.T) {
	for name, with := range map[string]func(*scripted.Tool[Query, Forecast], *clock.Mock){
		"its own":        func(w *scripted.Tool[Query, Forecast], m *clock.Mock) { w.Clock(m) },
		"the recorder's": func(w *scripted.Tool[Query, Forecast], m *clock.Mock) { w.Into(&trace.Recorder{Clock: m}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mock := clock.NewMock()
				weather := scripted.NewTool[Query, Forecast](t, "weather").Return(Forecast{}).After(time.Second)
				with(weather, mock)
				done := make(chan error, 1)
				go func() {
					_, err := weather.Call(t.Context(), pune)
					done <- err
				}()
				synctest.Wait()
				mock.Add(time.Second)
				require.NoError(t, <-done)
			})
		})
	}
}

func TestCallJSONTakesWhatAModelWrites(t *testing.T) {
	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Return(Forecast{Celsius: 19}).
		Fail(trace.Transient, errUnavailable).
		Return(Forecast{})
	out, err := weather.CallJSON(t.Context(), json.RawMessage(`{"city":"Pune"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"celsius":19}`, string(out))
	_, err = weather.CallJSON(t.Context(), json.RawMessage(`{"city":"Pune"}`))
	require.ErrorIs(t, err, errUnavailable)
	_, err = weather.CallJSON(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []Query{pune, pune, {}}, weather.Args())
}

func TestWrongArgumentsTakeNoStep(t *testing.T) {
	for _, args := range []string{`{"town":"Pune"}`, `[]`, `{"city":7}`, `{"city":"a"} {}`, `{"city"`} {
		reports := watch(t, func(m *memory) {
			weather := scripted.NewTool[Query, Forecast](m, "weather").Return(Forecast{})
			_, err := weather.CallJSON(t.Context(), json.RawMessage(args))
			require.ErrorIs(t, err, scripted.ErrArguments)
			require.Equal(t, trace.Invalid, trace.Classify(err).Class)
			_, err = weather.Call(t.Context(), pune)
			require.NoError(t, err)
		})
		require.Len(t, reports, 1, args)
	}
}

func TestExtraCallIsAnErrorThatCallsItselfFinal(t *testing.T) {
	watch(t, func(m *memory) {
		_, err := scripted.NewTool[Query, Forecast](m, "weather").Call(t.Context(), pune)
		require.ErrorIs(t, err, scripted.ErrExtraCall)
		own, ok := errors.AsType[*scripted.Error](fmt.Errorf("wrapped: %w", err))
		require.True(t, ok)
		require.Equal(t, "weather", own.Tool)
		require.Equal(t, 1, own.Call)
		require.Equal(t, trace.Outcome{Class: trace.Unknown, Advice: trace.AdviceStop}, trace.Classify(err))
		require.False(t, own.Retryable())
	})
}

func TestUnusedStepsAreAllowedWhenAsked(t *testing.T) {
	requireQuiet(t, watch(t, func(m *memory) {
		scripted.NewTool[Query, Forecast](m, "weather").AllowUnused().Return(Forecast{})
		scripted.NewTool[Query, Forecast](m, "weather").Return(Forecast{}).Any()
	}))
}

func TestManyGoroutinesTakeEachStepOnce(t *testing.T) {
	const callers, calls = 16, 25
	weather := scripted.NewTool[Query, Forecast](t, "weather").
		Fail(trace.Transient, errUnavailable).Times(callers * calls / 2).
		Return(Forecast{Notes: []string{"dry"}}).Times(callers * calls / 2)
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for range callers {
		wg.Go(func() {
			for range calls {
				got, err := weather.Call(t.Context(), pune)
				if err == nil {
					got.Notes[0] = "changed"
					continue
				}
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, callers*calls/2, failed)
	require.Len(t, attempts(t, weather.Trace()), callers*calls)
}

func TestExtraCallsOfManyGoroutinesAreOneReport(t *testing.T) {
	reports := watch(t, func(m *memory) {
		weather := scripted.NewTool[Query, Forecast](m, "weather").Return(Forecast{})
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { _, _ = weather.Call(t.Context(), pune) })
		}
		wg.Wait()
	})
	require.Len(t, reports, 1)
}

func TestHangHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weather := scripted.NewTool[Query, Forecast](t, "weather").
			Hang().
			Return(Forecast{}).After(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		hung := make(chan error, 1)
		go func() {
			_, err := weather.Call(ctx, pune)
			hung <- err
		}()
		synctest.Wait()
		_, err := weather.Call(t.Context(), pune)
		require.NoError(t, err)
		require.Len(t, weather.Args(), 2)
		cancel()
		require.ErrorIs(t, <-hung, context.Canceled)
	})
}

func BenchmarkCall(b *testing.B) {
	weather := scripted.NewTool[Query, Forecast](b, "weather").Return(Forecast{Celsius: 19}).Any()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := weather.Call(ctx, pune); err != nil {
			b.Fatal(err)
		}
	}
}

func TestConflictReadsAsOneWhateverTheRecordersClassifier(t *testing.T) {
	rec := &trace.Recorder{Classify: func(error) trace.Outcome { return trace.Outcome{Class: trace.Forbidden} }}
	books := &scripted.Ledger{Dedupe: true}
	fails := func(context.Context, payment) (string, error) { return "", errUnavailable }
	pay := payTool(t, books).Into(rec).Return("ch-1").Do(fails).Do(fails)
	for _, p := range []payment{{Key: "k1", Amount: 7}, {Key: "k1", Amount: 8}, {Key: "k2", Amount: 7}} {
		_, _ = pay.Call(t.Context(), p)
	}
	require.Equal(t, []trace.Class{trace.OK, trace.Conflict, trace.Forbidden}, classes(attempts(t, rec.Trace())))
}

func TestFunctionThatDoesNotReturnHasAnAnswerInTheTrace(t *testing.T) {
	for name, f := range map[string]func(){
		"panics":             func() { panic("oops") },
		"ends its goroutine": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			rec := &trace.Recorder{Clear: true}
			srv := scripted.NewServer(t).Into(rec)
			payRoute(srv).Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
			weather := scripted.NewTool[Query, Forecast](t, "weather").Into(rec).
				Do(func(context.Context, Query) (Forecast, error) { f(); return Forecast{}, nil })
			var wg sync.WaitGroup
			for _, call := range []func(){
				func() { _, _ = weather.Call(t.Context(), pune) },
				func() { _, _ = srv.RoundTrip(post(t, t.Context(), nil)) },
			} {
				wg.Go(func() {
					defer func() { _ = recover() }()
					call()
				})
			}
			wg.Wait()
			require.Equal(t, []trace.Class{trace.Unknown, trace.Unknown}, classes(attempts(t, rec.Trace())))
		})
	}
}
