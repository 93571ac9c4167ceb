package invariants

import (
	"math"
	"time"

	"github.com/rehearse-go/rehearse/trace"
)

// Window is the shortest and the longest legal wait after the n-th failure of
// a series, n counted from 1; prev is the wait before it, which only
// decorrelated jitter looks at (0: none yet).
//
// Intervals saturate instead of overflowing. Where a wait comes out of
// floating-point numbers (jitter, or a factor that is no integer) the window
// is wider by a nanosecond and by a billionth of the interval on each side.
func (b *Backoff) Window(n int, prev time.Duration) (lo, hi time.Duration) {
	if b.Jitter.Decorrelated {
		if prev < b.Base {
			prev = b.Base
		}
		return b.Base, capped(scale(prev, 3), b.Cap)
	}
	interval, exact := b.interval(n)
	if b.Cap > 0 && b.CapIs != CapAfter {
		interval = min(interval, b.Cap)
	}
	if b.Jitter.none() {
		lo, hi = interval, capped(interval, b.Cap)
		lo = min(lo, hi)
	} else {
		lo, hi, exact = scale(interval, b.Jitter.Low), scale(interval, b.Jitter.High), false
		if b.CapIs != CapBefore {
			lo, hi = capped(lo, b.Cap), capped(hi, b.Cap)
		}
	}
	if exact {
		return lo, hi
	}
	slack := 1 + interval/1e9
	hiSlack := hi
	if hi < math.MaxInt64-slack {
		hiSlack = hi + slack
	}
	if b.CapIs != CapBefore || b.Jitter.none() {
		hiSlack = capped(hiSlack, b.Cap)
	}
	return max(0, lo-slack), hiSlack
}

// interval is the wait after the n-th failure before cap and jitter; exact
// where no rounding can have happened.
func (b *Backoff) interval(n int) (d time.Duration, exact bool) {
	if len(b.Delays) > 0 {
		return b.Delays[min(n, len(b.Delays))-1], true
	}
	switch factor := b.factor(); factor {
	case 1:
		return b.Base, true
	case 2:
		if n > 63 || b.Base > math.MaxInt64>>(n-1) {
			return math.MaxInt64, true
		}
		return b.Base << (n - 1), true
	default:
		return scale(b.Base, math.Pow(factor, float64(n-1))), factor == math.Trunc(factor)
	}
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
	lo, hi time.Duration
	hinted bool // the hint decided the lower end
	over   bool // the hint is above the limit and the policy stops
}

// window combines backoff and hint after the n-th failure of the series.
func (p *Policy) window(n int, prev time.Duration, o trace.Outcome) wait {
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
	w.hinted = true
	longest := hint
	if p.Hint.Jitter > 0 {
		longest = scale(hint, 1+p.Hint.Jitter) + 1
	}
	if longest < math.MaxInt64-o.Slack {
		longest += o.Slack
	}
	if p.Hint.Use == HintReplace {
		w.lo, w.hi = hint, longest
		return w
	}
	w.hinted = hint >= lo
	w.lo, w.hi = max(lo, hint), max(hi, longest)
	return w
}

// hint is the hint that the policy reads off the outcome; 0: none.
func (p *Policy) hint(o trace.Outcome) time.Duration {
	if o.Hint <= 0 || p.Hint.Use == HintIgnore {
		return 0
	}
	if len(p.Hint.Classes) > 0 && !classSet(p.Hint.Classes...).has(o.Class) {
		return 0
	}
	return o.Hint
}
