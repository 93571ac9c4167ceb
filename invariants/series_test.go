package invariants_test

import (
	"math"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

var (
	down  = trace.Outcome{Class: trace.Transient}
	hangs = trace.Outcome{Class: trace.Timeout}
	fine  = trace.Outcome{Class: trace.OK}

	final   = trace.Outcome{Class: trace.Transient, Advice: trace.AdviceStop}
	willing = trace.Outcome{Class: trace.Forbidden, Advice: trace.AdviceRetry}
)

func throttled(hint time.Duration) trace.Outcome {
	return trace.Outcome{Class: trace.Throttled, Hint: hint}
}

// reading is a policy for a read, which may be repeated.
func reading(n int, b Backoff) Policy {
	return Policy{ID: "read", MaxAttempts: n, Backoff: b, Repeatable: true,
		Retry: []trace.Class{trace.Transient, trace.Throttled, trace.Timeout}}
}

func with(p Policy, change func(*Policy)) Policy { change(&p); return p }

func goes(lo, hi time.Duration) Decision { return Decision{Do: Go, Lo: lo, Hi: hi} }

func hinted(d Decision) Decision { d.Hinted = true; return d }

func stops(r trace.Reason, lo, hi time.Duration) Decision {
	return Decision{Do: Stop, Reason: r, EndLo: lo, EndHi: hi}
}

func either(lo, hi time.Duration, r trace.Reason, endLo, endHi time.Duration) Decision {
	return Decision{Do: Either, Lo: lo, Hi: hi, Reason: r, EndLo: endLo, EndHi: endHi}
}

// public compares what users see of a decision.
func public(t *testing.T, want, got Decision) {
	t.Helper()
	require.Equal(t, want.Do, got.Do, "choice in %+v", got)
	require.Equal(t, []time.Duration{want.Lo, want.Hi, want.EndLo, want.EndHi}, []time.Duration{got.Lo, got.Hi, got.EndLo, got.EndHi})
	require.Equal(t, want.Reason.String(), got.Reason.String())
	require.Equal(t, want.Hinted, got.Hinted)
}

// The numbers below are written by hand, from the article and the field cases.
func TestDecisionAfterOneAnswer(t *testing.T) {
	second := reading(3, Backoff{Base: time.Second})
	late := with(second, func(p *Policy) { p.Late = LateWait })
	budget := with(second, func(p *Policy) { p.Budget = 3 * time.Second })
	limited := with(second, func(p *Policy) { p.Hint.Limit = 10 * time.Second })
	spread := reading(3, Backoff{Base: 10 * time.Second, Jitter: FullJitter})
	write := with(second, func(p *Policy) { p.Repeatable = false })
	for _, c := range []struct {
		name             string
		p                Policy
		deadline, cancel time.Duration
		o                trace.Outcome
		at               time.Duration
		want             Decision
	}{
		{"success ends it", second, 0, 0, fine, 5, stops(trace.ReasonSuccess, 5, 5)},
		{"a business no ends it", second, 0, 0, trace.Outcome{Class: trace.Declined}, 5, stops(trace.ReasonDeclined, 5, 5)},
		{"wrong arguments ask for others", second, 0, 0, trace.Outcome{Class: trace.Invalid}, 0, stops(trace.ReasonNeedsInput, 0, 0)},
		{"forbidden is refused", second, 0, 0, trace.Outcome{Class: trace.Forbidden}, 0, stops(trace.ReasonRefused, 0, 0)},
		{"unknown is refused unless declared", second, 0, 0, trace.Outcome{Class: trace.Unknown}, 0, stops(trace.ReasonRefused, 0, 0)},
		{"F017: used-up quota is refused", second, 0, 0, trace.Outcome{Class: trace.QuotaExhausted}, 0, stops(trace.ReasonRefused, 0, 0)},
		{"F028: unsafe to repeat", write, 0, 0, hangs, 0, stops(trace.ReasonOutcomeUnknown, 0, 0)},
		{"F028: said to be not done", write, 0, 0, trace.Outcome{Class: trace.Timeout, Effect: trace.EffectNotDone}, 0, goes(time.Second, time.Second)},
		{"the next attempt is paid for", with(second, func(p *Policy) { p.Price, p.Spend = 2, 4 }), 0, 0, down, 0, goes(time.Second, time.Second)},
		{"the next attempt costs a unit too much", with(second, func(p *Policy) { p.Price, p.Spend = 2, 3 }), 0, 0, down, 7, stops(trace.ReasonBudget, 7, 7)},
		{"its own word is not read", second, 0, 0, final, 0, goes(time.Second, time.Second)},
		{"its own word stops it", with(second, func(p *Policy) { p.Advice = AdviceStops }), 0, 0, final, 3, stops(trace.ReasonRefused, 3, 3)},
		{"its own word stops a write", with(write, func(p *Policy) { p.Advice = AdviceStops }), 0, 0, final, 3, stops(trace.ReasonOutcomeUnknown, 3, 3)},
		{"a refusal that calls itself retryable is one", with(second, func(p *Policy) { p.Advice = AdviceStops }), 0, 0, willing, 3, stops(trace.ReasonRefused, 3, 3)},
		{"unless the word decides", with(second, func(p *Policy) { p.Advice = AdviceDecides }), 0, 0, willing, 3, goes(time.Second, time.Second)},
		{"a business no is none to talk about", with(second, func(p *Policy) { p.Advice = AdviceDecides }), 0, 0, trace.Outcome{Class: trace.Declined, Advice: trace.AdviceRetry}, 3, stops(trace.ReasonDeclined, 3, 3)},
		{"own backoff", second, 0, 0, down, 0, goes(time.Second, time.Second)},
		{"F009: the hint is longer", second, 0, 0, throttled(5 * time.Second), 0, hinted(goes(5*time.Second, 5*time.Second))},
		{"F009: the hint is shorter", second, 0, 0, throttled(500 * ms), 0, goes(time.Second, time.Second)},
		{"F010: junk is no hint", second, 0, 0, throttled(-3), 0, goes(time.Second, time.Second)},
		{"a shorter hint replaces", with(second, func(p *Policy) { p.Hint.Use = HintReplace }), 0, 0, throttled(500 * ms), 0, hinted(goes(500*ms, 500*ms))},
		{"a hint is ignored", with(second, func(p *Policy) { p.Hint.Use = HintIgnore }), 0, 0, throttled(5 * time.Second), 0, goes(time.Second, time.Second)},
		{"a hint of another class is not read", with(second, func(p *Policy) { p.Hint.Classes = []trace.Class{trace.Transient} }), 0, 0, throttled(5 * time.Second), 0, goes(time.Second, time.Second)},
		{"F007: jitter over the hint only", with(second, func(p *Policy) { p.Hint.Jitter = 0.2 }), 0, 0, throttled(120 * time.Second), 0, hinted(goes(120*time.Second, 144*time.Second+1))},
		{"F012: hint above the limit stops", limited, 0, 0, throttled(time.Hour), 0, stops(trace.ReasonHintTooLong, 0, 0)},
		{"F012: hint above the limit is clamped", with(limited, func(p *Policy) { p.Hint.Over = OverClamp }), 0, 0, throttled(time.Hour), 0, hinted(goes(10*time.Second, 10*time.Second))},
		{"hint above the limit is ignored", with(limited, func(p *Policy) { p.Hint.Over = OverIgnore }), 0, 0, throttled(time.Hour), 0, goes(time.Second, time.Second)},
		{"hint at the limit is followed", limited, 0, 0, throttled(10 * time.Second), 0, hinted(goes(10*time.Second, 10*time.Second))},
		{"a date at the limit may be read as over it", limited, 0, 0, trace.Outcome{Class: trace.Throttled, Hint: 10 * time.Second, Slack: time.Second}, 3, hinted(either(10*time.Second, 11*time.Second, trace.ReasonHintTooLong, 3, 3))},
		{"a date below the limit", limited, 0, 0, trace.Outcome{Class: trace.Throttled, Hint: 9 * time.Second, Slack: time.Second}, 3, hinted(goes(9*time.Second, 10*time.Second))},
		{"the longest hint there is", with(second, func(p *Policy) { p.Hint.Jitter = 0.5 }), 0, 0, throttled(math.MaxInt64), 0, hinted(goes(math.MaxInt64, math.MaxInt64))},
		{"hint past the deadline", second, 3 * time.Second, 0, throttled(5 * time.Second), 0, hinted(stops(trace.ReasonHintTooLong, 0, 0))},
		{"hint past the deadline, waited out", late, 3 * time.Second, 0, throttled(5 * time.Second), 0, hinted(stops(trace.ReasonDeadline, 0, 3*time.Second))},
		{"the wait fits the deadline", second, time.Second + 1, 0, down, 0, goes(time.Second, time.Second)},
		{"the wait ends at the deadline", second, time.Second, 0, down, 0, either(time.Second, time.Second, trace.ReasonDeadline, 0, 0)},
		{"the wait does not fit", second, time.Second - 1, 0, down, 0, stops(trace.ReasonDeadline, 0, 0)},
		{"the wait does not fit and is begun", late, time.Second - 1, 0, down, 0, stops(trace.ReasonDeadline, 0, time.Second-1)},
		{"only the shortest wait fits", spread, 4 * time.Second, 0, down, time.Second, either(0, 3*time.Second, trace.ReasonDeadline, time.Second, time.Second)},
		{"the deadline had passed", second, -1, 0, down, 0, stops(trace.ReasonDeadline, 0, 0)},
		{"the deadline cut the attempt", second, 2 * time.Second, 0, hangs, 2 * time.Second, stops(trace.ReasonDeadline, 2*time.Second, 2*time.Second)},
		{"the budget has room", budget, 0, 0, down, 2*time.Second - 1, goes(time.Second, time.Second)},
		{"the budget ends with the wait", budget, 0, 0, down, 2 * time.Second, either(time.Second, time.Second, trace.ReasonBudget, 2*time.Second, 2*time.Second)},
		{"the budget has no room", budget, 0, 0, down, 2*time.Second + 1, stops(trace.ReasonBudget, 2*time.Second+1, 2*time.Second+1)},
		{"F048: the budget cuts the attempt", with(budget, func(p *Policy) { p.BudgetCuts = true }), 0, 0, hangs, 3 * time.Second, stops(trace.ReasonBudget, 3*time.Second, 3*time.Second)},
		{"deadline before budget", with(budget, func(p *Policy) { p.Late = LateWait }), 500 * ms, 0, down, 0, stops(trace.ReasonDeadline, 0, 500*ms)},
		{"cancel before the wait is over", second, 0, time.Second - 1, down, 0, stops(trace.ReasonCancelled, time.Second-1, time.Second-1)},
		{"cancel when the wait is over", second, 0, time.Second, down, 0, either(time.Second, time.Second, trace.ReasonCancelled, time.Second, time.Second)},
		{"cancel after the wait", second, 0, time.Second + 1, down, 0, goes(time.Second, time.Second)},
		{"cancel just before the answer", second, 0, 9, down, 10, stops(trace.ReasonCancelled, 10, 10)},
		{"cancel with the answer", second, 0, 10, down, 10, stops(trace.ReasonCancelled, 10, 10)},
		{"cancel just after the answer", second, 0, 11, down, 10, stops(trace.ReasonCancelled, 11, 11)},
		{"cancel ends the attempt", second, 0, 10, trace.Outcome{Class: trace.Cancelled}, 10, stops(trace.ReasonCancelled, 10, 10)},
		{"a drawn wait may not fit, or be cancelled", spread, 4 * time.Second, 2 * time.Second, down, time.Second, either(0, time.Second, trace.ReasonCancelled, time.Second, 2*time.Second)},
		{"early stop stays legal though a cancel comes", with(spread, func(p *Policy) { p.Backoff.Jitter = EqualJitter }), 8 * time.Second, 2 * time.Second, down, time.Second, stops(trace.ReasonCancelled, time.Second, 2*time.Second)},
		{"own attempt given up is a timeout", second, 0, 0, trace.Outcome{Class: trace.Cancelled}, 1, goes(time.Second, time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, validOrUnsafe(c.p))
			s := c.p.Start(0, c.deadline)
			if c.cancel != 0 {
				s.Cancel(c.cancel)
			}
			public(t, c.want, s.Next(c.o, c.at))
		})
	}
}

