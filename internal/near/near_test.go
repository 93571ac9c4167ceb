package near

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownNamesAreGuessed(t *testing.T) {
	require.Equal(t, `; did you mean "weather"?`, Meant("wether", []string{"audit", "weather"}))
	require.Equal(t, `; did you mean "Audit"?`, Meant("audit", []string{"weather", "Audit"}))
	require.Equal(t, `; did you mean "rule no-overlap"?`, Meant("no-overlap", []string{"rule no-overlap"}))
	require.Empty(t, Meant("mail", []string{"audit", "weather"}))
	require.Empty(t, Meant("mail", nil))
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
	}
}
