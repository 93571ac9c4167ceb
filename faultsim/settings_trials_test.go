package faultsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/setting"
)

func TestAdapterProposesTrialsAndFlagOrVariableDecides(t *testing.T) {
	if _, from, _ := settingTrials.Read(); from == setting.Flag {
		t.Skip("the flag is given")
	}
	t.Setenv("REHEARSE_TRIALS", "")
	set, err := readSettings(t.Name())
	require.NoError(t, err)
	usual := set.trials
	set.propose(0)
	assert.Equal(t, usual, set.trials, "no proposal")

	want := 10_000
	if testing.Short() {
		want = 2_000
	}
	set.propose(10_000)
	assert.Equal(t, want, set.trials)

	t.Setenv("REHEARSE_TRIALS", "7")
	set, err = readSettings(t.Name())
	require.NoError(t, err)
	set.propose(10_000)
	assert.Equal(t, 7, set.trials)
}
