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

func TestCaseOfAnyInvariantIsFoundAgain(t *testing.T) {
	defer kept.Move(t.TempDir())()
	for i, name := range []string{".mine", "...", "a/b", "one charge per invoice"} {
		k := savedCase{invariant: name, schedule: Schedule{Actions: []Plan{{}}}}
		_, err := k.save("TestX", "headline")
		require.NoError(t, err)
		cases, err := loadCases("TestX")
		require.NoError(t, err)
		require.Len(t, cases, i+1, name)
	}
}
