package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestContradictionsOfACache(t *testing.T) {
	require.EqualError(t, (&Cache{TTL: -1}).Validate(), "cache: TTL is -1ns: say 0 where answers are kept for good")
	require.EqualError(t, (&Cache{FailureTTL: -1}).Validate(), "cache: FailureTTL is -1ns: say 0 where failures are not kept")
	require.NoError(t, new(Cache).Validate())
}

func TestCacheRules(t *testing.T) {
	const oslo = `{"City":"Oslo"}`
	short, keeps := Cache{TTL: time.Minute}, Cache{TTL: time.Minute, FailureTTL: time.Second}
	first := func(c trace.Class) *tracetest.Script {
		s := tracetest.New().Begin("a").Call("w", pune)
		if c == trace.OK {
			return s.AnswerTo(1, trace.Outcome{Class: c}).End()
		}
		return s.Answer(c).Fail("busy")
	}
	for _, c := range []struct {
		name  string
		c     Cache
		rule  string
		tr    *tracetest.Script
		found string // empty: kept
	}{
		{"a failure in its time", keeps, "cached-failure", first(transient).After(time.Second).Begin("b").Hit("w", pune, "", "busy").Fail("busy"), ""},
		{"a failure too late", keeps, "cached-failure", first(transient).After(time.Second+1).Begin("b").Hit("w", pune, "", "busy").Fail("busy"), "a failure of w (transient) was served 1.000000001s after it, failures may be served for 1s"},
		{"a failure of other arguments is none of it", keeps, "cached-failure", first(transient).After(time.Hour).Begin("b").Hit("w", oslo, "", "busy").Fail("busy"), ""},
		{"a failure that is not kept", short, "cached-failure", first(transient).After(1).Begin("b").Hit("w", pune, "", "busy").Fail("busy"), "failures may be served for 0s"},
		{"a failure that is shared", short, "cached-failure", tracetest.New().Begin("b").Begin("a").Call("w", pune).After(time.Second).Answer(transient).On("b").Hit("w", pune, "", "busy").Fail("busy").On("a").Fail("busy"), ""},
		{"a caller who leaves", short, "cached-failure", tracetest.New().Begin("b").Begin("a").Call("w", pune).After(time.Second).Cancel().Answer(trace.Cancelled).On("b").Hit("w", pune, "", "left").Fail("left").On("a").Fail("left"), "w was asked by a, whose own time ended, and the failure was served to b as well"},
		{"a caller who leaves in the wait", short, "cached-failure", tracetest.New().Begin("b").Begin("a").Call("w", pune).Answer(transient).After(time.Second).Cancel().On("b").Hit("w", pune, "", "left").Fail("left").On("a").Fail("left"), "w was asked by a, whose own time ended"},
		{"a loop", keeps, "cached-failure", first(transient).Begin("b").Hit("w", pune, "", "busy").Hit("w", pune, "", "busy").Fail("busy"), "a failure of w that was kept was served twice at one instant"},
		{"a wait between", keeps, "cached-failure", first(transient).Begin("b").Hit("w", pune, "", "busy").After(time.Second).Hit("w", pune, "", "busy").Fail("busy"), ""},
		{"a success in its time", short, "cache-fresh", first(trace.OK).After(time.Minute).Begin("b").Hit("w", pune, "", "").End(), ""},
		{"a success too late", short, "cache-fresh", first(trace.OK).After(time.Minute+1).Begin("b").Hit("w", pune, "", "").End(), "an answer of w was served 1m0.000000001s after it, answers may be served for 1m0s"},
		{"a success for good", Cache{}, "cache-fresh", first(trace.OK).After(10000*time.Hour).Begin("b").Hit("w", pune, "", "").End(), ""},
		{"another answer", short, "cache-fresh", first(trace.OK).Begin("b").Hit("w", pune, "20", "").End(), "20 was served, w had answered nothing"},
		{"a tool of no cache", Cache{Tool: "x"}, "cache-fresh", first(trace.OK).Begin("b").Hit("w", pune, "20", "").End(), ""},
		{"a hit that is enough", short, "cache-hit-no-call", first(trace.OK).Begin("b").Hit("w", pune, "", "").Call("w", oslo).Answer(trace.OK).End(), ""},
		{"a call all the same", short, "cache-hit-no-call", first(trace.OK).Begin("b").Hit("w", pune, "", "").Call("w", pune).Answer(trace.OK).End(), "w was called although its answer had been served"},
	} {
		var rule Invariant
		for _, inv := range c.c.Invariants() {
			if inv.Name == c.rule {
				rule = inv
			}
		}
		found := Find(c.tr.Trace(), rule)
		if c.found == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.found, c.name)
		require.NotEmpty(t, found[0].Advice, c.name)
	}
}

// A hit is evidence where the action reads, and none where it writes.
func TestHitsAreEvidenceOfReads(t *testing.T) {
	served := func() *trace.Trace { return begin().Hit("w", pune, "19", "").End().Trace() }
	require.Empty(t, Find(served(), asks.Invariants()...))
	require.Empty(t, Find(served(), HonestEnding()))
	writes := asks
	writes.Repeatable, writes.Key = false, "key"
	found := Find(served(), writes.Invariants()...)
	require.Len(t, found, 1)
	require.Equal(t, "honest-ending", found[0].Invariant)

	stale := begin().Call("w", pune).Answer(transient).Hit("w", pune, "19", "").End().Trace()
	require.Empty(t, Find(stale, asks.Invariants()...), "an answer that is kept may stand in for the next attempt")
	failed := begin().Call("w", pune).Answer(transient).Hit("w", pune, "", "busy").Fail("busy").Trace()
	require.NotEmpty(t, Find(failed, asks.Invariants()...), "a failure that is kept may not")
	refused := begin().Hit("w", pune, "", "busy").End().Trace()
	require.NotEmpty(t, Find(refused, asks.Invariants()...), "a failure is no evidence of a success")
	wrong := begin().Hit("w", pune, "19", "").Ending(trace.Event{Result: trace.Canonical([]byte("20")), Want: trace.Canonical([]byte("19"))}).Trace()
	require.NotEmpty(t, Find(wrong, asks.Invariants()...))
}