// validOrUnsafe lets the one policy pass whose contradiction is the subject.
func validOrUnsafe(p Policy) error {
	if !p.Repeatable {
		return nil
	}
	return p.Validate()
}

func TestThreeAttemptsHaveTwoWaits(t *testing.T) {
	p := reading(3, Backoff{Base: 100 * ms})
	s := p.Start(0, 0)
	public(t, goes(100*ms, 100*ms), s.Next(down, 0))
	public(t, goes(200*ms, 200*ms), s.Next(down, 100*ms))
	public(t, stops(trace.ReasonExhausted, 300*ms, 300*ms), s.Next(down, 300*ms))
}

// F005: 10s doubling under a cap of one hour, to the 199th wait.
func TestWaitsGrowToTheCapAndStay(t *testing.T) {
	p := reading(200, Backoff{Base: 10 * time.Second, Cap: time.Hour})
	s := p.Start(0, 0)
	want := []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 2560}
	at := time.Duration(0)
	for n := range 199 {
		wait := time.Hour
		if n < len(want) {
			wait = want[n] * time.Second
		}
		public(t, goes(wait, wait), s.Next(down, at))
		at += wait
		s.Began(at)
	}
	public(t, stops(trace.ReasonExhausted, at, at), s.Next(down, at))
}

func TestWindowsOfAHundredThousandFailuresAreSound(t *testing.T) {
	for _, b := range []Backoff{
		{}, {Base: 1}, {Base: time.Second}, {Base: time.Second, Factor: 3}, {Factor: 3}, {Factor: 1.5}, {Base: math.MaxInt64},
		{Base: time.Second, Factor: 1.5, Jitter: FullJitter}, {Base: time.Second, Jitter: Proportional(0.5), CapIs: CapAfter, Cap: time.Minute},
		{Base: time.Second, Jitter: DecorrelatedJitter}, {Delays: []time.Duration{0, 5}}, {Base: 7, Factor: 1e300, Jitter: Between(1, 1e9)},
	} {
		for _, n := range []int{-1, 0, 1, 2, 62, 63, 64, 65, 200, 1000, 100_000, math.MaxInt} {
			lo, hi := b.Window(n, math.MaxInt64)
			require.GreaterOrEqual(t, lo, time.Duration(0), "%+v after %d", b, n)
			require.GreaterOrEqual(t, hi, lo, "%+v after %d", b, n)
			if b.Base == 0 && len(b.Delays) == 0 {
				require.Zero(t, hi, "no wait grows out of none: %+v after %d", b, n)
			}
		}
	}
}

