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

// askingAt plugs in a tool that can throttle, and an action that calls it at the
// instants and takes what comes.
func askingAt(instants ...time.Duration) Adapter {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		tool := Tool(s, "weather", func(context.Context, string) (int, error) { return 19, nil },
			Errors{trace.Transient: errBusy, trace.Throttled: Hinted(func(d time.Duration) error { return &busyFor{d} })})
		Tool[string, int](s, "other", nil, Errors{trace.Transient: errBusy})
		return func(ctx context.Context) (any, error) {
			begin := time.Now()
			for _, at := range instants {
				time.Sleep(at - time.Since(begin))
				_, _ = tool(ctx, "Pune")
			}
			return nil, nil
		}
	}
	return a
}

// seen lists what the attempts of the first action were answered.
func seen(t *testing.T, a Adapter, s Schedule) (list []trace.Outcome) {
	t.Helper()
	r := Trial(t, a, s)
	require.NoError(t, r.Err)
	for _, at := range r.Trace.Actions()[0].Attempts {
		list = append(list, trace.Outcome{Class: at.Outcome.Class, Hint: at.Outcome.Hint})
	}
	return list
}

var (
	up   = trace.Outcome{Class: trace.OK}
	down = trace.Outcome{Class: trace.Transient}
)

func over(hint time.Duration) trace.Outcome {
	return trace.Outcome{Class: trace.Throttled, Hint: hint}
}

func TestAnOutageIsFromAnInstantToAnother(t *testing.T) {
	s := Schedule{Outages: []Outage{{"weather", 1, 3 * time.Second, trace.Transient}}}
	require.Equal(t, []trace.Outcome{up, down, down, up}, seen(t, askingAt(0, 1, 3*time.Second-1, 3*time.Second), s))
	s.Outages[0].Tool = Main
	require.Equal(t, []trace.Outcome{up, down}, seen(t, askingAt(0, 1), s))
	s.Outages[0].Tool = "other"
	require.Equal(t, []trace.Outcome{up, up}, seen(t, askingAt(0, 1), s))
}

func TestAQuotaThrottlesUntilItsWindowEnds(t *testing.T) {
	s := Schedule{Quotas: []Quota{{Main, 2, time.Minute}}}
	require.Equal(t, []trace.Outcome{up, up, over(58 * time.Second), over(1), up},
		seen(t, askingAt(0, time.Second, 2*time.Second, time.Minute-1, time.Minute), s))
}

// An outage goes before a quota and uses nothing up; both go before the
// attempt's own fault.
func TestTheTimeGoesBeforeTheAttempt(t *testing.T) {
	s := One(Fault{}, Fail(trace.Transient), Fail(trace.Transient))
	s.Outages = []Outage{{Main, 0, time.Second, trace.Transient}}
	s.Quotas = []Quota{{Main, 1, time.Minute}}
	require.Equal(t, []trace.Outcome{down, down, over(58 * time.Second)},
		seen(t, askingAt(0, time.Second, 2*time.Second), s))
}

// Actions share what a tool grants, and a second one counts from the same begin.
func TestAQuotaIsSharedByActions(t *testing.T) {
	s := Schedule{Actions: make([]Plan, 2), Quotas: []Quota{{Main, 1, time.Minute}}}
	r := Trial(t, askingAt(0, 10*time.Second), s)
	require.NoError(t, r.Err)
	var hints []time.Duration
	for _, act := range r.Trace.Actions() {
		for _, at := range act.Attempts {
			hints = append(hints, at.Outcome.Hint)
		}
	}
	require.Equal(t, []time.Duration{0, 50 * time.Second, 50 * time.Second, 40 * time.Second}, hints)
}

