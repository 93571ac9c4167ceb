package scripted_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-go/rehearse/scripted"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func payTool(t scripted.TB, books *scripted.Ledger) *scripted.Tool[payment, string] {
	return scripted.NewTool[payment, string](t, "pay").
		Ledger(books).Key("idempotency_key").Volatile("sent_at")
}

func TestLostReplyIsAnEffectAllTheSame(t *testing.T) {
	for name, tc := range map[string]struct {
		dedupe  bool
		second  string
		effects int
	}{
		"a server that knows no keys": {false, "k1", 2},
		"the same key":                {true, "k1", 1},
		"a fresh key":                 {true, "k2", 2},
		"no key":                      {true, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			books := &scripted.Ledger{Dedupe: tc.dedupe}
			pay := payTool(t, books).Lose(trace.Reset, errUnavailable).Return("ch-1")
			_, err := pay.Call(t.Context(), payment{Key: "k1", Amount: 7})
			require.ErrorIs(t, err, errUnavailable)
			got, err := pay.Call(t.Context(), payment{Key: tc.second, Amount: 7, SentAt: time.Unix(5, 0)})
			require.NoError(t, err)
			require.Equal(t, "ch-1", got)
			require.Equal(t, tc.effects, books.Count())
			require.Equal(t, tc.effects, books.ByAction()[1])
			require.Len(t, effects(pay.Trace()), tc.effects)
		})
	}
}

func effects(tr *trace.Trace) (list []trace.Event) {
	for _, e := range tr.Events {
		if e.Kind == trace.KindEffect {
			list = append(list, e)
		}
	}
	return list
}

func TestKnownKeyIsAnsweredWithItsFirstResult(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	ran := 0
	pay := payTool(t, books).
		Return("ch-1").
		Return("ch-2").
		Do(func(context.Context, payment) (string, error) { ran++; return "ch-3", nil })
	for range 3 {
		got, err := pay.Call(t.Context(), payment{Key: "k1", Amount: 7})
		require.NoError(t, err)
		require.Equal(t, "ch-1", got)
	}
	require.Zero(t, ran)
	require.Equal(t, map[string]int{"k1": 1}, books.ByKey())
	require.Equal(t, 2, books.Repeats())
	require.Equal(t, []scripted.Effect{{Tool: "pay", Key: "k1", Action: 1, Args: []byte(`{"amount":7}`)}}, books.Effects())
}

func TestKeyWithOtherArgumentsIsAConflict(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	pay := payTool(t, books).Return("ch-1").Return("ch-2").Lose(trace.Reset, errUnavailable)
	_, err := pay.Call(t.Context(), payment{Key: "k1", Amount: 7})
	require.NoError(t, err)
	for range 2 {
		_, err = pay.Call(t.Context(), payment{Key: "k1", Amount: 8})
		conflict, ok := errors.AsType[*scripted.Conflict](err)
		require.True(t, ok)
		require.False(t, conflict.Busy)
		require.EqualError(t, err, `pay: key "k1" was used with other arguments`)
		require.Equal(t, trace.Conflict, trace.Classify(err).Class)
	}
	require.Equal(t, []trace.Class{trace.OK, trace.Conflict, trace.Conflict}, classes(attempts(t, pay.Trace())))
	require.Equal(t, 1, books.Count())
}

func TestFailureIsNoEffect(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	fails := func(context.Context, payment) (string, error) { return "", errUnavailable }
	pay := payTool(t, books).
		Fail(trace.Transient, errUnavailable).
		Do(fails).
		Return("no").Means(trace.Declined).
		Return("ch-1")
	for range 4 {
		_, _ = pay.Call(t.Context(), payment{Key: "k1", Amount: 7})
	}
	require.Equal(t, 1, books.Count())
	require.Zero(t, books.Repeats())
}

