package faultsim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

func TestBehindTheCalmNothingFails(t *testing.T) {
	const calm = 3 * time.Second
	faults := []Fault{Fail(trace.Transient), Fail(trace.Transient), Fail(trace.Transient), Fail(trace.Transient)}
	s := One(faults...)
	s.Calm = calm
	require.Equal(t, []trace.Outcome{down, down, up, up}, seen(t, askingAt(0, calm-1, calm, calm+1), s))

	outage := Schedule{Calm: calm, Outages: []Outage{{Main, 1, time.Hour, trace.Transient}}}
	require.Equal(t, []trace.Outcome{up, down, up}, seen(t, askingAt(0, calm-1, calm), outage))

	quota := Schedule{Calm: calm, Quotas: []Quota{{Main, 1, time.Hour}}}
	require.Equal(t, []trace.Outcome{up, over(time.Hour - time.Second), up, up}, seen(t, askingAt(0, time.Second, calm, calm+1), quota))
}

func TestTheTraceHasTheCalm(t *testing.T) {
	s := Schedule{Actions: []Plan{
		{Faults: map[string][]Fault{Main: {Fail(trace.Transient), Fail(trace.Transient), Fail(trace.Transient)}}},
		{After: time.Minute},
	}, Calm: 50 * time.Second}
	r := Trial(t, homeAdapter(), s)
	require.NoError(t, r.Err)
	require.Empty(t, r.Findings)
	got := r.Trace.Recovery()
	require.True(t, got.Calmed)
	require.Equal(t, 50*time.Second, got.Calm)
	require.Equal(t, 10*time.Second+300*time.Millisecond, got.Time)
	require.Equal(t, []float64{2, 3, 1}, []float64{got.Amplification, got.During, got.After})

	s.Calm = 0
	require.False(t, Trial(t, homeAdapter(), s).Trace.Recovery().Calmed)
}

// What is under way at the calm is answered as it was planned: late, or not before
// its caller gives it up.
func TestACallUnderWayAtTheCalmIsNotMended(t *testing.T) {
	late := One(Fault{Class: trace.Transient, Latency: 4 * time.Second})
	late.Calm = time.Second
	hang := One(Fault{Hang: true})
	hang.Calm = time.Second
	for want, s := range map[time.Duration]Schedule{4*time.Second + 100*time.Millisecond: late, 5*time.Second + 100*time.Millisecond: hang} {
		r := Trial(t, homeAdapter(), s)
		require.NoError(t, r.Err)
		require.Empty(t, r.Findings)
		a := r.Trace.Actions()[0]
		require.Len(t, a.Attempts, 2)
		require.Equal(t, want, a.End)
		require.Equal(t, want-time.Second, r.Trace.Recovery().Settled)
	}
}

func TestACallersCancelIsNoFaultOfTheService(t *testing.T) {
	s := One(Fault{}, Fault{Class: trace.Transient, Latency: time.Second, Cancel: time.Minute})
	s.Actions[0].Faults[Main][0] = Fail(trace.Transient)
	s.Calm = time.Millisecond
	r := Trial(t, homeAdapter(), s)
	require.NoError(t, r.Err)
	require.Equal(t, trace.OK, r.Trace.Actions()[0].Attempts[1].Outcome.Class)

	s.Actions[0].Faults[Main][1].Cancel = 10
	a := askingAt(0, time.Second, time.Second+5, time.Minute)
	r = Trial(t, a, s)
	require.NoError(t, r.Err)
	require.True(t, r.Trace.Actions()[0].Cancelled())
}

func TestNoProcessDiesBehindTheCalm(t *testing.T) {
	deaths := func(calm time.Duration, faults ...Fault) int {
		r := Trial(t, jobAdapter(), Schedule{Actions: []Plan{{Faults: map[string][]Fault{Main: faults}}}, Calm: calm})
		require.NoError(t, r.Err)
		return len(r.Trace.Actions()[0].Restarts)
	}
	crash := Fault{Latency: 4 * time.Second, Crash: 2 * time.Second}
	require.Equal(t, 1, deaths(0, crash))
	require.Equal(t, 1, deaths(2*time.Second+1, crash))
	require.Equal(t, 0, deaths(2*time.Second, crash), "it was planned before the calm, and comes behind it")

	write := Schedule{Actions: []Plan{{CrashBeforeWrite: 2, Faults: map[string][]Fault{Main: {{Latency: 2 * time.Second}}}}}}
	for calm, want := range map[time.Duration]int{0: 1, 3 * time.Second: 1, time.Second: 0} {
		write.Calm = calm
		r := Trial(t, jobAdapter(), write)
		require.NoError(t, r.Err)
		require.Len(t, r.Trace.Actions()[0].Restarts, want, calm)
	}
}

func TestTheCalmReadsBackAndShrinks(t *testing.T) {
	s := Schedule{Actions: make([]Plan, 1), Calm: 90*time.Second + 13}
	require.Contains(t, s.String(), "calm at=1m30.000000013s\n")
	back, err := Parse(s.String())
	require.NoError(t, err)
	require.Equal(t, s, back)
	for _, line := range []string{"calm", "calm at=0s", "calm at=-1s", "calm by=1s", "calm 1s", "calm at=1s at=2s", "calm at=1s\ncalm at=2s", " calm at=1s"} {
		_, err := Parse("rehearse schedule 1\naction\n" + line + "\n")
		require.Error(t, err, line)
	}
	var gone, rounder bool
	for c := range smallerThan(s, &drawer{}) {
		gone = gone || c.Calm == 0
		rounder = rounder || c.Calm > 0 && c.Calm < s.Calm
	}
	require.True(t, gone && rounder)
}

func TestACalmThatCannotBePlayed(t *testing.T) {
	require.ErrorContains(t, Trial(t, homeAdapter(), Schedule{Calm: -1}).Err, "count it from the begin of the first action")
	require.ErrorContains(t, Trial(t, homeAdapter(), Schedule{Calm: longestTime + 1}).Err, "a year")
}

// The policy is played over a schedule with a calm as over any other.
func TestExpectKnowsTheCalm(t *testing.T) {
	fails := Fail(trace.Transient)
	s := One(fails, fails, fails)
	e, ok := ExpectFirst(homePolicy(), s)
	require.True(t, ok)
	require.Equal(t, Expectation{3, 3, []trace.Reason{trace.ReasonExhausted}}, e)
	s.Calm = 150 * time.Millisecond
	e, ok = ExpectFirst(homePolicy(), s)
	require.True(t, ok)
	require.Equal(t, Expectation{3, 3, []trace.Reason{trace.ReasonSuccess}}, e)
	s.Calm = 50 * time.Millisecond
	e, _ = ExpectFirst(homePolicy(), s)
	require.Equal(t, Expectation{2, 2, []trace.Reason{trace.ReasonSuccess}}, e)
}