func TestSpellsThatCannotBePlayed(t *testing.T) {
	a := askingAt(0)
	for _, s := range []Schedule{
		{Outages: []Outage{{Main, 2, 1, trace.Transient}}},
		{Outages: []Outage{{Main, 0, 1, trace.OK}}},
		{Quotas: []Quota{{Main, 0, time.Second}}},
		{Quotas: []Quota{{Main, 1, 0}}},
	} {
		err := Trial(t, a, s).Err
		require.Error(t, err)
		_, unfit := errors.AsType[*UnfitError](err)
		require.False(t, unfit, "%v", err)
	}
	for _, s := range []Schedule{
		{Outages: []Outage{{"nobody", 0, 1, trace.Transient}}},
		{Outages: []Outage{{Main, 0, 1, trace.Forbidden}}},
		{Quotas: []Quota{{"other", 1, time.Second}}},
	} {
		_, unfit := errors.AsType[*UnfitError](Trial(t, a, s).Err)
		require.True(t, unfit, "%v", s)
	}
}

func TestSpellsInTheText(t *testing.T) {
	const text = "rehearse schedule 1\naction\noutage weather from=1s to=3s transient\noutage * to=5ns reset\nquota \"a b\" 3 per=1m0s\nat-once\n"
	s, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, []Outage{{"weather", time.Second, 3 * time.Second, trace.Transient}, {Main, 0, 5, trace.Reset}}, s.Outages)
	require.Equal(t, []Quota{{"a b", 3, time.Minute}}, s.Quotas)
	require.Equal(t, text, s.String())
	for line, want := range map[string]string{
		"outage weather transient":               `line 3: an outage reads outage TOOL from= to= CLASS, such as "outage weather from=1s to=3s transient"`,
		"outage weather from=1s transient":       "line 3: the outage does not end after it begins: give it a to= after its from=",
		"outage weather from=3s to=3s transient": "line 3: the outage does not end after it begins: give it a to= after its from=",
		"outage weather to=3s transient till=4s": `line 3: unknown class "till=4s"; an outage ends in one of [transient throttled quota-exhausted timeout reset not-connected invalid unauthenticated forbidden not-found conflict declined malformed partial cancelled unknown]`,
		"outage weather to=3s till=4s transient": `line 3: unknown option "till" of an outage; known are from=, to=`,
		"outage weather to=3s to=3s transient":   "line 3: to is given twice: take one out",
		"quota weather 3":                        `line 3: a quota reads quota TOOL N per=, such as "quota weather 3 per=1m"`,
		"quota weather 0 per=1m":                 `line 3: the quota "0" is no number from 1 to 100000`,
		"quota weather 3 every=1m":               `line 3: unknown option "every" of a quota; known is per=`,
		"  quota weather 3 per=1m":               `line 3: attempt "weather" is no number from 1 to 100000: attempts are counted from 1`,
	} {
		_, err := Parse("rehearse schedule 1\naction\n" + line)
		require.EqualError(t, err, want, line)
	}
}

func TestSpellsShrinkAway(t *testing.T) {
	s := One()
	s.Outages = []Outage{{Main, 30 * time.Second, 90 * time.Second, trace.Transient}}
	s.Quotas = []Quota{{Main, 1, 90 * time.Second}}
	var noOutage, noQuota, atOnce, shorterWindow bool
	for c := range smallerThan(s, &drawer{}) {
		noOutage = noOutage || len(c.Outages) == 0
		noQuota = noQuota || len(c.Quotas) == 0
		atOnce = atOnce || len(c.Outages) == 1 && c.Outages[0].From == 0
		shorterWindow = shorterWindow || len(c.Quotas) == 1 && c.Quotas[0].Per < 90*time.Second
		for i := range c.Outages {
			require.NoError(t, c.Outages[i].validate())
		}
	}
	require.Equal(t, []bool{true, true, true, true}, []bool{noOutage, noQuota, atOnce, shorterWindow})
	require.Equal(t, 30*time.Second, s.Outages[0].From, "the schedule itself is as it was")
}

