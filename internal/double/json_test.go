package double

import (
	"testing"

	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// The short way and the long way write the same.
func TestJSONOfPlainTypes(t *testing.T) {
	for _, s := range []string{"", "Pune", "a \"b\" \\ c", "<&>", "é", "\x00\n", "\xff"} {
		require.Equal(t, string(trace.Canonical(trace.Marshal(s))), string(trace.Canonical(JSON(s))), "%q", s)
	}
	for _, n := range []int{0, -1, 1 << 62} {
		require.Equal(t, string(trace.Marshal(n)), string(JSON(n)))
	}
	require.Equal(t, "true", string(JSON(true)))
	require.Equal(t, "null", string(JSON[*int](nil)))
	require.Equal(t, `{"A":1}`, string(JSON(struct{ A int }{1})))
}
