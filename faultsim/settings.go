package faultsim

import (
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
	trials int
	seed   uint64
}

// readSettings reads flags and variables; a flag goes before its variable.
// Usual is the number of trials where neither gives one; 0: the default.
func readSettings(t *testing.T, usual int) (settings, error) {
	s := settings{trials: defaultTrials, seed: nameSeed(t.Name())}
	if usual > 0 {
		s.trials = usual
	}
	if testing.Short() && s.trials >= 5 {
		s.trials /= 5
	}
	trials, err := number("REHEARSE_TRIALS", uint64(max(*flagTrials, 0)))
	if err != nil {
		return s, err
	}
	seed, err := number("REHEARSE_SEED", *flagSeed)
	if err != nil {
		return s, err
	}
	if *flagTrials < 0 {
		return s, fmt.Errorf("-rehearse.trials=%d: the number of trials cannot be negative", *flagTrials)
	}
	if trials > 0 {
		s.trials = int(trials)
	}
	explore := *flagExplore || os.Getenv("REHEARSE_EXPLORE") != ""
	switch {
	case seed != 0 && explore:
		return s, fmt.Errorf("-rehearse.seed and -rehearse.explore are both given: a seed repeats a run, exploring takes a new one")
	case seed != 0:
		s.seed = seed
	case explore:
		s.seed = mix(uint64(time.Now().UnixNano()))
	}
	return s, nil
}

// number is the flag's value, else the variable's.
func number(variable string, flagged uint64) (uint64, error) {
	text := os.Getenv(variable) // read even where the flag wins, for the test cache
	if flagged != 0 || text == "" {
		return flagged, nil
	}
	n, err := strconv.ParseUint(text, 0, 63)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", variable, text)
	}
	return n, nil
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
