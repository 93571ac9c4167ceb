package invariants_test

import (
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// chunked is the contract of a batch whose items are tried three times, a
// second after the first failure.
var chunked = Policy{
	ID: "chunks/v1", MaxAttempts: 3, Retry: []trace.Class{transient, throttle}, Undone: []trace.Class{transient},
	Backoff: Backoff{Base: time.Second},
}

// chunk is a request for items and its answer, after a pause.
func chunk(s *tracetest.Script, pause time.Duration, items trace.Items, o trace.Outcome) {
	s.After(pause).Items(items).Call("w", `"`+string(items)+`"`).AnswerTo(s.Last(), o)
}

// Programs that send chunk after chunk and collect what failed are right in
// several ways, and wrong in as many.
func TestConformsFollowsEachChunk(t *testing.T) {
	whole := trace.Outcome{Class: transient}
	done := trace.Outcome{Class: ok}
	left := func(items trace.Items) trace.Outcome { return trace.Outcome{Class: partial, Items: items} }
	type step struct {
		pause time.Duration
		items trace.Items
		o     trace.Outcome
	}
	for _, c := range []struct {
		name  string
		list  []step
		fails bool
		found string
	}{
		{"each to its end", []step{{0, "a,b", left("a:ok,b:throttled")}, {time.Second, "b", done}, {0, "c", done}}, false, ""},
		{"on after a refusal", []step{{0, "a,b", left("a:ok,b:invalid")}, {0, "c", done}}, true, ""},
		{"on after the last attempt", []step{{0, "a", whole}, {time.Second, "a", whole}, {2 * time.Second, "a", whole}, {0, "c", done}}, true, ""},
		{"the rest at the end", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", done}, {time.Second, "b", done}}, false, ""},
		{"the rest of both together", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", whole}, {time.Second, "b,c", done}}, false, ""},
		{"the rest of both apart", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", whole}, {time.Second, "b", done}, {0, "c", done}}, false, ""},
		{"a later wait for both", []step{{0, "a,b", trace.Outcome{Class: partial, Hint: 9 * time.Second, Items: "a:ok,b:throttled"}}, {0, "c", whole}, {9 * time.Second, "b,c", done}}, false, ""},
		{"the chunks take their time", []step{{0, "a,b", left("a:ok,b:throttled")}, {5 * time.Second, "c", done}, {time.Second, "b", done}}, false, ""},
		{"and the wait behind them too", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", done}, {5 * time.Second, "b", done}}, false, "came 5s after the answer"},
		{"a chunk is left out", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", done}}, true, "was given up after attempt 1"},
		{"the last chunk fails for good", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", trace.Outcome{Class: trace.Forbidden}}}, true, ""},
		{"the rest comes too early", []step{{0, "a,b", left("a:ok,b:throttled")}, {0, "c", whole}, {time.Millisecond, "b,c", done}}, false, "again 1ms after its answer, the earliest is 1s"},
		{"a refused chunk again", []step{{0, "a,b", left("a:invalid,b:ok")}, {0, "c", done}, {time.Second, "a", done}}, true, "was called again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin()
			for _, r := range c.list {
				chunk(s, r.pause, r.items, r.o)
			}
			if s.Items(""); c.fails {
				s.Fail("partly")
			} else {
				s.End()
			}
			found := Find(s.Trace(), Conforms(chunked))
			if c.found == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.Contains(t, found[0].Text, c.found)
		})
	}
}

// An item is asked for as often as the policy has attempts, in whatever chunk.
func TestAttemptsOfAnItemAreCountedOverChunks(t *testing.T) {
	s := begin()
	chunk(s, 0, "a", trace.Outcome{Class: transient})
	chunk(s, 0, "b", trace.Outcome{Class: transient})
	for range 2 {
		chunk(s, time.Second, "a,b", trace.Outcome{Class: partial, Items: "a:throttled,b:ok"})
	}
	require.Empty(t, Find(s.Trace(), MaxAttempts(3)))
	chunk(s, time.Second, "a", trace.Outcome{Class: ok})
	found := Find(s.Trace(), MaxAttempts(3))
	require.NotEmpty(t, found)
	require.Contains(t, found[len(found)-1].Text+found[0].Text, "w was asked for item a 4 times, 3 are allowed")
}

// What is left of one chunk is not missed in the retry of another.
func TestBatchRetryLooksAtOneChunkAtATime(t *testing.T) {
	first, second := request{"a,b", partial, "a:ok,b:throttled"}, request{"c,d", partial, "c:throttled,d:throttled"}
	for _, c := range []struct {
		list  []request
		found string
	}{
		{[]request{first, second, {"b", ok, ""}, {"c,d", ok, ""}}, ""},
		{[]request{first, second, {"b,c,d", ok, ""}}, ""},
		{[]request{first, second, {"b,c", ok, ""}}, "leaves out item d (throttled)"},
		{[]request{first, second, {"b", ok, ""}}, "items c (throttled), d (throttled) of w has no final outcome"},
	} {
		found := Find(asked(sends(c.list...).End(), c.list), BatchRetry())
		if c.found == "" {
			require.Empty(t, found)
			continue
		}
		require.NotEmpty(t, found)
		require.Contains(t, found[0].Text, c.found)
	}
}

// The chunks behind it may have taken the time in which one could have been sent
// again.
func TestAChunkIsNotGivenUpWhereTheTimeEnded(t *testing.T) {
	ends := func(deadline, end time.Duration) *trace.Trace {
		s := tracetest.New().BeginUntil("a", deadline)
		chunk(s, 0, "a,b", trace.Outcome{Class: transient})
		chunk(s, 0, "c", trace.Outcome{Class: ok})
		return s.Items("").At(end).Fail("out of time").Trace()
	}
	p := chunked
	p.Late = LateWait
	require.Empty(t, Find(ends(time.Second+5, time.Second+5), Conforms(p)))
	require.NotEmpty(t, Find(ends(time.Minute, time.Second+5), Conforms(p)))
}
