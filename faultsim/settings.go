package faultsim

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"testing"
	"time"
)

// The flags are registered where a test binary links this package. The
// variables do the same for `go test ./...` over packages that do not; they
// are read while a test runs, so that go test does not serve a cached pass
// when one of them changes.
var (
	flagTrials  = flag.Int("rehearse.trials", 0, "rehearse: trials of each property (0: 1000, or 200 with -short)")
	flagSeed    = flag.Uint64("rehearse.seed", 0, "rehearse: base seed of properties (0: it follows from the test's name)")
	flagExplore = flag.Bool("rehearse.explore", false, "rehearse: take a fresh base seed for each run instead")
)

const defaultTrials = 1000

// settings are what one property runs with.
type settings struct {
	trials    int
	asked     bool // the number of trials was asked for by flag or variable
	brief     bool // so it was, or -short: it stays what it is
	seed      uint64
	exploring bool
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

// readSettings reads flags and variables; a flag goes before its variable, and
// any flag about the seed before any variable about it.
func readSettings(t *testing.T) (settings, error) {
	s := settings{trials: defaultTrials, seed: nameSeed(t.Name())}
	if testing.Short() {
		s.trials, s.brief = s.trials/5, true
	}
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	err := errors.Join(s.readTrials(given["rehearse.trials"]), s.readSeed(given["rehearse.seed"], given["rehearse.explore"]))
	return s, err
}

func (s *settings) readTrials(flagged bool) error {
	text, n := os.Getenv("REHEARSE_TRIALS"), *flagTrials // read even where the flag wins, for the test cache
	if flagged && n < 0 {
		return fmt.Errorf("-rehearse.trials=%d: the number of trials cannot be negative", n)
	}
	if !flagged && text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			return fmt.Errorf("REHEARSE_TRIALS=%q is no number of trials: give a whole number, or 0 for the usual one", text)
		}
	}
	if n > 0 {
		s.trials, s.asked, s.brief = n, true, true
	}
	return nil
}

func (s *settings) readSeed(seedFlagged, exploreFlagged bool) error {
	seed, explore := *flagSeed, *flagExplore
	seedText, exploreText := os.Getenv("REHEARSE_SEED"), os.Getenv("REHEARSE_EXPLORE")
	if !seedFlagged && !exploreFlagged {
		var err error
		if seed, err = strconv.ParseUint(cmp.Or(seedText, "0"), 0, 64); err != nil {
			return fmt.Errorf("REHEARSE_SEED=%q is no seed: give the whole number that a failure prints, or 0 for the one of the test's name", seedText)
		}
		if explore, err = strconv.ParseBool(cmp.Or(exploreText, "false")); err != nil {
			return fmt.Errorf("REHEARSE_EXPLORE=%q is neither true nor false", exploreText)
		}
	}
	switch {
	case seed != 0 && explore:
		return errors.New("a seed and exploring are both asked for (-rehearse.seed or REHEARSE_SEED, -rehearse.explore or REHEARSE_EXPLORE): a seed repeats a run, exploring takes a new one")
	case seed != 0:
		s.seed = seed
	case explore:
		s.seed, s.exploring = mix(uint64(time.Now().UnixNano())), true
	}
	return nil
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
func trialSeed(base uint64, n int) uint64 { return mix(base + uint64(n)*0x9e3779b97f4a7c15) }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). The
// result fits an int and is not 0, which rapid reads as no seed.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z^z>>31)>>1 | 1
}