func TestWindowOfEachJitter(t *testing.T) {
	sec := time.Second
	for _, c := range []struct {
		name   string
		b      Backoff
		n      int
		prev   time.Duration
		lo, hi time.Duration
	}{
		{"none", Backoff{Base: sec, Cap: 3 * sec}, 3, 0, 3 * sec, 3 * sec},
		{"constant", Backoff{Base: sec, Factor: 1}, 9, 0, sec, sec},
		{"tripled", Backoff{Base: sec, Factor: 3}, 3, 0, 9 * sec, 9 * sec},
		{"listed", Backoff{Delays: []time.Duration{sec, 5 * sec}}, 7, 0, 5 * sec, 5 * sec},
		{"full", Backoff{Base: sec, Cap: 3 * sec, Jitter: FullJitter}, 3, 0, 0, 3 * sec},
		{"equal", Backoff{Base: sec, Cap: 60 * sec, Jitter: EqualJitter}, 7, 0, 30*sec - 31, 60 * sec},
		{"F006: clamped again", Backoff{Base: sec, Cap: 8 * sec, Jitter: Between(0.875, 1.125), CapIs: CapBoth}, 5, 0, 7*sec - 8, 8 * sec},
		{"F006: the fault, declared", Backoff{Base: sec, Cap: 8 * sec, Jitter: Between(0.875, 1.125)}, 5, 0, 7*sec - 8, 9*sec + 10},
		{"cap after jitter", Backoff{Base: sec, Cap: 8 * sec, Jitter: Between(0.25, 1), CapIs: CapAfter}, 5, 0, 4*sec - 5, 8 * sec},
		{"proportional", Backoff{Base: sec, Jitter: Proportional(0.5)}, 1, 0, sec/2 - 1, sec + sec/2 + 2},
		{"decorrelated, first", Backoff{Base: sec, Cap: 20 * sec, Jitter: DecorrelatedJitter}, 1, 0, sec, 3 * sec},
		{"decorrelated, later", Backoff{Base: sec, Cap: 20 * sec, Jitter: DecorrelatedJitter}, 4, 5 * sec, sec, 15 * sec},
		{"decorrelated, capped", Backoff{Base: sec, Cap: 20 * sec, Jitter: DecorrelatedJitter}, 5, 15 * sec, sec, 20 * sec},
	} {
		t.Run(c.name, func(t *testing.T) {
			lo, hi := c.b.Window(c.n, c.prev)
			require.Equal(t, []time.Duration{c.lo, c.hi}, []time.Duration{lo, hi})
		})
	}
}

