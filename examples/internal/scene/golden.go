package scene

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pin compares the text with the one that is kept in the file of testdata, and writes
// it there where the test binary has a flag -update that is set.
func Pin(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "read the difference, and then write the file anew with -args -update")
}