func TestSpellsAreDrawnNowAndThen(t *testing.T) {
	outages, quotas, buckets := 0, 0, 0
	for _, s := range drawn(t, draws, func(*Adapter) {}) {
		outages += len(s.Outages)
		quotas += len(s.Quotas)
		buckets += len(s.Buckets)
		for i := range s.Outages {
			require.NoError(t, s.Outages[i].validate())
		}
		for i := range s.Quotas {
			require.NoError(t, s.Quotas[i].validate())
		}
	}
	const again = 1 + 15.0/16 // what has none is drawn once more
	rare(t, "outages", outages, draws, again*swarmed/32)
	rare(t, "quotas", quotas, draws, again*swarmed/64)
	rare(t, "buckets", buckets, draws, again*swarmed/64)
}

// An expectation knows the time at which each attempt comes, jitter included.
func TestExpectFirstFollowsTheTime(t *testing.T) {
	p := homePolicy()
	p.Retry = append(p.Retry, trace.Throttled)
	outage := func(to time.Duration) Schedule { return Schedule{Outages: []Outage{{Main, 0, to, trace.Transient}}} }
	for to, want := range map[time.Duration]Expectation{
		100 * time.Millisecond:   {2, 2, []trace.Reason{trace.ReasonSuccess}},
		100*time.Millisecond + 1: {3, 3, []trace.Reason{trace.ReasonSuccess}},
		time.Second:              {3, 3, []trace.Reason{trace.ReasonExhausted}},
	} {
		e, ok := ExpectFirst(p, outage(to))
		require.True(t, ok)
		require.Equal(t, want, e, "%v", to)
	}
	quota := One(Fail(trace.Transient))
	quota.Quotas = []Quota{{Main, 1, 2 * time.Second}}
	e, _ := ExpectFirst(p, quota)
	require.Equal(t, Expectation{3, 3, []trace.Reason{trace.ReasonSuccess}}, e)
	p.Backoff.Jitter = invariants.FullJitter
	e, _ = ExpectFirst(p, outage(50*time.Millisecond))
	require.Equal(t, Expectation{2, 3, []trace.Reason{trace.ReasonSuccess, trace.ReasonExhausted}}, e)
}

func TestASpellThatTheToolCannotShowNamesTheFix(t *testing.T) {
	a := homeAdapter()
	a.Subject = func(s *Stage) Action {
		Tool[string, int](s, "weather", nil, Errors{trace.Transient: errBusy, trace.Throttled: errBusy})
		return func(context.Context) (any, error) { return nil, nil }
	}
	s := Schedule{Quotas: []Quota{{Tool: "weather", N: 1, Per: time.Minute}}}
	require.EqualError(t, Trial(t, a, s).Err, "weather cannot answer as a quota plans: throttled hint=1m0s: let it ask for a wait, with Hinted in Errors or a form in Route.Hints")
	s = Schedule{Outages: []Outage{{Tool: "weather", To: time.Minute, Class: trace.Reset}}}
	require.EqualError(t, Trial(t, a, s).Err, "weather cannot answer as an outage plans: reset: give it that class")
}

func TestUnplayableSpellsNameTheField(t *testing.T) {
	for want, s := range map[string]Schedule{
		"an outage has no Tool":                           {Outages: []Outage{{To: 1, Class: trace.Transient}}},
		"an outage of weather: From is -1ns and To is 1s": {Outages: []Outage{{Tool: "weather", From: -1, To: time.Second, Class: trace.Transient}}},
		`an outage of weather: Class is ""`:               {Outages: []Outage{{Tool: "weather", To: 1}}},
		"a quota has no Tool":                             {Quotas: []Quota{{N: 1, Per: 1}}},
		"a quota of weather: N is 0 and Per is 1s":        {Quotas: []Quota{{Tool: "weather", Per: time.Second}}},
	} {
		require.ErrorContains(t, Trial(t, homeAdapter(), s).Err, want)
	}
}