// F020: three hangs end at their own second each, and the fourth attempt succeeds.
func TestAttemptsOwnTimeoutIsNotTheCallers(t *testing.T) {
	p := with(reading(4, Backoff{Base: 100 * ms, Factor: 1}), func(p *Policy) { p.Attempt = time.Second })
	s := p.Start(0, 0)
	for n := range 3 {
		public(t, goes(100*ms, 100*ms), s.Next(hangs, time.Duration(n+1)*time.Second+time.Duration(n)*100*ms))
	}
	public(t, stops(trace.ReasonSuccess, 4*time.Second, 4*time.Second), s.Next(fine, 4*time.Second))
}

// F045: overall 3s, waits 2, 4, 8, 16s: attempts at 0 and 2s, and no third.
func TestOverallDeadlineAllowsTheAttemptsThatFit(t *testing.T) {
	p := reading(5, Backoff{Base: 2 * time.Second})
	s := p.Start(0, 3*time.Second)
	public(t, goes(2*time.Second, 2*time.Second), s.Next(down, 0))
	public(t, stops(trace.ReasonDeadline, 2*time.Second, 2*time.Second), s.Next(down, 2*time.Second))
	p.Late = LateWait
	s = p.Start(0, 3*time.Second)
	s.Next(down, 0)
	public(t, stops(trace.ReasonDeadline, 2*time.Second, 3*time.Second), s.Next(down, 2*time.Second))
}

