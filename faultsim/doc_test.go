package faultsim

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The documentation lists each flag and its variable.
func TestDocumentationListsFlagsAndVariables(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	n := 0
	flag.VisitAll(func(f *flag.Flag) {
		if name, ok := strings.CutPrefix(f.Name, "rehearse."); ok {
			n++
			require.Contains(t, string(text), "-rehearse."+name+" ")
			require.Contains(t, string(text), "REHEARSE_"+strings.ToUpper(name)+" ")
		}
	})
	require.NotZero(t, n)
}

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
