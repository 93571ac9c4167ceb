package invariants_test

import (
	"time"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"pgregory.net/rapid"
)

// Durations are whole milliseconds with an offset of their own in nanoseconds,
// so that ties are drawn on purpose and not by chance.
func milliseconds(lo, hi int) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, "ms")) * time.Millisecond
	})
}

// fraction is evenly spread, unlike rapid's own floats.
func fraction(t *rapid.T) float64 {
	bits := rapid.SliceOfN(rapid.Bool(), 6, 6).Draw(t, "fraction")
	f := 0.0
	for _, b := range bits {
		f /= 2
		if b {
			f += 0.5
		}
	}
	if f > 0.98 {
		return 0.9999999999
	}
	return f
}

func orZero[T any](t *rapid.T, g *rapid.Generator[T], label string) (v T) {
	if rapid.Bool().Draw(t, label+"?") {
		return g.Draw(t, label)
	}
	return v
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		ID:          "model/v1",
		MaxAttempts: rapid.IntRange(1, 6).Draw(t, "attempts"),
		Attempt:     orZero(t, milliseconds(1, 900), "attempt"),
		Backoff:     drawBackoff(t),
		Hint:        drawHint(t),
		Late:        rapid.SampledFrom([]Late{LateStop, LateWait}).Draw(t, "late"),
		Repeatable:  rapid.Bool().Draw(t, "repeatable"),
		Undone:      orZero(t, rapid.Just([]trace.Class{trace.Transient}), "undone"),
	}
	if rapid.Bool().Draw(t, "key") {
		p.Key = "Idempotency-Key"
	}
	for _, c := range []trace.Class{trace.Transient, trace.Throttled, trace.Timeout, trace.Reset, trace.NotConnected, trace.Unauthenticated, trace.Unknown} {
		unsafe := c == trace.Timeout || c == trace.Reset || c == trace.Unknown || c == trace.Transient && p.Undone == nil
		if rapid.Bool().Draw(t, c.String()) && (!unsafe || p.Repeatable || p.Key != "") {
			p.Retry = append(p.Retry, c)
		}
	}
	if rapid.Bool().Draw(t, "budgeted") {
		p.Budget = milliseconds(1, 6000).Draw(t, "budget")
		p.BudgetCuts = rapid.Bool().Draw(t, "cuts")
		p.BudgetLate = rapid.SampledFrom([]Late{LateStop, LateWait}).Draw(t, "budget late")
		if p.Backoff.Base > time.Millisecond && p.Backoff.Jitter == (Jitter{}) && rapid.Bool().Draw(t, "unlimited") {
			p.MaxAttempts = Unlimited
		}
	}
	if p.MaxAttempts != 1 {
		p.Desired = orZero(t, rapid.SampledFrom([][]trace.Class{{trace.NotFound}, {trace.Conflict}, {trace.NotFound, trace.Conflict}}), "desired")
	}
	return p
}

func drawBackoff(t *rapid.T) Backoff {
	if rapid.IntRange(0, 4).Draw(t, "law") == 4 {
		return Backoff{Delays: rapid.SliceOfN(milliseconds(1, 900), 1, 4).Draw(t, "delays"), Jitter: drawJitter(t)}
	}
	b := Backoff{
		Base:   rapid.SampledFrom([]time.Duration{0, 1, 10 * time.Millisecond, 100 * time.Millisecond, 333_333_333}).Draw(t, "base"),
		Factor: rapid.SampledFrom([]float64{0, 1, 1.1, 1.5, 2, 2.5, 3}).Draw(t, "factor"),
		Jitter: drawJitter(t),
		CapIs:  rapid.SampledFrom([]CapRule{CapBefore, CapAfter, CapBoth}).Draw(t, "cap is"),
	}
	if rapid.Bool().Draw(t, "capped") {
		b.Cap = max(1, b.Base) + milliseconds(0, 900).Draw(t, "cap")
	}
	if b.Base > 0 && rapid.IntRange(0, 4).Draw(t, "decorrelated") == 4 {
		b.Factor, b.Jitter = 0, DecorrelatedJitter
	}
	return b
}

func drawJitter(t *rapid.T) Jitter {
	return rapid.SampledFrom([]Jitter{{}, {}, FullJitter, EqualJitter, Proportional(0.2), Proportional(0.5), Between(1, 1.25)}).Draw(t, "jitter")
}

func drawHint(t *rapid.T) Hint {
	h := Hint{Use: rapid.SampledFrom([]HintUse{HintMax, HintReplace, HintIgnore}).Draw(t, "hint use")}
	if h.Use == HintIgnore {
		return h
	}
	if rapid.Bool().Draw(t, "hint limited") {
		h.Limit = milliseconds(100, 2000).Draw(t, "hint limit")
		h.Over = rapid.SampledFrom([]HintOver{OverStop, OverClamp, OverIgnore}).Draw(t, "over")
	}
	h.Jitter = rapid.SampledFrom([]float64{0, 0, 0.2}).Draw(t, "hint jitter")
	h.Classes = orZero(t, rapid.Just([]trace.Class{trace.Throttled}), "hint classes")
	h.Resets = rapid.Bool().Draw(t, "resets")
	return h
}

func drawPlan(t *rapid.T, p Policy) plan {
	pl := plan{
		leaves: rapid.Bool().Draw(t, "leaves"),
		steps:  rapid.Bool().Draw(t, "steps"),
		draw:   func() float64 { return fraction(t) },
		coin:   func() bool { return rapid.Bool().Draw(t, "coin") },
	}
	pl.deadline = orZero(t, milliseconds(1, 5000), "deadline")
	pl.cancel = orZero(t, milliseconds(1, 5000), "cancel")
	if rapid.Bool().Draw(t, "apart") { // no two instants coincide
		pl.deadline = offset(pl.deadline, 3)
		pl.cancel = offset(pl.cancel, 7)
	}
	pl.turns = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn { return drawTurn(t, p) }), 1, 6).Draw(t, "turns")
	return pl
}

func offset(d, by time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	return d + by
}

func drawTurn(t *rapid.T, p Policy) turn {
	classes := []trace.Class{trace.OK, trace.Transient, trace.Forbidden, trace.Invalid, trace.Declined, trace.Partial, trace.Timeout}
	if len(p.Desired) > 0 {
		classes = append(classes, trace.NotFound, trace.Conflict)
	}
	if len(p.Retry) > 0 && rapid.IntRange(0, 9).Draw(t, "retried") > 2 {
		classes = p.Retry
	}
	tn := turn{
		class:   rapid.SampledFrom(classes).Draw(t, "class"),
		latency: orZero(t, milliseconds(1, 1200), "latency"),
		deaf:    rapid.Bool().Draw(t, "deaf"),
	}
	if tn.class == trace.Throttled || tn.class == trace.Transient {
		tn.hint = orZero(t, milliseconds(1, 3000), "hint")
	}
	if tn.class != trace.OK && rapid.IntRange(0, 9).Draw(t, "hang") == 9 && (p.Attempt > 0) {
		tn.latency, tn.deaf = time.Hour, false
	}
	return tn
}