func TestHintResetsTheSeriesWhereDeclared(t *testing.T) {
	p := reading(9, Backoff{Base: time.Second})
	for _, c := range []struct {
		hint  Hint
		after time.Duration
	}{{Hint{}, 4 * time.Second}, {Hint{Resets: true}, time.Second}, {Hint{Resets: true, Limit: time.Second, Over: OverIgnore}, 4 * time.Second}} {
		p.Hint = c.hint
		s := p.Start(0, 0)
		s.Next(down, 0)
		s.Next(throttled(5*time.Second), time.Second)
		public(t, goes(c.after, c.after), s.Next(down, 6*time.Second))
	}
}

func TestUnlimitedGoesOnToTheBudget(t *testing.T) {
	p := with(reading(Unlimited, Backoff{Base: ms, Factor: 1}), func(p *Policy) { p.Budget = 10 * time.Second })
	s := p.Start(0, 0)
	at := time.Duration(0)
	for range 9_999 {
		public(t, goes(ms, ms), s.Next(down, at))
		at += ms
	}
	public(t, either(ms, ms, trace.ReasonBudget, at, at), s.Next(down, at))
	public(t, stops(trace.ReasonBudget, at+ms, at+ms), s.Next(down, at+ms))
}

func TestOneEndCanHaveSeveralTrueReasons(t *testing.T) {
	p := reading(1, Backoff{})
	s := p.Start(0, 2*time.Second)
	d := s.Next(hangs, 2*time.Second)
	require.True(t, d.Allows(trace.ReasonDeadline))
	require.True(t, d.Allows(trace.ReasonExhausted))
	require.True(t, d.Allows(trace.ReasonEscalated))
	require.False(t, d.Allows(trace.ReasonCancelled))
	require.False(t, d.Allows(trace.ReasonSuccess))
	require.False(t, d.Allows(0))
}

