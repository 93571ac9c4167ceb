package invariants_test

import (
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/internal/tracetest"
	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// A request of a batch and its answer: the items that it asks for, and what
// became of them. Without items in the answer it went as the class says.
type request struct {
	asks  trace.Items
	class trace.Class
	items trace.Items
}

// sends is an action of the requests, which is still open.
func sends(list ...request) *tracetest.Script {
	s := begin()
	for _, r := range list {
		s.Call("w", `"`+string(r.asks)+`"`).AnswerTo(s.Last(), trace.Outcome{Class: r.class, Items: r.items})
	}
	return s
}

// of fills in what the calls ask for.
func asked(s *tracetest.Script, list []request) *trace.Trace {
	tr := s.Trace()
	n := 0
	for i := range tr.Events {
		if tr.Events[i].Kind == trace.KindCall {
			tr.Events[i].Outcome.Items = list[n].asks
			n++
		}
	}
	return tr
}

const partial = trace.Partial

func TestBatchRetryWantsExactlyTheFailedItems(t *testing.T) {
	first := request{"a,b,c", partial, "a:ok,b:throttled,c:ok"}
	mixed := request{"a,b,c", partial, "a:ok,b:throttled,c:forbidden"}
	for _, c := range []struct {
		name  string
		list  []request
		fails bool
		found string // empty: kept
	}{
		{"F059: the whole batch again", []request{first, {"a,b,c", ok, ""}}, false, "items a, c again, which it had done"},
		{"F059: exactly the failed one", []request{first, {"b", ok, ""}}, false, ""},
		{"F058: the partial answer taken for a success", []request{first}, false, "item b (throttled) of w has no final outcome"},
		{"F058: never, and said so", []request{first, {"b", throttle, ""}}, true, ""},
		{"a refused item again", []request{mixed, {"b,c", ok, ""}}, false, "item c (forbidden) again, which no retry can mend"},
		{"a refused item handed on", []request{mixed, {"b", ok, ""}}, false, ""},
		{"one left out", []request{{"a,b,c", partial, "a:throttled,b:throttled,c:ok"}, {"a", ok, ""}}, false, "leaves out item b (throttled)"},
		{"another mixed in", []request{first, {"b,d", ok, ""}}, false, "item d mixed in"},
		{"the next page first", []request{first, {"d,e", ok, ""}, {"b", ok, ""}}, false, ""},
		{"the next page only", []request{first, {"d,e", ok, ""}}, false, "item b (throttled)"},
		{"failed as a whole", []request{{"a,b", transient, ""}, {"a,b", ok, ""}}, false, ""},
		{"failed as a whole, half again", []request{{"a,b", transient, ""}, {"a", ok, ""}}, false, "leaves out item b (transient)"},
		{"an answer that forgets an item", []request{{"a,b", partial, "a:ok"}, {"b", ok, ""}}, false, ""},
		{"an answer that forgets an item, and so does the program", []request{{"a,b", partial, "a:ok"}}, false, "item b (no answer)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sends(c.list...)
			if c.fails {
				s.Fail("partly failed: b")
			} else {
				s.End()
			}
			tr := asked(s, c.list)
			found := Find(tr, BatchRetry())
			require.NotZero(t, Applied(tr, BatchRetry())["batch-retry"])
			if c.found == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Text, c.found)
			require.NotEmpty(t, found[0].Events)
		})
	}
	require.Zero(t, Applied(tries(transient, ok).End().Trace(), BatchRetry())["batch-retry"], "no batch")
	own := []request{{"a,b", partial, "a:ok,b:conflict"}, {"b", ok, ""}}
	require.Empty(t, Find(asked(sends(own...).End(), own), BatchRetry(trace.Conflict)), "a class of one's own")
}

// The items of a retry may be fewer, what they hold may not change.
func TestTheItemsOfARetryHoldTheSame(t *testing.T) {
	whole := []request{{"a,b", transient, ""}, {"a,b", ok, ""}}
	tr := asked(begin().Call("w", `["one","two"]`).Answer(transient).Call("w", `["one","other"]`).Answer(ok).End(), whole)
	require.Len(t, Find(tr, SameArguments()), 1)
	require.Empty(t, Find(asked(sends(whole...).End(), whole), SameArguments()))
	fewer := []request{{"a,b", partial, "a:ok,b:throttled"}, {"b", ok, ""}}
	require.Empty(t, Find(asked(sends(fewer...).End(), fewer), SameArguments(), NoRetryAfter(partial)))
}

