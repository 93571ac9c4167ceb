package invariants_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// The same commit gives the same answer: the seed is fixed, and there are
// enough trials for every mistake, unless exploration is asked for.
func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // thousands of small traces: the collector would take a third of the time
	checks := "1500"
	if testing.Short() {
		checks = "7500" // of which rapid runs a fifth
	}
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": checks, "rapid.nofailfile": "true"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
