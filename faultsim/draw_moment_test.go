package faultsim

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/trace"
)

// leaving is a profile whose callers leave. An action fails once, and is answered after
// a tenth of a second; an answer takes a second.
func leaving(t *testing.T, share float64, when ...Moment) *drawer {
	t.Helper()
	p := of(Behaviour{Streak: Fixed(1), Latency: Constant(time.Second), Classes: Weights{trace.Transient: 1}})
	p.Cancel = Cancels{Share: share, When: when}
	return profiler(t, weathered(p))
}

// leavings draws many callers that leave at the moment.
func leavings(t *testing.T, when Moment) []Plan {
	t.Helper()
	stays := leaving(t, 0).draw(seeded(1)).Actions[0]
	d := leaving(t, 1, when)
	list := make([]Plan, many)
	for n := range list {
		list[n] = stays.clone()
		d.leaves(seeded(trialSeed(1, n)), &list[n])
	}
	return list
}

const (
	answered = time.Second + 70
	backoff  = 100 * time.Millisecond
)

// left is the attempt, from 0, in which the caller leaves, and when, from its arrival;
// -1: in none.
func left(p Plan) (attempt int, at time.Duration) {
	faults := p.Faults["weather"]
	n := slices.IndexFunc(faults, func(f Fault) bool { return f.Cancel != 0 })
	if n < 0 {
		return n, 0
	}
	return n, faults[n].Cancel
}

func evenly(x float64) float64 { return min(max(x, 0), 1) }

func TestCallersLeaveEvenlyInFlight(t *testing.T) {
	var attempts []int
	var at []float64
	for _, p := range leavings(t, MomentInFlight) {
		n, d := left(p)
		attempts, at = append(attempts, n), append(at, d.Seconds()/answered.Seconds())
	}
	require.Less(t, uneven(attempts, yes(0.5)), 1.0)
	require.Less(t, astray(at, evenly), 1.0)
}

func TestCallersLeaveEvenlyInTheWait(t *testing.T) {
	var at []float64
	for _, p := range leavings(t, MomentInWait) {
		n, d := left(p) // no wait follows the last attempt
		at = append(at, (d-answered).Seconds()/backoff.Seconds()+float64(n))
	}
	require.Less(t, astray(at, evenly), 1.0)
}

// Behind the last answer there is nobody to leave.
func TestCallersLeaveBesideAnAnswer(t *testing.T) {
	var first, before []int
	for _, p := range leavings(t, MomentAtAnswer) {
		n, d := left(p)
		if first = append(first, number(n == 0)); n == 0 {
			before = append(before, beside(d, answered))
		} else if d != answered-1 {
			t.Fatalf("the caller leaves at %v", d)
		}
	}
	require.Less(t, uneven(first, yes(0.5)), 1.0)
	require.Less(t, uneven(before, yes(0.5)), 1.0)
}

func TestCallersLeaveBesideTheNextAttempt(t *testing.T) {
	var before []int
	for _, p := range leavings(t, MomentAtNext) {
		n, d := left(p)
		before = append(before, beside(d, answered+backoff)+2*n)
	}
	require.Less(t, uneven(before, yes(0.5)), 1.0)
}

// beside is 0 for the nanosecond after an instant, 1 for the one before it, and 2 for
// any other.
func beside(d, at time.Duration) int {
	switch d - at {
	case 1:
		return 0
	case -1:
		return 1
	}
	return 2
}

func TestCallersLeaveEvenlyAnywhere(t *testing.T) {
	var at []float64
	for _, p := range leavings(t, MomentAnywhere) {
		at = append(at, p.Cancel.Seconds()/(2*answered+backoff).Seconds())
	}
	require.Less(t, astray(at, evenly), 1.0)
}

// Each moment comes as often as the others, and in the share of actions.
func TestCallersLeaveAtAllMomentsAlike(t *testing.T) {
	var leave, when []int
	d := leaving(t, 0.3)
	for n := range many {
		p := d.draw(seeded(trialSeed(1, n))).Actions[0]
		n, d := left(p)
		leave = append(leave, number(p.Cancel != 0 || n >= 0))
		switch beyond := d - answered; {
		case p.Cancel < 0:
			when = append(when, 0)
		case p.Cancel > 0:
			when = append(when, 1)
		case n < 0:
		case beyond.Abs() == 1:
			when = append(when, 2)
		case beyond < 0:
			when = append(when, 3)
		case (beyond - backoff).Abs() == 1:
			when = append(when, 4)
		default:
			when = append(when, 5)
		}
	}
	require.Less(t, uneven(leave, yes(0.3)), 1.0)
	require.Less(t, uneven(when, func(n int) float64 { return within(n, 5) / 6 }), 1.0)
}

// An action without a moment that is asked for has one of the others, or a caller that
// stays.
func TestCallersLeaveWhereThereIsSuchAMoment(t *testing.T) {
	moments := func(b Behaviour, when ...Moment) map[string]int {
		p := of(b)
		p.Cancel = Cancels{Share: 1, When: when}
		d := profiler(t, weathered(p))
		found := map[string]int{}
		for n := range 200 {
			s := d.draw(seeded(trialSeed(1, n)))
			found[s.String()]++
		}
		return found
	}
	plain := scheduleHeader + "\naction\n"
	require.Equal(t, map[string]int{plain: 200}, moments(Behaviour{}, MomentInFlight, MomentInWait, MomentAtAnswer, MomentAtNext, MomentAnywhere))
	require.Equal(t, map[string]int{scheduleHeader + "\naction cancel=before\n": 200}, moments(Behaviour{}))
	refused := moments(Behaviour{Streak: Fixed(1), Classes: Weights{trace.Invalid: 1}}, MomentInWait)
	require.Equal(t, map[string]int{plain + "  weather 1 invalid\n": 200}, refused)
}

// The callers that a profile has leave are seen to leave.
func TestCallersOfAProfileAreCancelled(t *testing.T) {
	a := homeAdapter()
	a.Profile = of(Behaviour{Streak: Geometric(0.5), Latency: Exponential(time.Second), Classes: Weights{trace.Transient: 1}})
	a.Profile.Cancel.Share = 1
	d := profiler(t, a)
	for n := range 500 {
		s := d.draw(seeded(trialSeed(1, n)))
		r := Trial(t, a, s)
		require.NoError(t, r.Err)
		require.True(t, slices.ContainsFunc(r.Trace.Events, func(e trace.Event) bool { return e.Kind == trace.KindCancel }), "%s", s)
	}
}