// The policy decides by the classes of the items whether a retry is due.
func TestConformsReadsTheItemsOfAPartialAnswer(t *testing.T) {
	p := Policy{MaxAttempts: 2, Retry: []trace.Class{throttle, transient}, Undone: []trace.Class{transient}}
	invs := p.Invariants()
	again := []request{{"a,b", partial, "a:ok,b:throttled"}, {"b", ok, ""}}
	require.Empty(t, Find(asked(sends(again...).End(), again), invs...))

	early := []request{{"a,b", partial, "a:ok,b:throttled"}}
	found := Find(asked(sends(early...).FailFor(trace.ReasonPartial), early), invs...)
	require.NotEmpty(t, found)
	require.Contains(t, found[0].Text, "given up after attempt 1")

	final := []request{{"a,b", partial, "a:ok,b:forbidden"}}
	require.Empty(t, Find(asked(sends(final...).FailFor(trace.ReasonPartial), final), invs...))
	final = append(final, request{"b", ok, ""})
	require.NotEmpty(t, Find(asked(sends(final...).End(), final), invs...))

	rest := []request{{"a,b,c", partial, "a:ok,b:throttled,c:forbidden"}, {"b", ok, ""}}
	require.Empty(t, Find(asked(sends(rest...).FailFor(trace.ReasonPartial), rest), invs...), "a failure that names c")

	unsafe := Policy{MaxAttempts: 2, Retry: []trace.Class{throttle}}
	lost := []request{{"a,b", partial, "a:ok,b:timeout"}}
	require.Empty(t, Find(asked(sends(lost...).FailFor(trace.ReasonPartial), lost), unsafe.Invariants()...))
}

func TestASuccessWithFailedItemsNamesThem(t *testing.T) {
	list := []request{{"a,b,c", partial, "a:ok,b:forbidden,c:throttled"}}
	found := Find(asked(sends(list...).End(), list), HonestEnding())
	require.Len(t, found, 1)
	require.Equal(t, "the action claims success, but items b (forbidden), c (throttled) of w failed", found[0].Text)
}

// Who hands on, in the result, what no retry can mend has told the truth.
func TestFailedItemsMayBeHandedOnInTheResult(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer trace.Items
		result string
		untrue bool
	}{
		{"named", "a:ok,b:forbidden,7:invalid", `{"b":"forbidden","x":7}`, false},
		{"one of two", "a:ok,b:forbidden,7:invalid", `{"b":"forbidden"}`, true},
		{"one that may pass", "a:ok,b:throttled,7:ok", `["b"]`, true},
		{"no result", "a:ok,b:forbidden,7:ok", ``, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := []request{{"a,b,7", partial, c.answer}}
			tr := asked(sends(list...).Ending(trace.Event{Result: []byte(c.result)}), list)
			require.Equal(t, c.untrue, len(Find(tr, HonestEnding())) > 0)
		})
	}
}

// Who leaves items undone names each, wherever it tells of its end.
func TestItemsThatFailedAreNamed(t *testing.T) {
	left := []request{{"a,b,c-1", partial, "a:ok,b:forbidden,c-1:invalid"}}
	for _, c := range []struct {
		name  string
		end   func(*tracetest.Script)
		found string
	}{
		{"in the error", func(s *tracetest.Script) { s.Fail("b: forbidden; c-1: too large") }, ""},
		{"in the result", func(s *tracetest.Script) { s.Ending(trace.Event{Result: []byte(`{"failed":["b","c-1"]}`)}) }, ""},
		{"handed on", func(s *tracetest.Script) { s.Observe(`{"failed":{"b":"no","c-1":"no"}}`).Fail("partly failed") }, ""},
		{"a number", func(s *tracetest.Script) { s.Fail("2 records failed") }, "does not name items b (forbidden), c-1 (invalid)"},
		{"one of them", func(s *tracetest.Script) { s.Fail("c-1 failed") }, "does not name item b (forbidden)"},
		{"letters of other words", func(s *tracetest.Script) { s.Fail("c-1 is bad, abc-123 too") }, "does not name item b (forbidden)"},
		{"cancelled", func(s *tracetest.Script) { s.Cancel().FailFor(trace.ReasonCancelled) }, ""},
	} {
		s := sends(left...)
		c.end(s)
		found := Find(asked(s, left), ItemsNamed())
		if c.found == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.found, c.name)
	}
	again := append(left, request{"b,c-1", ok, ""})
	require.Zero(t, Applied(asked(sends(again...).Fail("late log"), again), ItemsNamed())["items-named"], "sent again and done")
	whole := []request{{"a,b", transient, ""}}
	require.Zero(t, Applied(asked(sends(whole...).Fail("down"), whole), ItemsNamed())["items-named"], "failed as a whole")
}

