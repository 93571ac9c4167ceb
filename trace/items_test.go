package trace_test

import (
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestItemsAreOneTextThatReadsBack(t *testing.T) {
	list := []trace.Item{{ID: "a", Class: trace.OK}, {ID: "b,c:d #1"}, {ID: "é", Class: trace.Throttled}}
	items := trace.ItemsOf(list...)
	require.Equal(t, trace.Items("a:ok,b%2Cc%3Ad+%231,%C3%A9:throttled"), items)
	require.Equal(t, list, items.List())
	for _, bad := range []string{"a:", "a:fine", "%zz", ",a:fine"} {
		_, err := trace.ParseItems(bad)
		require.Error(t, err, bad)
	}
}

func TestABatchIsRecordedWithItsItems(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	p := r.Call(t.Context(), trace.Call{Tool: "store", Items: "a,b"})
	p.EffectOf("a")
	p.Answer(trace.Outcome{Class: trace.Partial, Items: "a:ok,b:throttled"}, nil, nil)
	tr := r.Trace()
	at := tr.Actions()[0].Attempts[0]
	require.Equal(t, trace.Items("a,b"), at.Items)
	require.Equal(t, trace.Items("a:ok,b:throttled"), at.Outcome.Items)
	require.Contains(t, tr.Timeline(), "items a, b")
	require.Contains(t, tr.Timeline(), "a ok, b throttled")

	var b strings.Builder
	_, err := tr.WriteTo(&b)
	require.NoError(t, err)
	read, err := trace.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, tr.Events, read.Events)
	_, err = trace.Read(strings.NewReader(strings.Replace(b.String(), "b:throttled", "b:tired", 1)))
	require.ErrorContains(t, err, "items")
}

// Ids are data: without leave they become digests, and still compare.
func TestIdsOfItemsAreRedacted(t *testing.T) {
	r := &trace.Recorder{}
	p := r.Call(t.Context(), trace.Call{Tool: "store", Items: "secret-1,secret-2"})
	p.Answer(trace.Outcome{Class: trace.Partial, Items: "secret-1:ok,secret-2:throttled"}, nil, nil)
	tr := r.Trace()
	var b strings.Builder
	_, err := tr.WriteTo(&b)
	require.NoError(t, err)
	require.NotContains(t, b.String(), "secret")
	at := tr.Actions()[0].Attempts[0]
	require.Equal(t, at.Items.List()[1].ID, at.Outcome.Items.List()[1].ID)
	require.NotEqual(t, at.Items.List()[0].ID, at.Items.List()[1].ID)

	kept := &trace.Recorder{Keep: func(f string) bool { return f == trace.KeepItem }}
	kept.Call(t.Context(), trace.Call{Tool: "store", Items: "a,b"})
	require.Equal(t, trace.Items("a,b"), kept.Trace().Actions()[0].Attempts[0].Items)
}

// A further request does other items of the batch: nothing is done again, and
// its arguments are not changed by mistake.
func TestATimelineTellsTheItemsOfABatch(t *testing.T) {
	r := &trace.Recorder{Clear: true}
	send := func(asked, done trace.Items) {
		p := r.Call(t.Context(), trace.Call{Tool: "store", Items: asked, Args: []byte(`"` + string(asked) + `"`)})
		p.EffectOf(done)
		p.Answer(trace.Outcome{Class: trace.Partial, Items: "b:throttled"}, nil, nil)
	}
	send("a,b,c", "a,c")
	send("b", "b")
	text := r.Trace().Timeline()
	require.Contains(t, text, "done: a, c\n")
	require.Contains(t, text, "done: b\n")
	require.NotContains(t, text, "AGAIN")
	require.NotContains(t, text, "CHANGED")
	send("a,d", "a,d")
	require.Contains(t, r.Trace().Timeline(), "a is done AGAIN, 2 times now · done: d\n")
}
