package trace_test

import (
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// requests records requests of one action and how they were answered; each is
// answered before the next, unless its class is zero.
func requests(t *testing.T, list ...trace.Attempt) *trace.Action {
	t.Helper()
	r := &trace.Recorder{Clear: true}
	ctx, op := r.Begin(t.Context(), "put")
	for _, at := range list {
		p := r.Call(ctx, trace.Call{Tool: "store", Args: trace.Marshal(at.Items), Items: at.Items})
		if at.Outcome.Class != 0 {
			p.Answer(at.Outcome, nil, nil)
		}
	}
	op.End(trace.Ending{})
	return &r.Trace().Actions()[0]
}

// Each chunk of a batch is a series with its retries, in whatever order they come.
func TestEachChunkIsASeries(t *testing.T) {
	ask := func(items trace.Items, c trace.Class) trace.Attempt {
		return trace.Attempt{Items: items, Outcome: trace.Outcome{Class: c}}
	}
	const ok, busy = trace.OK, trace.Throttled
	for _, c := range []struct {
		name string
		list []trace.Attempt
		want [][]trace.Items
	}{
		{"one after another", []trace.Attempt{ask("a,b", ok), ask("c", ok)}, [][]trace.Items{{"a,b"}, {"c"}}},
		{"each to its end", []trace.Attempt{ask("a,b", busy), ask("b", ok), ask("c,d", busy), ask("c,d", busy)}, [][]trace.Items{{"a,b", "b"}, {"c,d", "c,d"}}},
		{"on after a failure", []trace.Attempt{ask("a,b", busy), ask("c,d", ok)}, [][]trace.Items{{"a,b"}, {"c,d"}}},
		{"the rest at the end, apart", []trace.Attempt{ask("a,b", busy), ask("c,d", busy), ask("a", ok), ask("d", ok)}, [][]trace.Items{{"a,b", "a"}, {"c,d", "d"}}},
		{"the rest at the end, together", []trace.Attempt{ask("a,b", busy), ask("c,d", busy), ask("a,d", ok)}, [][]trace.Items{{"a,b"}, {"c,d", "a,d"}}},
		{"a new item in a retry", []trace.Attempt{ask("a,b", busy), ask("b,c", ok)}, [][]trace.Items{{"a,b", "b,c"}}},
		{"three chunks, back to the second", []trace.Attempt{ask("a", ok), ask("b", busy), ask("c", ok), ask("b", ok)}, [][]trace.Items{{"a"}, {"b", "b"}, {"c"}}},
		{"never answered", []trace.Attempt{ask("a", 0), ask("b", ok)}, [][]trace.Items{{"a"}, {"b"}}},
		{"no batch", []trace.Attempt{ask("", busy), ask("", ok)}, [][]trace.Items{{"", ""}}},
	} {
		var got [][]trace.Items
		for _, s := range requests(t, c.list...).Series {
			var one []trace.Items
			for i, at := range s.Attempts {
				require.Equal(t, i+1, at.N, c.name)
				one = append(one, at.Items)
			}
			got = append(got, one)
		}
		require.Equal(t, c.want, got, c.name)
	}
}
