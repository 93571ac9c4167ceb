package invariants

import (
	"math"
	"slices"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Window is the shortest and the longest legal wait after the n-th failure of
// a series, n counted from 1; prev is the wait before it, which only
// decorrelated jitter looks at (0: none yet).
//
// The interval is Base times Factor^(n-1). Intervals saturate instead of
// overflowing (field case F005). Where a wait comes out of floating-point
// numbers (jitter, or a factor that is no integer) the window is wider by what
// rounding can do.
func (b *Backoff) Window(n int, prev time.Duration) (lo, hi time.Duration) {
	if b.Jitter.Decorrelated {
		return b.decorrelated(prev)
	}
	lo, hi = b.interval(max(n, 1))
	if b.CapIs != CapAfter || b.Jitter.none() {
		lo, hi = capped(lo, b.Cap), capped(hi, b.Cap)
	}
	if b.Jitter.none() {
		return lo, hi
	}
	lo, hi = b.Jitter.spread(lo, hi)
	if b.CapIs != CapBefore {
		lo, hi = capped(lo, b.Cap), capped(hi, b.Cap)
	}
	return lo, hi
}

// decorrelated draws between the base and three times the wait before.
func (b *Backoff) decorrelated(prev time.Duration) (lo, hi time.Duration) {
	return capped(b.Base, b.Cap), capped(scale(max(prev, b.Base), 3), b.Cap)
}

// spread is the window that jitter makes of an interval, wider by a nanosecond
// and a billionth for rounding. Jitter that only shortens never goes over it.
func (j Jitter) spread(lo, hi time.Duration) (time.Duration, time.Duration) {
	longest := hi
	lo, hi = scale(lo, j.Low), scale(hi, j.High)
	lo = max(0, lo-1-lo/1e9)
	hi = plus(hi, 1+hi/1e9)
	if j.High <= 1 {
		hi = min(hi, longest)
	}
	return lo, hi
}

// interval is the wait after the n-th failure before cap and jitter. Its ends
// differ where rounding may have happened: code that multiplies step by step
// drops up to a nanosecond each time, and the loss grows with the interval.
func (b *Backoff) interval(n int) (lo, hi time.Duration) {
	if len(b.Delays) > 0 {
		d := b.Delays[min(n, len(b.Delays))-1]
		return d, d
	}
	factor := b.factor()
	switch {
	case factor == 1 || b.Base == 0 || n == 1:
		return b.Base, b.Base
	case factor == 2:
		d := doubled(b.Base, n-1)
		return d, d
	}
	d := scale(b.Base, math.Pow(factor, float64(n-1)))
	const exact = 1 << 53
	if factor == math.Trunc(factor) && d < exact {
		return d, d
	}
	slack := plus(1+d/1e9, scale(d, 1/(float64(b.Base)*(factor-1))))
	return max(0, d-slack), plus(d, slack)
}

// doubled is d times 2^n, saturated.
func doubled(d time.Duration, n int) time.Duration {
	if n > 62 || d > math.MaxInt64>>n {
		return math.MaxInt64
	}
	return d << n
}

// plus adds two durations that are not negative, saturated.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (b *Backoff) factor() float64 {
	if b.Factor == 0 {
		return 2
	}
	return b.Factor
}

// scale multiplies and saturates.
func scale(d time.Duration, f float64) time.Duration {
	if v := float64(d) * f; v < math.MaxInt64 {
		return time.Duration(v)
	}
	return math.MaxInt64
}

func capped(d, limit time.Duration) time.Duration {
	if limit > 0 && d > limit {
		return limit
	}
	return d
}

// wait is a window of waits and what made it.
type wait struct {
	lo, hi   time.Duration
	hinted   bool // the hint decided the lower end
	followed bool // the hint was read and not set aside
	over     bool // the hint is above the limit and the policy stops
	edge     bool // the hint is at the limit, and a faithful reader may find it above
}

// window combines backoff and hint after the n-th failure of the series.
func (p *Policy) window(n int, prev time.Duration, o *trace.Outcome) wait {
	lo, hi := p.Backoff.Window(n, prev)
	w := wait{lo: lo, hi: hi}
	hint := p.hint(o)
	if hint <= 0 {
		return w
	}
	if p.Hint.Limit > 0 && hint > p.Hint.Limit {
		switch p.Hint.Over {
		case OverStop:
			w.over = true
			return w
		case OverIgnore:
			return w
		}
		hint = p.Hint.Limit
	}
	both := p.Hint.combine(w, hint, o.Slack)
	if p.Hint.Limit > 0 && p.Hint.Limit-hint < o.Slack {
		// A date tells whole seconds: one reader finds the hint below the
		// limit and another above it.
		switch p.Hint.Over {
		case OverStop:
			both.edge = true
		case OverIgnore:
			both.lo, both.hi, both.hinted = min(both.lo, lo), max(both.hi, hi), both.hinted && hint <= lo
		}
	}
	return both
}

// combine is the window of a hint that is followed. A hint that is a date has
// a slack, since a date tells whole seconds.
func (h *Hint) combine(w wait, hint, slack time.Duration) wait {
	longest := plus(hint, slack)
	if h.Jitter > 0 {
		longest = plus(scale(longest, 1+h.Jitter), 1)
	}
	w.followed = true
	if h.Use == HintReplace {
		w.lo, w.hi, w.hinted = hint, longest, true
		return w
	}
	w.hinted = hint >= w.lo
	w.lo, w.hi = max(w.lo, hint), max(w.hi, longest)
	return w
}

// hint is the hint that the policy reads off the outcome; 0: none.
func (p *Policy) hint(o *trace.Outcome) time.Duration {
	if o.Hint <= 0 || p.Hint.Use == HintIgnore {
		return 0
	}
	if len(p.Hint.Classes) > 0 && !slices.Contains(p.Hint.Classes, o.Class) {
		return 0
	}
	return o.Hint
}
