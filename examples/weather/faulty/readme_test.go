package faulty_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/gold"
)

const readme = "../../../README.md"

// The README shows what the failing property really prints.
func TestReadmeShowsTheFailure(t *testing.T) {
	printed, err := os.ReadFile("testdata/property.golden")
	require.NoError(t, err)
	page, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), "it remembers that a failure was passing")
	require.True(t, ok)
	intro, rest, ok := strings.Cut(rest, "\n```\n")
	require.True(t, ok)
	shown, after, ok := strings.Cut(rest, "\n```\n")
	require.True(t, ok)
	want := dedent(string(printed))
	if *gold.Update {
		whole := before + "it remembers that a failure was passing" + intro + "\n```\n" + want + "\n```\n" + after
		require.NoError(t, os.WriteFile(readme, []byte(whole), 0o666))
		shown = want
	}
	require.Equal(t, want, shown)
}

var prefix = regexp.MustCompile(`^    \S+_test.go:\d+: `)

// dedent takes away what go test puts around a message.
func dedent(printed string) string {
	var lines []string
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "--- FAIL") || line == "FAIL" {
			continue
		}
		line = prefix.ReplaceAllString(line, "")
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(line, "        "), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