// One item is done once, by the ledger, whatever the caller saw.
func TestOneEffectCountsTheItemsOfABatch(t *testing.T) {
	unseen := trace.Outcome{Class: trace.Timeout}
	put := func(s *tracetest.Script, items trace.Items, args string, done trace.Items, o trace.Outcome) {
		s.Items(items).Call("w", args).EffectOf(done).AnswerTo(s.Last(), o)
	}
	for _, c := range []struct {
		name   string
		second func(*tracetest.Script)
		found  string
	}{
		{"nothing more", func(*tracetest.Script) {}, ""},
		{"others", func(s *tracetest.Script) { put(s, "c", `["c"]`, "c", unseen) }, ""},
		{"the same", func(s *tracetest.Script) { put(s, "a,b", `["a","b"]`, "a,b", unseen) }, "w did items a, b twice for one action"},
		{"one of them", func(s *tracetest.Script) { put(s, "b,c", `["b","c"]`, "b,c", unseen) }, "w did item b twice for one action"},
		{"one of them, with another content", func(s *tracetest.Script) { put(s, "b", `["b2"]`, "b", unseen) }, ""},
		{"one of them, over HTTP", func(s *tracetest.Script) { put(s, "b", `{"body":["b2"],"method":"POST"}`, "b", unseen) }, ""},
		{"one of them, in another shape", func(s *tracetest.Script) { put(s, "b", `{"ids":["b"]}`, "b", unseen) }, "w did item b twice"},
		{"not done again", func(s *tracetest.Script) { s.Items("a,b").Call("w", `["a","b"]`).AnswerTo(s.Last(), unseen) }, ""},
		{"at another tool", func(s *tracetest.Script) { s.Items("a").Call("v", `["a"]`).EffectOf("a") }, ""},
		{"for another action", func(s *tracetest.Script) { put(s.Begin("next"), "a", `["a"]`, "a", unseen) }, ""},
	} {
		s := begin()
		put(s, "a,b", `["a","b"]`, "a,b", unseen)
		c.second(s)
		v := OneEffect().Check(s.Trace())
		require.NotZero(t, v.Applied, c.name)
		if c.found == "" {
			require.Empty(t, v.Findings, c.name)
			continue
		}
		require.Len(t, v.Findings, 1, c.name)
		require.Contains(t, v.Findings[0].Text, c.found, c.name)
		require.Equal(t, []int{2, 5}, v.Findings[0].Events, c.name)
	}
}

// A tool that ignores its context answers when its caller may have left: a
// success of the items can be the right end all the same.
func TestABatchAnsweredBehindItsTimeIsReadEitherWay(t *testing.T) {
	tr, err := trace.Read(strings.NewReader(`{"rehearse":"trace","schema":1,"start":"2026-01-31T12:00:00Z"}
{"at":"0s","kind":"begin","deadline":"1s"}
{"at":"0s","kind":"call","tool":"w","call":1,"deadline":"1s","items":"a,b"}
{"at":"1s","kind":"interrupt","tool":"w","call":1,"class":"timeout"}
{"at":"2s","kind":"answer","tool":"w","call":1,"class":"ok","items":"a:ok,b:ok"}
{"at":"2s","kind":"end"}
`))
	require.NoError(t, err)
	require.Empty(t, Find(tr, WhereItApplies(BatchRetry())))
}
