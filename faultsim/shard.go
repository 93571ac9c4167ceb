package faultsim

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A shard is one of several equal parts of a property's trials: those whose
// numbers leave its own when they are divided by their count. The zero value is
// the whole.
type shard struct {
	index int
	of    int
}

// step is the distance from one trial of the shard to its next.
func (s shard) step() int { return max(1, s.of) }

// first is the first trial of the shard from n on.
func (s shard) first(n int) int {
	step := s.step()
	return n + ((s.index-n)%step+step)%step
}

// count is how many trials of the shard there are below n.
func (s shard) count(n int) int {
	if n <= s.index {
		return 0
	}
	return 1 + (n-s.index-1)/s.step() // n may be the greatest number there is
}

func (s shard) String() string { return fmt.Sprintf("%d of %d", s.index, max(1, s.of)) }

// readShard reads the shard from the setting or else from the variables that
// Bazel defines (Test Encyclopedia, "Test sharding"). A binary of rules_go has
// parted its test functions by the same variables already: a property runs in
// one shard only there, and has to play all of its trials.
func readShard() (shard, error) {
	s, from, err := settingShard.Read()
	if err != nil {
		return shard{}, err
	}
	total, index := os.Getenv("TEST_TOTAL_SHARDS"), os.Getenv("TEST_SHARD_INDEX")
	if total != "" {
		if err := advertise(); err != nil {
			return shard{}, err
		}
	}
	switch {
	case from > 0:
		return s, nil
	case total == "" || functionsAreSharded():
		return shard{}, nil
	}
	if s, err = newShard(index, total); err != nil {
		return shard{}, fmt.Errorf("TEST_TOTAL_SHARDS=%q, TEST_SHARD_INDEX=%q: %w", total, index, err)
	}
	return s, nil
}

// functionsAreSharded reports whether the binary is one of rules_go. Its wrapper,
// which Bazel always runs, leaves the first variable; the second is there where
// the wrapper is not.
func functionsAreSharded() bool {
	_, wrapped := os.LookupEnv("GO_TEST_WRAP")
	_, plain := os.LookupEnv("GO_TEST_RUN_FROM_BAZEL")
	return wrapped || plain
}

// tellEmpty logs that the shard has no trial to play, since more shards than trials are
// as good as a test that passes.
func (s *settings) tellEmpty(t *testing.T) {
	t.Helper()
	if s.shard.of > 1 && s.length == (length{}) && s.merge == "" && s.shard.count(s.trials) == 0 {
		t.Logf("warning: shard %v has none of the %d trials, and plays nothing: take fewer shards, or more trials", s.shard, s.trials)
	}
}

func parseShard(text string) (shard, error) {
	index, total, ok := strings.Cut(text, "/")
	if !ok {
		return shard{}, errors.New("is no shard: give its index, from 0, and their number, such as 0/3")
	}
	s, err := newShard(index, total)
	if err != nil {
		return shard{}, fmt.Errorf("is no shard: %w", err)
	}
	return s, nil
}

func newShard(index, total string) (shard, error) {
	i, indexErr := strconv.Atoi(index)
	n, totalErr := strconv.Atoi(total)
	switch {
	case totalErr != nil || n < 1:
		return shard{}, errors.New("the number of shards is a whole number of 1 or more")
	case indexErr != nil || i < 0 || i >= n:
		return shard{}, errors.New("an index is a whole number from 0 to one below the number of shards")
	}
	return shard{i, n}, nil
}

// advertise touches the file by which Bazel learns that a binary knows of shards.
var advertise = sync.OnceValue(func() error {
	path := os.Getenv("TEST_SHARD_STATUS_FILE")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("TEST_SHARD_STATUS_FILE: %w", err)
	}
	return f.Close()
})
