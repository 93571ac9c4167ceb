package faultsim

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shards have every trial, and none twice, from wherever they begin.
func TestShardsPartTheTrials(t *testing.T) {
	for _, of := range []int{0, 1, 2, 3, 7} {
		for _, from := range []int{0, 1, 5, 6} {
			const to = 40
			var all []int
			for i := range max(1, of) {
				s, n := shard{i, of}, 0
				for k := s.first(from); k < to; k += s.step() {
					all, n = append(all, k), n+1
				}
				require.Equal(t, n, s.count(to)-s.count(from), "%v from %d", s, from)
			}
			slices.Sort(all)
			require.Len(t, all, to-from)
			for i, k := range all {
				require.Equal(t, from+i, k)
			}
		}
	}
}

// A pool of a shard plays that shard's trials.
func TestPoolPlaysTheTrialsOfItsShard(t *testing.T) {
	a := homeAdapter()
	total := 0
	for i := range 3 {
		c := newCheck(t, &a, settings{trials: 100, seed: 1, shard: shard{i, 3}})
		f, err := c.search()
		require.NoError(t, err)
		require.Nil(t, f)
		require.Equal(t, shard{i, 3}.count(100), c.met.Trials)
		total += c.met.Trials
	}
	require.Equal(t, 100, total)
}

// clearScale takes the variables of this process's own run away.
func clearScale(t *testing.T) {
	for _, name := range []string{
		"REHEARSE_TRIALS", "REHEARSE_SEED", "REHEARSE_EXPLORE", "REHEARSE_FOR", "REHEARSE_SHARD", "REHEARSE_RESULTS", "REHEARSE_MERGE",
		"TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "TEST_SHARD_STATUS_FILE", "TEST_UNDECLARED_OUTPUTS_DIR",
	} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"GO_TEST_WRAP", "GO_TEST_RUN_FROM_BAZEL"} {
		t.Setenv(name, "") // which brings it back
		require.NoError(t, os.Unsetenv(name))
	}
}

func TestSettingsOfScale(t *testing.T) {
	read := func(t *testing.T, variables string) (settings, error) {
		clearScale(t)
		for _, v := range strings.Fields(variables) {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		return readSettings("TestX")
	}
	var got strings.Builder
	for _, variables := range []string{
		"REHEARSE_FOR=10m",
		"REHEARSE_FOR=1000x",
		"REHEARSE_FOR=soon",
		"REHEARSE_FOR=0x",
		"REHEARSE_FOR=-1s",
		"REHEARSE_SHARD=2/3",
		"REHEARSE_SHARD=3/3",
		"REHEARSE_SHARD=three",
		"TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=1",
		"TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=1 REHEARSE_SHARD=0/2",
		"TEST_TOTAL_SHARDS=4",
		"TEST_TOTAL_SHARDS=0 TEST_SHARD_INDEX=0",
		"TEST_TOTAL_SHARDS=x TEST_SHARD_INDEX=0",
		"TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=4",
		"TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=1 GO_TEST_WRAP=0",
		"TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=1 GO_TEST_WRAP=0 REHEARSE_SHARD=1/2",
		"TEST_UNDECLARED_OUTPUTS_DIR=/outputs",
		"TEST_UNDECLARED_OUTPUTS_DIR=/outputs REHEARSE_RESULTS=/results",
		"REHEARSE_SHARD=0/2 REHEARSE_EXPLORE=1",
		"REHEARSE_SHARD=0/2 REHEARSE_MERGE=results",
		"REHEARSE_SHARD=0/2 REHEARSE_FOR=ever",
	} {
		t.Run(variables, func(t *testing.T) {
			s, err := read(t, variables)
			fmt.Fprintf(&got, "%s\n    %s\n", variables, described(s, err))
		})
	}
	golden(t, "settings-of-scale", got.String())
}

func described(s settings, err error) string {
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", "\n    ")
	}
	text := "shard " + s.shard.String()
	if s.length != (length{}) {
		text += ", campaign of " + s.length.String()
	}
	if s.results != "" {
		text += ", results in " + filepath.ToSlash(s.results)
	}
	return text
}

// A shard beyond the trials says that it plays nothing.
func TestAShardWithoutTrialsIsCounted(t *testing.T) {
	require.Equal(t, 0, shard{5000, 10000}.count(1000))
	require.Equal(t, 1, shard{999, 10000}.count(1000))
}

// A campaign by time has no last trial.
func TestAShardOfATimedCampaignHasAllWorkers(t *testing.T) {
	a := homeAdapter()
	for i := range 3 {
		require.Greater(t, shard{i, 3}.count(math.MaxInt), math.MaxInt/4)
		c := newCheck(t, &a, settings{shard: shard{i, 3}})
		require.Len(t, c.newPool(0, math.MaxInt).workers, runtime.GOMAXPROCS(0))
	}
	require.Zero(t, shard{2, 3}.count(2))
	require.Equal(t, 1, shard{2, 3}.count(3))
	require.Equal(t, 4, shard{}.count(4))
}
