package matrix_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/rehearse-go/rehearse/trace"
	"github.com/stretchr/testify/require"
)

// TestChildBaseline is run again by the tests below, with a variable that says
// what has changed since the baseline.
func TestChildBaseline(t *testing.T) {
	if !selftest.Active() {
		return
	}
	p := read
	var own []matrix.Row
	var cache *invariants.Cache
	switch os.Getenv("CHANGED") {
	case "content":
		p.Backoff.Base = 50 * time.Millisecond
	case "content and ID":
		p.Backoff.Base, p.ID = 50*time.Millisecond, "read/v2"
	case "attempts":
		p.MaxAttempts, p.ID = 4, "read/v2"
	case "beside":
		cache = &invariants.Cache{TTL: time.Minute}
	case "beside and ID":
		cache, p.ID = &invariants.Cache{TTL: time.Minute}, "read/v3"
	case "a new row":
		own = []matrix.Row{{Name: "forbidden-twice", Proves: "A refusal is final.",
			Schedule: matrix.Fixed(faultsim.One(faultsim.Fail(trace.Forbidden), faultsim.Fail(trace.Forbidden)))}}
	}
	a := loop(p)
	a.Cache = cache
	matrix.Run(t, a, own...)
}

// child runs it in dir and returns what it printed beside the grid.
func child(t *testing.T, dir, changed string, args ...string) (printed string, passed bool) {
	t.Helper()
	t.Setenv("CHANGED", changed)
	out, passed := selftest.Run(t, dir, "TestChildBaseline", append(args, "-test.v")...)
	var kept []string
	grid := false
	for line := range strings.Lines(out) {
		switch {
		case strings.Contains(line, "matrix of "):
			grid = true
		case grid && strings.Contains(line, ".go:"):
			grid = false
		}
		if !grid && !strings.Contains(line, "===") && !strings.Contains(line, "---") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ""), passed
}

// The life of a baseline: none, accepted, unchanged, changed, accepted again.
func TestBaselineHoldsTheMatrixToWhatWasAccepted(t *testing.T) {
	dir := t.TempDir()
	var story strings.Builder
	for _, step := range []struct {
		title, changed string
		args           []string
		passes         bool
	}{
		{"without a baseline", "", nil, true},
		{"accept", "", []string{"-rehearse.accept"}, true},
		{"nothing has changed", "", nil, true},
		{"the policy has changed under the same ID", "content", nil, false},
		{"and cannot be accepted so", "content", []string{"-rehearse.accept"}, false},
		{"the policy has changed, and its ID", "content and ID", nil, false},
		{"something is declared beside it under the same ID", "beside", nil, false},
		{"rows have changed", "attempts", nil, false},
		{"a new row only warns", "a new row", nil, true},
		{"accept what has changed", "attempts", []string{"-rehearse.accept"}, true},
		{"that is held now", "attempts", nil, true},
		{"accept what is declared beside it", "beside and ID", []string{"-rehearse.accept"}, true},
		{"that is held as well", "beside and ID", nil, true},
	} {
		out, passed := child(t, dir, step.changed, step.args...)
		require.Equal(t, step.passes, passed, "%s\n%s", step.title, out)
		story.WriteString("== " + step.title + "\n" + out)
	}
	file := filepath.Join(dir, "testdata/rehearse/TestChildBaseline/matrix.baseline")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	story.WriteString("== the file\n" + string(content))
	require.NoError(t, os.WriteFile(file, []byte("rehearse baseline 1\npolicy {}\nrows\n"), 0o666))
	out, passed := child(t, dir, "")
	require.False(t, passed)
	story.WriteString("== garbage\n" + out)
	gold.Equal(t, filepath.Join("testdata", "baseline.golden"), story.String())
}

// A word that does not say whether to accept is refused before anything is played, and
// nothing is written.
func TestAWordThatIsNeitherYesNorNoAcceptsNothing(t *testing.T) {
	for _, c := range []struct{ test, file string }{
		{"TestChildBaseline", "matrix.baseline"},
		{"TestChildResults", "samples.baseline"},
	} {
		dir := t.TempDir()
		for _, word := range []string{"no", "off", "n", "maybe"} {
			out, passed := selftest.Run(t, dir, c.test, "-rehearse.accept="+word)
			require.False(t, passed, out)
			require.Contains(t, out, `-rehearse.accept="`+word+`" is neither true nor false`)
		}
		t.Setenv("REHEARSE_ACCEPT", "no")
		out, passed := selftest.Run(t, dir, c.test)
		require.False(t, passed, out)
		require.Contains(t, out, `REHEARSE_ACCEPT="no" is neither true nor false`)
		require.NoFileExists(t, filepath.Join(dir, "testdata/rehearse", c.test, c.file))
	}
}