// What stands in for the answer says so whatever forbade the next attempt.
func TestAnyFailureMayBeHandedOn(t *testing.T) {
	p := with(reading(3, Backoff{Base: time.Second}), func(p *Policy) { p.Budget = 10 * time.Second })
	for name, c := range map[string]struct {
		deadline time.Duration
		o        trace.Outcome
	}{
		"no room before the deadline":      {500 * ms, down},
		"the deadline at the very instant": {time.Second, down},
		"no room before the budget":        {0, trace.Outcome{Class: transient, Hint: time.Minute}},
		"a hint beyond the deadline":       {5 * time.Second, trace.Outcome{Class: transient, Hint: 6 * time.Second}},
	} {
		s := p.Start(0, c.deadline)
		d := s.Next(c.o, 0)
		require.NotEqual(t, Go, d.Do, name)
		require.True(t, d.Allows(trace.ReasonEscalated), name)
	}
}

// A budget or a deadline at the edge of what a Duration can hold is far away,
// and does not come round to the other side.
func TestLimitsAtTheEdgeDoNotOverflow(t *testing.T) {
	p := with(reading(3, Backoff{Base: ms}), func(p *Policy) { p.Budget = math.MaxInt64 })
	auto := p.Start(time.Second, 0)
	require.Equal(t, Go, auto.Next(down, time.Second).Do)
	require.Empty(t, Find(begin().At(2*sec).Begin("b").Call("weather", pune).Answer(ok).End().Trace(), WithinBudget(p)))

	found := Find(tracetest.New().BeginUntil("a", math.MinInt64).At(sec).Call("weather", pune).Answer(ok).End().Trace(), WithinDeadline())
	require.Len(t, found, 1)
	require.NotContains(t, found[0].Text, "-")
}

// An attempt that is under way when a refusal or a hint comes has not ignored
// it: what is wrong is that two were under way at once, and that is said.
func TestAnOverlapIsCalledByItsName(t *testing.T) {
	p := reading(3, Backoff{Base: sec})
	for _, o := range []trace.Outcome{throttled(5 * sec), {Class: forbidden}} {
		s := begin().Call("weather", pune)
		tr := s.After(sec).Call("weather", pune).After(sec).AnswerTo(1, o).Answer(ok).End().Trace()
		require.Empty(t, Find(tr, HintHonoured(p), NoRetryAfter()))
		found := Find(tr, Conforms(p))
		require.Len(t, found, 1)
		require.Equal(t, "attempt 2 of weather began 1s before attempt 1 had answered", found[0].Text)
	}
}