func TestEffectComesWithTheAnswerOrAtTheArrivalWhereItIsDone(t *testing.T) {
	for name, tc := range map[string]struct {
		script func(*scripted.Tool[payment, string])
		want   int
	}{
		"a slow answer is never reached": {func(p *scripted.Tool[payment, string]) { p.Return("ch").After(time.Minute) }, 0},
		"a deaf tool finishes":           {func(p *scripted.Tool[payment, string]) { p.Return("ch").After(time.Minute).Deaf() }, 1},
		"a slow answer that is done":     {func(p *scripted.Tool[payment, string]) { p.Return("ch").After(time.Minute).Done() }, 1},
		"a hang":                         {func(p *scripted.Tool[payment, string]) { p.Hang() }, 0},
		"a hang that is done":            {func(p *scripted.Tool[payment, string]) { p.Hang().Done() }, 1},
		"a slow loss":                    {func(p *scripted.Tool[payment, string]) { p.Lose(trace.Timeout, errUnavailable).After(time.Minute) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				books := &scripted.Ledger{}
				pay := payTool(t, books)
				tc.script(pay)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _ = pay.Call(ctx, payment{Key: "k1"})
				require.Equal(t, tc.want, books.Count())
				require.Len(t, effects(pay.Trace()), tc.want)
			})
		})
	}
}

func TestKeyOfACallAtWorkIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := &scripted.Ledger{Dedupe: true}
		slow := func(context.Context, payment) (string, error) { time.Sleep(time.Second); return "ch-1", nil }
		pay := payTool(t, books).Do(slow).Return("ch-2").Return("ch-3")
		go func() { _, _ = pay.Call(t.Context(), payment{Key: "k1"}) }()
		synctest.Wait()
		_, err := pay.Call(t.Context(), payment{Key: "k1"})
		require.EqualError(t, err, `pay: a call with key "k1" is still at work`)
		time.Sleep(2 * time.Second)
		got, err := pay.Call(t.Context(), payment{Key: "k1"})
		require.NoError(t, err)
		require.Equal(t, "ch-1", got)
	})
}

func TestPanicInAnEffectForgetsItsKey(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	e := scripted.Effect{Tool: "pay", Key: "k1"}
	require.Panics(t, func() { _, _, _ = books.Apply(e, func() (any, error) { panic("oops") }) })
	_, first, err := books.Apply(e, func() (any, error) { return 1, nil })
	require.NoError(t, err)
	require.True(t, first)
}

func TestKeysOfTwoToolsAreTheirOwn(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	for _, tool := range []string{"pay", "refund"} {
		first, err := books.Lose(scripted.Effect{Tool: tool, Key: "k1", Action: 2})
		require.NoError(t, err)
		require.True(t, first)
	}
	require.Equal(t, map[string]int{"k1": 2}, books.ByKey())
	require.Equal(t, map[int]int{2: 2}, books.ByAction())
}

func TestLedgerCountsManyGoroutinesAtOnce(t *testing.T) {
	books := &scripted.Ledger{Dedupe: true}
	pay := payTool(t, books).Return("ch-1").Any()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { _, _ = pay.Call(t.Context(), payment{Key: "k1", Amount: 7}) })
	}
	wg.Wait()
	require.Equal(t, 1, books.Count())
	require.NotContains(t, classes(attempts(t, pay.Trace())), trace.Conflict, "a result that is there is never still at work")
}

// Credentials and questions are not what the action is for: a payment that was
// made once is one effect, however often its state was asked for.
func TestOtherRolesHaveNoEffect(t *testing.T) {
	books := &scripted.Ledger{}
	srv := scripted.NewServer(t).Ledger(books)
	srv.Route("POST", "auth.test", "/token").As(trace.RoleAuth).JSON(200, "t")
	srv.Route("GET", "pay.test", "/charges").As(trace.RoleReconcile).Handle(scripted.JSON(200, "ch-1"))
	srv.Route("POST", "pay.test", "/charges").JSON(201, "ch-1")
	ask := scripted.NewTool[string, string](t, "ask").Ledger(books).As(trace.RoleReconcile).
		Return("ch-1").Do(func(context.Context, string) (string, error) { return "ch-1", nil })
	for _, r := range []struct{ method, url string }{
		{"POST", "http://auth.test/token"}, {"POST", "http://pay.test/charges"}, {"GET", "http://pay.test/charges"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, r.url, nil)
		require.NoError(t, err)
		resp, err := srv.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	for range 2 {
		got, err := ask.Call(t.Context(), "ch-1")
		require.NoError(t, err)
		require.Equal(t, "ch-1", got)
	}
	require.Equal(t, 1, books.Count())
	require.Len(t, effects(srv.Trace()), 1)
	require.Empty(t, effects(ask.Trace()))
}
