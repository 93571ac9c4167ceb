package faultsim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/kept"
)

// Cases that are there and cannot be read must not pass for none.
func TestCaseThatCannotBeReadIsAnError(t *testing.T) {
	defer kept.Move(t.TempDir())()
	cases, err := loadCases("TestX")
	require.NoError(t, err)
	require.Empty(t, cases)
	require.NoError(t, os.MkdirAll(filepath.Join(kept.Path(kept.Dir("TestX")), "a.case"), 0o777))
	_, err = loadCases("TestX")
	require.EqualError(t, err, "a saved case of this test cannot be read: read testdata/rehearse/TestX/a.case: is a directory")
}
