package faultsim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// sabotageOf commits each sin a few times.
func sabotageOf(t *testing.T, a Adapter, test Test) SabotageOutcome {
	t.Helper()
	if a.Trials == 0 {
		a.Trials = 100
	}
	if test.Occasions == 0 {
		test.Occasions = 3
	}
	o, err := ExploreSabotage(t, a, test)
	require.NoError(t, err)
	return o
}

// sin is the sin of that name.
func (o SabotageOutcome) sin(name string) *Sin {
	return &o.Sins[slices.IndexFunc(o.Sins, func(s Sin) bool { return s.Name == name })]
}

func TestSabotageOfARightLoopIsNoticed(t *testing.T) {
	o := sabotageOf(t, homeAdapter(), Test{})
	for _, s := range o.Sins {
		assert.Equal(t, s.Occasions, s.Noticed, "%s\n%s", s.Name, s.Schedule)
	}
	golden(t, "sabotage", o.String())
}

func TestSabotagePassesWhereEverySinIsNoticed(t *testing.T) {
	a := homeAdapter()
	a.Trials = 50
	Sabotage(t, a)
}

// A test written by hand is blind for all that it does not look at.
func TestATestByHandNoticesWhatItAsserts(t *testing.T) {
	busy := Fail(trace.Transient)
	o := sabotageOf(t, homeAdapter(), Test{
		Schedules: []Schedule{One(busy, busy), One(busy, busy, busy)},
		Judge: func(tr *trace.Trace) error {
			if n := len(tr.Actions()[0].Attempts); n != 3 {
				return fmt.Errorf("%d attempts", n)
			}
			return nil
		},
	})
	for name, seen := range map[string]bool{
		"one-attempt-too-many": true, "gives-up-early": true, "repeats-a-success": true,
		"wait-cut-short": false, "wait-stretched": false, "argument-changed": false, "result-dropped": false, "success-invented": false,
	} {
		s := o.sin(name)
		assert.NotZero(t, s.Occasions, name)
		assert.Equal(t, !seen, s.Blind(), "%s: noticed %d of %d", name, s.Noticed, s.Occasions)
	}
	assert.Equal(t, []Witness{{"the test", 1}}, o.sin("one-attempt-too-many").By)
	assert.Equal(t, "a judge that asks the rule waits-in-window, which saw it", o.sin("wait-cut-short").Eye)
	golden(t, "sabotage-by-hand", o.String())
}

// A rule that is broken anyway has seen nothing, and an accepted one would have.
func TestARuleThatIsNamedForASinHasSeenIt(t *testing.T) {
	a := homeAdapter()
	a.Accept = map[string]string{"waits-in-window": "they are as they are"}
	a.Invariants = []invariants.Invariant{{Name: "always-out", Rule: "nothing is right", Check: func(*trace.Trace) invariants.Verdict {
		return invariants.Verdict{Applied: 1, Findings: []invariants.Finding{{Text: "it is not"}}}
	}}}
	busy := Fail(trace.Transient)
	o := sabotageOf(t, a, Test{Schedules: []Schedule{One(busy, busy)}, Judge: func(*trace.Trace) error { return nil }})
	assert.Equal(t, "a judge that asks the rule waits-in-window, which saw it", o.sin("wait-stretched").Eye)
	assert.Equal(t, "a judge that asks the rule conforms, which saw it", o.sin("gives-up-early").Eye)
	for _, s := range o.Sins {
		assert.NotContains(t, s.Eye, "always-out", s.Name)
	}
}

func TestAJudgeThatPanicsHasNoticed(t *testing.T) {
	o := sabotageOf(t, homeAdapter(), Test{
		Schedules: []Schedule{One(Fail(trace.Transient))},
		Judge:     func(tr *trace.Trace) error { _ = tr.Actions()[0].Attempts[1]; return nil },
	})
	assert.Equal(t, 1, o.sin("gives-up-early").Noticed)
	assert.True(t, o.sin("wait-stretched").Blind())
}

