package invariants_test

import (
	"testing"

	. "github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

func TestRetryOwners(t *testing.T) {
	owners := map[trace.Class]string{trace.NotConnected: "transport", trace.Throttled: "adapter", trace.Transient: ""}
	first := "adapter/transport"
	for _, c := range []struct {
		name  string
		class trace.Class
		path  string // of the second attempt
		want  string // part of the finding; empty: none
	}{
		{"the transport connects again", trace.NotConnected, "adapter/transport", ""},
		{"the adapter asks again", trace.Throttled, "adapter/transport#2", ""},
		{"the agent asks again", trace.Transient, "adapter#2/transport", ""},
		{"the transport retries throttling", trace.Throttled, "adapter/transport", `after throttled by "transport", and "adapter" owns`},
		{"the adapter connects again", trace.NotConnected, "adapter/transport#2", `after not-connected by "adapter", and "transport" owns`},
		{"the agent asks again after throttling", trace.Throttled, "adapter#2/transport", `by the code above all layers, and "adapter" owns`},
		{"nobody owns a refusal", trace.Forbidden, "adapter/transport", "no layer owns the retries of it"},
		{"another layer below the same one", trace.Throttled, "adapter/fallback", ""},
		{"an attempt without a layer", trace.Throttled, "", ""},
	} {
		tr := begin().Call("w", pune).Answer(c.class).After(sec).Call("w", pune).Answer(ok).End().Trace()
		n := 0
		for i := range tr.Events {
			if e := &tr.Events[i]; e.Kind == trace.KindCall {
				e.Layer = []string{first, c.path}[n]
				n++
			}
		}
		found := Find(tr, RetryOwners(owners))
		if c.want == "" {
			require.Empty(t, found, c.name)
			continue
		}
		require.Len(t, found, 1, c.name)
		require.Contains(t, found[0].Text, c.want, c.name)
	}
}
