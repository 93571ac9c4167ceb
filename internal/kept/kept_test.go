package kept

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSafeNamesAreVisibleAndTellNamesApart(t *testing.T) {
	require.Equal(t, "no-retry", Safe("no-retry"))
	require.Equal(t, "v1.2", Safe("v1.2"))
	for _, name := range []string{"", ".", "..", ".mine", "...mine", "a/b", "a b", "été", strings.Repeat("x", longestName+1), "." + strings.Repeat("x", longestName)} {
		require.Regexp(t, `^[-_0-9a-zA-Z][-_.0-9a-zA-Z]*[0-9a-f]{8}$`, Safe(name), name)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[./ a]{0,4}`).Draw(t, "a"), rapid.StringMatching(`[./ a]{0,4}`).Draw(t, "b")
		require.Equal(t, a == b, Safe(a) == Safe(b), "%q %q", a, b)
		require.NotEqual(t, byte('.'), Safe(a)[0])
	})
}
