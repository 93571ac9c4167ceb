package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// callers makes one action for each wait: a failure, the wait, and a success.
func callers(o trace.Outcome, waits ...time.Duration) *tracetest.Script {
	s := tracetest.New()
	for i, w := range waits {
		s.Begin(string(rune('a'+i))).Call("w", pune)
		s.AnswerTo(s.Last(), o).After(w).Call("w", pune).Answer(ok).End()
	}
	return s
}

func TestJitterSpreads(t *testing.T) {
	full := reading(3, Backoff{Base: sec, Jitter: FullJitter})
	over := with(full, func(p *Policy) { p.Hint.Jitter = 0.2 })
	decorrelated := reading(3, Backoff{Base: sec, Cap: 2 * sec, Jitter: DecorrelatedJitter})
	after := reading(3, Backoff{Base: sec, Cap: sec, CapIs: CapAfter, Jitter: Proportional(0.5)})
	hint := throttled(10 * sec)
	for _, c := range []struct {
		name    string
		p       Policy
		tr      *tracetest.Script
		applied bool
		want    string // part of the finding; empty: none
	}{
		{"all the same", full, callers(down, 300*ms, 300*ms, 300*ms, 300*ms), true, "4 callers all waited 300ms after attempt 1 of w"},
		{"one differs", full, callers(down, 300*ms, 300*ms, 300*ms, 301*ms), true, ""},
		{"three may meet by chance", full, callers(down, 300*ms, 300*ms, 300*ms), false, ""},
		{"no jitter", reading(3, Backoff{Base: sec}), callers(down, sec, sec, sec, sec), false, ""},
		{"all at the end of the hint, and jitter is added to it", over, callers(hint, 10*sec, 10*sec, 10*sec, 10*sec), true, "all waited 10s"},
		{"all at the end of the hint, to which nothing is added", full, callers(hint, 10*sec, 10*sec, 10*sec, 10*sec), false, ""},
		{"many draws end on a cap behind the jitter", after, callers(down, sec, sec, sec, sec), false, ""},
		{"and on the cap of decorrelated jitter", decorrelated, callers(down, 2*sec, 2*sec, 2*sec, 2*sec), false, ""},
		{"waits outside of the window are another rule's", full, callers(down, 3*sec, 3*sec, 3*sec, 3*sec), false, ""},
	} {
		rule := JitterSpreads(c.p)
		found := Find(c.tr.Trace(), rule)
		require.Equal(t, c.applied, Applied(c.tr.Trace(), rule)["jitter-spreads"] > 0, c.name)
		if c.want == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.want, c.name)
		require.Len(t, found[0].Events, 4)
	}
}
