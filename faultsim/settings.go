package faultsim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/internal/setting"
)

// What a run is told from outside. The documentation of the package has the same
// table, and a test compares the two.
var (
	settingTrials  = setting.Define("trials", "trials of each property; 0: 1000, or 200 with -short", parseTrials)
	settingSeed    = setting.Define("seed", "base seed, as a failure prints it; 0: from the test's name", parseSeed)
	settingExplore = setting.Define("explore", "a fresh base seed for each run, which is printed", setting.YesOrNo)
	settingFor     = setting.Define("for", "campaign: go on for a time (10m) or a count (1000000x), past failures", parseLength)
	settingShard   = setting.Define("shard", "0/3: play the first of three parts of the trials", parseShard)
	settingResults = setting.Define("results", "folder for a file of results of each property", parseFolder)
	settingMerge   = setting.Define("merge", "folder with the files of all shards: report them as one run", parseFolder)
	settingTwice   = setting.Define("twice", "true: passing trials run twice, and their traces are compared", setting.YesOrNo)
	settingReruns  = setting.Define("reruns", "how often a failing schedule is run again to see whether it always fails; 0: 100, or fewer where its trace is long", parseReruns)
	settingGoTest  = setting.Define("gotest", "true: a failure prints its schedule as a Go test too", setting.YesOrNo)
)

const defaultTrials = 1000

// settings are what one property runs with.
type settings struct {
	trials    int
	asked     bool // the number of trials was asked for by flag or variable
	brief     bool // so it was, or -short: it stays what it is
	seed      uint64
	exploring bool
	length    length // of a campaign; zero: it is none
	shard     shard
	results   string // folder; empty: none
	merge     string // folder; empty: nothing to merge
	twice     bool   // passing trials are run twice
	reruns    int    // of a failing schedule; 0: the usual number
	goTest    bool   // a failing schedule is printed as a Go test too
}

// propose takes the adapter's own number of trials where none was asked for.
func (s *settings) propose(trials int) {
	if trials == 0 || s.asked {
		return
	}
	s.trials = trials
	if testing.Short() {
		s.trials = max(1, trials/5)
	}
}

// readSettings reads flags and variables for the test of that name; a flag goes
// before its variable, and any flag about the seed before any variable about it.
func readSettings(test string) (settings, error) {
	s := settings{trials: defaultTrials, seed: nameSeed(test)}
	if testing.Short() {
		s.trials, s.brief = s.trials/5, true
	}
	err := errors.Join(s.readTrials(), s.readSeed(), s.readScale(), s.readSwitches())
	return s, err
}

func (s *settings) readTrials() error {
	n, _, err := settingTrials.Read()
	if err == nil && n > 0 {
		s.trials, s.asked, s.brief = n, true, true
	}
	return err
}

func (s *settings) readSeed() error {
	seed, seedFrom, seedErr := settingSeed.Read()
	explore, exploreFrom, exploreErr := settingExplore.Read()
	if seedFrom < exploreFrom {
		seed, seedErr = 0, nil
	} else if exploreFrom < seedFrom {
		explore, exploreErr = false, nil
	}
	switch {
	case seedErr != nil || exploreErr != nil:
		return errors.Join(seedErr, exploreErr)
	case seed != 0 && explore:
		return errors.New("a seed and exploring are both asked for (-rehearse.seed or REHEARSE_SEED, -rehearse.explore or REHEARSE_EXPLORE): a seed repeats a run, exploring takes a new one")
	case seed != 0:
		s.seed = seed
	case explore:
		s.seed, s.exploring = mix(uint64(time.Now().UnixNano())), true
	}
	return nil
}

// readScale reads what is for runs on several machines, and for long ones.
func (s *settings) readScale() (err error) {
	errs := make([]error, 4)
	s.length, _, errs[0] = settingFor.Read()
	s.shard, errs[1] = readShard()
	s.results, errs[2] = readResults()
	s.merge, _, errs[3] = settingMerge.Read()
	switch {
	case s.exploring && s.shard.of > 1:
		err = errors.New("shards and a fresh seed are both asked for: each shard would have a seed of its own. Draw one seed for all of them and give it by -rehearse.seed or REHEARSE_SEED")
	case s.merge != "" && s.shard.of > 1:
		err = errors.New("-rehearse.merge puts together what shards have found: run it once, without -rehearse.shard or TEST_TOTAL_SHARDS")
	}
	return errors.Join(append(errs, err)...)
}

func (s *settings) readSwitches() error {
	errs := make([]error, 3)
	s.twice, _, errs[0] = settingTwice.Read()
	s.goTest, _, errs[1] = settingGoTest.Read()
	s.reruns, _, errs[2] = settingReruns.Read()
	return errors.Join(errs...)
}

func parseTrials(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("is no number of trials: give a whole number, or 0 for the usual one")
	}
	return n, nil
}

// parseReruns wants as many as it takes to tell that a failure hangs on chance.
func parseReruns(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 0 && n < reruns {
		return 0, fmt.Errorf("is no number of reruns: give a whole number from %d, or 0 for the usual one", reruns)
	}
	return n, nil
}

func parseSeed(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, errors.New("is no seed: give the whole number that a failure prints, or 0 for the one of the test's name")
	}
	return seed, nil
}

func parseFolder(text string) (string, error) { return text, nil }

// A length is how long a campaign goes on: a time, or a number of trials.
type length struct {
	time   time.Duration
	trials int
}

func (l length) String() string {
	if l.trials > 0 {
		return fmt.Sprintf("%d trials", l.trials)
	}
	return l.time.String()
}

// parseLength reads a length as go test reads -benchtime and -fuzztime.
func parseLength(text string) (length, error) {
	if count, ok := strings.CutSuffix(text, "x"); ok {
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			return length{trials: n}, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return length{}, errors.New("is no length of a campaign: give a time such as 10m, or a number of trials such as 1000000x")
	}
	return length{time: d}, nil
}

// nameSeed makes a base seed of a test's name: the same commit gives the same
// answer, and no two properties draw the same schedules.
func nameSeed(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return mix(h.Sum64())
}

// trialSeed is the seed of trial n. Every trial has its own, so that the
// trials do not depend on each other or on who runs them.
func trialSeed(base uint64, n int) uint64 { return mix(base + uint64(n)*weyl) }

// mix is scramble, in a form that fits an int and is not 0, which rapid reads as no
// seed.
func mix(z uint64) uint64 { return scramble(z)>>1 | 1 }
