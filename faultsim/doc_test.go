package faultsim

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The schedule in the documentation is one.
func TestDocumentationShowsAScheduleThatParses(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(source), "//\trehearse schedule 1\n")
	text, _, _ = strings.Cut(text, "//\n")
	text = scheduleHeader + "\n" + strings.ReplaceAll(text, "//\t", "")
	s, err := Parse(text)
	require.NoError(t, err, text)
	require.Equal(t, text, s.String())
}
