package invariants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// hedging is asks with a second attempt beside one that takes a second.
func hedging(change func(*Policy)) Policy {
	p := asks
	p.Attempt, p.Hedge = 5*time.Second, Hedge{After: time.Second, Max: 2}
	change(&p)
	return p
}

func TestContradictionsOfAHedge(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		"Hedge.Max: is -1":                          func(p *Policy) { p.Hedge = Hedge{Max: -1} },
		"Hedge.After: is 1s while Max is 0":         func(p *Policy) { p.Hedge.Max = 0 },
		"Hedge.After: is 0s: say how long":          func(p *Policy) { p.Hedge.After = 0 },
		"Hedge.After: is -1s; a time cannot":        func(p *Policy) { p.Hedge.After = -time.Second },
		"Hedge.Max: is 4, and MaxAttempts is 3":     func(p *Policy) { p.Hedge.Max = 4 },
		"Hedge: lets a write be under way twice":    func(p *Policy) { p.Repeatable, p.Undone = false, p.Retry },
		"Hedge.After: is 5s, and an attempt has 5s": func(p *Policy) { p.Hedge.After = p.Attempt },
	} {
		p := hedging(change)
		require.ErrorContains(t, p.Validate(), want)
	}
	p := hedging(func(*Policy) {})
	require.NoError(t, p.Validate())
	var read Policy
	require.NoError(t, read.UnmarshalJSON(p.Content()))
	require.Equal(t, p.Hedge, read.Hedge)
	require.Contains(t, string(p.Content()), `"hedge":{"after":"1s","max":2}`)
	p.Hedge = Hedge{}
	require.NotContains(t, string(p.Content()), "hedge")
}

func TestOverlapsAndHedges(t *testing.T) {
	hedged := Hedged(hedging(func(*Policy) {}))
	two := func(after time.Duration) *tracetest.Script {
		return begin().Call("w", pune).After(after).Call("w", pune)
	}
	ok, left := trace.Outcome{Class: trace.OK}, trace.Outcome{Class: trace.Cancelled}
	for _, c := range []struct {
		name  string
		rule  Invariant
		tr    *tracetest.Script
		found string // empty: kept
	}{
		{"one after another", NoOverlap(), begin().Call("w", pune).Answer(transient).Call("w", pune).Answer(transient), ""},
		{"beside each other", NoOverlap(), two(time.Second).AnswerTo(1, ok).AnswerTo(2, ok), "attempt 2 of w began while attempt 1 was under way"},
		{"beside one that never answers", NoOverlap(), two(time.Second), "attempt 2 of w began while attempt 1 was under way"},
		{"behind one whose time is over", NoOverlap(), begin().Until(time.Second).Call("w", pune).Until(0).After(time.Second).Call("w", pune), ""},
		{"behind one that was interrupted", NoOverlap(), begin().Call("w", pune).Interrupt(trace.Timeout).Call("w", pune), ""},
		{"as one is cancelled", NoOverlap(), two(time.Second).AnswerTo(1, left).AnswerTo(2, ok), ""},
		{"as one is answered", NoOverlap(), two(time.Second).AnswerTo(1, trace.Outcome{Class: transient}).AnswerTo(2, ok), "attempt 2 of w began while attempt 1 was under way"},
		{"other arguments", NoOverlap(), begin().Call("w", pune).Call("w", `{"City":"Oslo"}`), ""},

		{"a hedge", hedged, two(time.Second).AnswerTo(2, ok).AnswerTo(1, left).End(), ""},
		{"too early", hedged, two(time.Second-1).AnswerTo(2, ok).AnswerTo(1, left).End(), "attempt 2 of w began 999.999999ms after attempt 1, which was under way; the policy hedges after 1s"},
		{"too many", hedged, two(time.Second).After(time.Second).Call("w", pune).AnswerTo(2, ok).AnswerTo(1, left).AnswerTo(3, left).End(), "3 attempts of w were under way at once, the policy allows 2"},
		{"a loser works on", hedged, two(time.Second).AnswerTo(2, ok).End().After(1).AnswerTo(1, left), "attempt 1 of w worked on when attempt 2 had answered"},
		{"a hedge works on", hedged, two(time.Second).AnswerTo(1, ok).End(), "attempt 2 of w worked on when attempt 1 had answered"},
		{"all fail", hedged, two(time.Second).AnswerTo(2, trace.Outcome{Class: transient}).AnswerTo(1, trace.Outcome{Class: transient}).Fail("busy"), ""},
	} {
		found := Find(c.tr.Trace(), c.rule)
		if c.found == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.found, c.name)
		require.NotEmpty(t, found[0].Advice, c.name)
	}
}

// Which attempt of the last round failed last is not known from their begins.
func TestErrorsOfAHedgedRoundAreLastErrors(t *testing.T) {
	p := hedging(func(p *Policy) { p.MaxAttempts = 2 })
	tr := begin().Until(5*time.Second).Call("w", pune).After(time.Second).Until(6*time.Second).Call("w", pune).
		After(time.Second).AnswerTo(2, trace.Outcome{Class: transient}).After(time.Second).AnswerTo(1, trace.Outcome{Class: transient}).
		Ending(trace.Event{Error: "busy", Cause: 1}).Trace()
	require.Empty(t, Find(tr, p.Invariants()...))
}

// A hedge that waits at a limiter while the attempt beside it fails goes out when
// its turn comes, and need not come at all.
func TestAHedgeMayStillWaitForItsTurn(t *testing.T) {
	p := hedging(func(p *Policy) { p.MaxAttempts, p.Backoff = 2, Backoff{} })
	waiting := func() *tracetest.Script {
		return begin().Until(5*time.Second).Call("w", pune).After(time.Second).Record(trace.RoleTurn, "gate").
			After(time.Second).AnswerTo(1, trace.Outcome{Class: transient}).After(500 * ms)
	}
	require.Empty(t, Find(waiting().AnswerTo(2, trace.Outcome{Class: ok}).Until(7500*ms).Call("w", pune).Answer(ok).End().Trace(), p.Invariants()...))
	left := waiting().Cancel().AnswerTo(2, trace.Outcome{Class: trace.Cancelled}).FailFor(trace.ReasonCancelled).Trace()
	require.Empty(t, Find(left, p.Invariants()...))

	late := waiting().AnswerTo(2, trace.Outcome{Class: ok}).After(ms).Until(7501*ms).Call("w", pune).Answer(ok).End().Trace()
	found := Find(late, p.Invariants()...)
	require.NotEmpty(t, found)
	require.Equal(t, "waits-in-window", found[0].Invariant)
}

// A deaf tool has no answer when the hedge beside it is answered at once.
func TestAHedgeThatIsAnsweredAtOnceHasNoWait(t *testing.T) {
	tr, err := trace.Read(strings.NewReader(`{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}
{"at":"0s","kind":"begin"}
{"at":"0s","kind":"call","tool":"w","call":1,"deadline":"5s"}
{"at":"1s","kind":"call","tool":"w","call":2,"deadline":"6s"}
{"at":"1s","kind":"answer","tool":"w","call":2,"class":"ok"}
{"at":"1s","kind":"end"}
{"at":"1s","kind":"interrupt","tool":"w","call":1,"class":"cancelled"}
{"at":"2.4s","kind":"answer","tool":"w","call":1,"class":"invalid"}
`))
	require.NoError(t, err)
	require.Empty(t, Find(tr, hedging(func(p *Policy) { p.Backoff.Base = 100 * time.Millisecond }).Invariants()...))
}