// What the policy does not declare is nobody's sin, and what the adapter does not
// declare is not seen.
func TestABlindSpotFollowsFromWhatIsNotDeclared(t *testing.T) {
	t.Run("a result of another type, without Want", func(t *testing.T) {
		a := homeAdapter()
		subject := a.Subject
		a.Subject = func(s *Stage) Action {
			do := subject(s)
			return func(ctx context.Context) (any, error) {
				n, err := do(ctx)
				return fmt.Sprint(n, " degrees"), err
			}
		}
		o := sabotageOf(t, a, Test{})
		assert.True(t, o.sin("result-dropped").Blind())
		assert.True(t, o.sin("result-altered").Blind())
		golden(t, "blind-spot", o.sin("result-dropped").complaint())

		a.Want = "19 degrees"
		o = sabotageOf(t, a, Test{})
		assert.Equal(t, o.sin("result-dropped").Occasions, o.sin("result-dropped").Noticed)
		assert.Equal(t, o.sin("result-altered").Occasions, o.sin("result-altered").Noticed)
	})
	t.Run("a limit of the attempt that is not declared", func(t *testing.T) {
		a := homeAdapter()
		assert.NotZero(t, sabotageOf(t, a, Test{}).sin("attempt-without-a-limit").Occasions)
		a.Policy.Attempt, a.Policy.Retry = 0, []trace.Class{trace.Transient}
		assert.Zero(t, sabotageOf(t, a, Test{}).sin("attempt-without-a-limit").Occasions)
	})
	t.Run("rules that the test leaves out", func(t *testing.T) {
		rules := []invariants.Invariant{invariants.MaxAttempts(3), invariants.StopAfterSuccess()}
		o := sabotageOf(t, homeAdapter(), Test{Judge: func(tr *trace.Trace) error {
			if found := invariants.Find(tr, rules...); len(found) > 0 {
				return errors.New(found[0].String())
			}
			return nil
		}})
		assert.False(t, o.sin("one-attempt-too-many").Blind())
		assert.True(t, o.sin("argument-changed").Blind())
	})
}

// The key of an HTTP request is an occasion whether or not the policy knows it.
func TestAFreshKeyIsNoticed(t *testing.T) {
	policy := homePolicy()
	policy.Attempt, policy.Retry, policy.Repeatable = 0, []trace.Class{trace.Transient}, false
	a := Adapter{Name: "pay", Policy: policy, Subject: func(s *Stage) Action {
		client := s.Client(Route{Tool: "bank", Method: http.MethodPost, Failures: map[trace.Class]http.Handler{trace.Malformed: nil}})
		return func(ctx context.Context) (any, error) { return nil, pays(ctx, client, trace.ActionName(ctx)) }
	}}
	a.Policy.Key = "Idempotency-Key"
	o := sabotageOf(t, a, Test{})
	for _, name := range []string{"fresh-key", "key-lost", "argument-changed"} {
		s := o.sin(name)
		assert.NotZero(t, s.Occasions, name)
		assert.Equal(t, s.Occasions, s.Noticed, name)
	}
	assert.Equal(t, "one-key", o.sin("fresh-key").By[0].Invariant)

	a.Policy.Key, a.Policy.Repeatable = "", true // the header is known by its name
	s := sabotageOf(t, a, Test{}).sin("key-lost")
	assert.NotZero(t, s.Occasions)
	assert.Equal(t, s.Occasions, s.Noticed)
}

// pays posts up to three times, with one key.
func pays(ctx context.Context, client *http.Client, key string) error {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/pay", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", key)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		hint, _ := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		if date, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
			hint = time.Until(date)
		}
		switch {
		case resp.StatusCode == http.StatusOK:
			return nil
		case n == 3 || resp.StatusCode != http.StatusServiceUnavailable:
			return errors.New(resp.Status)
		}
		if err := pause(ctx, max(wait, hint)); err != nil {
			return err
		}
		wait *= 2
	}
}

func TestSabotageWantsARightSubject(t *testing.T) {
	a := loopAdapter(loop{attempts: 4})
	a.Trials = 100
	_, err := ExploreSabotage(t, a, Test{})
	require.ErrorContains(t, err, "faultsim: the test fails without any sabotage, by ")
	require.ErrorContains(t, err, "mend that first")

	_, err = ExploreSabotage(t, homeAdapter(), Test{Schedules: []Schedule{{}}, Judge: func(*trace.Trace) error { return errors.New("no") }})
	require.ErrorContains(t, err, "by the test")
}

func TestSabotageComplainsOfBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Adapter, *Test)
		want   string
	}{
		"occasions": {func(_ *Adapter, x *Test) { x.Occasions = -1 }, "faultsim: Test.Occasions is -1: say how often each sin is committed, or 0 for 20 times"},
		"adapter":   {func(a *Adapter, _ *Test) { a.Name = "" }, "Name is empty"},
		"schedule": {func(_ *Adapter, x *Test) {
			x.Schedules = []Schedule{{Actions: []Plan{{Faults: map[string][]Fault{"sea": {Fail(trace.Transient)}}}}}}
		}, `the schedule speaks of tool "sea"`},
		"unknown sin": {func(a *Adapter, _ *Test) { a.Accept = map[string]string{"sin sloth": "why not"} }, `Accept names "sin sloth", and there is no such sin: correct the name, or take it out`},
		"a typo":      {func(a *Adapter, _ *Test) { a.Accept = map[string]string{"sin ends-lat": "why not"} }, `correct the name, or take it out; did you mean "sin ends-late"?`},
		"no reason":   {func(a *Adapter, _ *Test) { a.Accept = map[string]string{"sin ends-late": " "} }, `Accept gives no reason for "sin ends-late"`},
	} {
		t.Run(name, func(t *testing.T) {
			a, x := homeAdapter(), Test{}
			test.change(&a, &x)
			_, err := ExploreSabotage(t, a, x)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A sin that only an accepted rule saw is a blind spot, and said to be that rule's.
func TestASinThatAnAcceptedRuleSawNamesIt(t *testing.T) {
	a := homeAdapter()
	a.Trials = 100
	a.Accept = map[string]string{"no-first-delay": "it logs first", "conforms": "as above"}
	o, err := ExploreSabotage(t, a, Test{Occasions: 3})
	require.NoError(t, err)
	s := o.sin("waits-first")
	assert.True(t, s.Blind())
	assert.Equal(t, "the rule no-first-delay, which saw it, and whose findings Accept takes", s.Eye)
}

// An accepted blind spot passes, and is reported once it is none.
func TestAnAcceptedSinMustGoUnnoticed(t *testing.T) {
	for _, x := range []struct {
		s    Sin
		want string
	}{
		{Sin{Occasions: 3}, ""},
		{Sin{Occasions: 20, Noticed: 10}, ""}, // by a rule that sees it when something else goes wrong
		{Sin{Occasions: 3, Noticed: 2}, `Accept lists "sin ends-late" ("it logs first"), and it was noticed 2 times of 3: take it out`},
		{Sin{Needs: "an end"}, `Accept lists "sin ends-late" ("it logs first"), and no schedule gave occasion for it, which needs an end: play more trials, or take it out`},
	} {
		x.s.Name, x.s.Accepted = "ends-late", "it logs first"
		assert.Equal(t, x.want, x.s.complaint())
	}

	a := homeAdapter()
	a.Accept = map[string]string{"sin ends-late": "it logs first"}
	a.Trials = 20
	Check(t, a) // has nothing to do with it
}

// Each sin is committed by the stage and by nobody else: the events of a trial in
// which the sin finds no occasion are those of one without a saboteur.
func TestASaboteurWithoutAnOccasionChangesNothing(t *testing.T) {
	a := homeAdapter()
	c := newCheck(t, &a, settings{trials: 1})
	s := One(Fail(trace.Transient), Fault{Latency: 30 * time.Millisecond})
	plain := newTrial(&a, &s, a.content(), nil)
	want, err := plain.run(t)
	require.NoError(t, err)
	scout := c.newTrial(&s, nil)
	scout.house.saboteur = &saboteur{a: &a, sins: sins(), scouts: true, met: map[*sin]bool{}}
	got, err := scout.run(t)
	require.NoError(t, err)
	assert.Equal(t, want.Timeline(), got.Timeline())
}

func TestArgumentsAreChangedByTheirJSON(t *testing.T) {
	type order struct {
		Key   string `json:"key"`
		Lines []struct{ Count int }
		Paid  bool
	}
	in := order{Key: "k", Lines: []struct{ Count int }{{3}}}
	out, ok := changeOf(in, argument, "key")
	require.True(t, ok)
	assert.Equal(t, "k", out.Key)
	assert.Equal(t, 0, out.Lines[0].Count)
	assert.Equal(t, 3, in.Lines[0].Count, "the code's own are left alone")

	out, ok = changeOf(in, freshKey, "key")
	require.True(t, ok)
	assert.NotEqual(t, "k", out.Key)
	out, ok = changeOf(in, keyLost, "key")
	require.True(t, ok)
	assert.Empty(t, out.Key)
	_, ok = changeOf(in, freshKey, "other")
	assert.False(t, ok)
	_, ok = changeOf(struct{}{}, argument, "")
	assert.False(t, ok, "there is nothing to change")
	_, ok = changeOf(make(chan int), argument, "")
	assert.False(t, ok)

	flags, ok := changeOf([]bool{true}, argument, "")
	require.True(t, ok)
	assert.Equal(t, []bool{false}, flags)
	deep := map[string]any{"meta": map[string]any{"key": "k"}}
	moved, ok := changeOf(deep, freshKey, "meta.key")
	require.True(t, ok)
	assert.Equal(t, map[string]any{"meta": map[string]any{"key": otherKey}}, moved)
}

// Sins are labelled, and each is committed in one way.
func TestSinsAreLabelled(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range sins() {
		assert.False(t, seen[k.name], "%s is there twice", k.name)
		seen[k.name] = true
		ways := 0
		for _, has := range []bool{k.send != nil, k.again != nil, k.leave != nil, k.publish != nil, k.observe != nil} {
			if has {
				ways++
			}
		}
		assert.Equal(t, 1, ways, k.name)
		assert.NotEmpty(t, k.does, k.name)
		assert.NotEmpty(t, k.needs, k.name)
		assert.NotEmpty(t, k.eye, k.name)
	}
}

type bill struct {
	Key    string
	Amount int
}

var errOpenCircuit = errors.New("the circuit is open")

// cautious pays with a key for each action, and after a failure not for an hour.
func cautious() Adapter {
	return Adapter{
		Name:    "pay",
		Policy:  invariants.Policy{ID: "pay/v1", MaxAttempts: 1, Late: invariants.LateWait, Key: "Key"},
		Breaker: &invariants.Breaker{Consecutive: 1, Cooldown: time.Hour},
		Reason: func(err error) trace.Reason {
			if errors.Is(err, errOpenCircuit) {
				return trace.ReasonBreakerOpen
			}
			return 0
		},
		Subject: func(s *Stage) Action {
			pay := Tool[bill, int](s, "bank", nil, Errors{trace.Transient: errBusy})
			var failed time.Time
			return func(ctx context.Context) (any, error) {
				if !failed.IsZero() && time.Since(failed) < time.Hour {
					return nil, errOpenCircuit
				}
				out, err := pay(ctx, bill{trace.ActionName(ctx), 19})
				if failed = (time.Time{}); errors.Is(err, errBusy) {
					failed = time.Now()
				}
				return out, err
			}
		},
	}
}

// Whoever goes past the breaker begins a call of the action's own: a key is no bar.
func TestSabotageGoesPastTheBreakerOfAToolWithKeys(t *testing.T) {
	schedules := []Schedule{{Actions: []Plan{{Faults: map[string][]Fault{"bank": {Fail(trace.Transient)}}}, {}}}}
	past := sabotageOf(t, cautious(), Test{Schedules: schedules}).sin("goes-past-the-breaker")
	require.Equal(t, 1, past.Occasions)
	require.Equal(t, []Witness{{"circuit-breaker", 1}}, past.By[:1])
	for _, w := range past.By {
		require.NotEqual(t, "one-key", w.Invariant, "the key is a fresh one")
	}
}

// What a test fails with before any sin is what its owner has to mend.
func TestSabotageHandsOnWhyTheTestFailsByItself(t *testing.T) {
	for text, judge := range map[string]func(*trace.Trace) error{
		"by the test (17 is not 18): mend that first":                   func(*trace.Trace) error { return errors.New("17 is not 18") },
		"by the test (it panicked: no such action at sabotage_test.go:": func(*trace.Trace) error { panic("no such action") },
	} {
		_, err := ExploreSabotage(t, homeAdapter(), Test{Judge: judge})
		require.ErrorContains(t, err, text)
	}
}
