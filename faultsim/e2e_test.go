package faultsim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/trace"
)

// These tests run the test binary again, in a folder of its own, and read what
// it prints. SCENARIO picks what the tests named TestChild do there.

// A child is such a run.
type child struct {
	dir  string
	env  []string
	args []string
}

func newChild(t *testing.T, scenario string) *child {
	return &child{dir: t.TempDir(), env: []string{"SCENARIO=" + scenario}}
}

// run runs the test of that name and returns its output.
func (c *child) run(t *testing.T, test string, args ...string) (out string, passed bool) {
	t.Helper()
	return selftest.Binary(t, c.dir, c.env, slices.Concat([]string{"-test.run=" + test}, c.args, args)...)
}

// cases lists the files below testdata of the child.
func (c *child) cases(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(filepath.Join(c.dir, "testdata"), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(c.dir, path)
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	require.NoError(t, err)
	return list
}

// outline is the output without the timeline, which stands between the
// findings and the schedule, and without what differs between runs.
func outline(out string) string {
	var b strings.Builder
	inside, after := false, false
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" && !inside && !after:
			inside = true
			b.WriteString("    (timeline)\n")
		case strings.HasPrefix(text, "schedule") || strings.HasPrefix(text, "case,"):
			inside, after = false, true
		case strings.HasPrefix(text, "run it again"):
			after = false
		}
		if !inside {
			b.WriteString(line)
		}
	}
	text := regexp.MustCompile(`\(\d+\.\d+s\)`).ReplaceAllString(b.String(), "(0.00s)")
	return regexp.MustCompile(`(e2e|check)_test\.go:\d+`).ReplaceAllString(text, "${1}_test.go:1")
}

var scenario = os.Getenv("SCENARIO")

// faulty subjects by scenario.
func childAdapter() Adapter {
	switch scenario {
	case "repaired", "":
		return homeAdapter()
	case "one-too-many":
		return loopAdapter(loop{attempts: 4})
	case "keeps-on":
		return loopAdapter(loop{attempts: 3, keep: true})
	case "deaf":
		return loopAdapter(loop{attempts: 3, deaf: true})
	}
	return homeAdapter()
}

func childOnly(t *testing.T) {
	if scenario == "" {
		t.Skip("for a run of the binary inside another test")
	}
}

func TestChild(t *testing.T) {
	childOnly(t)
	Check(t, childAdapter())
}

func TestChildSub(t *testing.T) {
	childOnly(t)
	t.Run("a/b c*'d", func(t *testing.T) { Check(t, childAdapter()) })
	t.Run("a_b_c*'d", func(t *testing.T) { Check(t, childAdapter()) })
}

func TestChildChdir(t *testing.T) {
	childOnly(t)
	t.Chdir(t.TempDir())
	Check(t, childAdapter())
}

func TestFailureLeadsWithTheFindingAndEndsWithTheCommand(t *testing.T) {
	c := newChild(t, "one-too-many")
	out, passed := c.run(t, "^TestChild$")
	require.False(t, passed)
	golden(t, "failure", outline(out))
	require.Equal(t, 1, len(c.cases(t)), "%v", c.cases(t))
	content, err := os.ReadFile(filepath.Join(c.dir, c.cases(t)[0]))
	require.NoError(t, err)
	golden(t, "case", string(content))

	// The second run replays the case before anything else.
	out, passed = c.run(t, "^TestChild$", "-rehearse.trials=1")
	require.False(t, passed)
	golden(t, "replay", outline(out))
	require.Equal(t, 1, len(c.cases(t)))

	// The same failure found again is the same file.
	require.NoError(t, os.Rename(filepath.Join(c.dir, c.cases(t)[0]), filepath.Join(c.dir, "kept")))
	_, passed = c.run(t, "^TestChild$")
	require.False(t, passed)
	again, err := os.ReadFile(filepath.Join(c.dir, c.cases(t)[0]))
	require.NoError(t, err)
	require.Equal(t, string(content), string(again))

	// After the repair it passes and stays as a regression.
	c.env = []string{"SCENARIO=repaired"}
	out, passed = c.run(t, "^TestChild$")
	require.True(t, passed, out)
	require.Equal(t, 1, len(c.cases(t)))
}

func TestMinimalCaseOfEachFault(t *testing.T) {
	var got strings.Builder
	for _, scenario := range []string{"one-too-many", "keeps-on", "deaf"} {
		c := newChild(t, scenario)
		out, passed := c.run(t, "^TestChild$")
		require.False(t, passed, out)
		require.Len(t, c.cases(t), 1, out)
		content, err := os.ReadFile(filepath.Join(c.dir, c.cases(t)[0]))
		require.NoError(t, err)
		fmt.Fprintf(&got, "%s\n%s\n", scenario, content)
	}
	golden(t, "minimal-cases", got.String())
}

func TestPrintedCommandRunsTheTestAgain(t *testing.T) {
	c := newChild(t, "one-too-many")
	out, passed := c.run(t, "^TestChildSub$")
	require.False(t, passed)
	require.Len(t, c.cases(t), 2, "two names that are equal after cleaning have a file each: %v", c.cases(t))
	commands := regexp.MustCompile(`run it again: go test -run (.*) (\S+)`).FindAllStringSubmatch(out, -1)
	require.Len(t, commands, 2, out)
	for _, m := range commands {
		require.Equal(t, "github.com/rehearse-go/rehearse/faultsim", m[2])
		cmd := exec.Command("sh", "-c", os.Args[0]+" -test.v -test.run "+m[1])
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
		again, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, 1, strings.Count(string(again), "=== RUN   TestChildSub/"), "%s", again)
		require.Contains(t, string(again), "saved case testdata/rehearse/TestChildSub_")
	}
}

func TestCasesStayBesideThePackage(t *testing.T) {
	c := newChild(t, "one-too-many")
	_, passed := c.run(t, "^TestChildChdir$")
	require.False(t, passed)
	require.Len(t, c.cases(t), 1)
	out, _ := c.run(t, "^TestChildChdir$", "-rehearse.trials=1")
	require.Contains(t, out, "saved case testdata/rehearse/TestChildChdir/")
}

func TestCaseThatCannotBeSavedIsInTheMessage(t *testing.T) {
	c := newChild(t, "one-too-many")
	// A file in the place of the folder cannot be written into, even by root.
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "testdata"), nil, 0o644))
	out, passed := c.run(t, "^TestChild$", "-rehearse.seed=7", "-rehearse.trials=500")
	require.False(t, passed)
	golden(t, "unsaved-case", outline(out))

	// What the message carries is the file.
	lines := strings.Split(out[strings.Index(out, caseHeader):], "\n")
	var text strings.Builder
	for _, line := range lines[:len(lines)-1] {
		line = strings.TrimPrefix(line, "            ")
		if strings.HasPrefix(strings.TrimSpace(line), "trial ") {
			break
		}
		text.WriteString(line + "\n")
	}
	k, err := parseCase(text.String())
	require.NoError(t, err, text.String())
	require.Equal(t, "attempts-bounded", k.invariant)

	// And the command with its seed finds it again.
	require.Contains(t, out, "-rehearse.seed=7 -rehearse.trials=500")
}

func TestCasesThatNoLongerFit(t *testing.T) {
	const body = "invariant conforms\n\nrehearse schedule 1\naction\n"
	var got strings.Builder
	for name, text := range map[string]string{
		"1 version":   "rehearse case 3\n",
		"2 text":      "rehearse case 1\n" + body + "  weather 1 transcient\n",
		"3 invariant": "rehearse case 1\n# why\ninvariant conform\n\nrehearse schedule 1\naction\n",
		"4 tool":      "rehearse case 1\n" + body + "  news 1 transient\n",
		"5 class":     "rehearse case 1\n" + body + "  weather 1 transient\naction\n  weather 1 transient\n  weather 2 invalid\n",
		"6 no name":   "rehearse case 1\nrehearse schedule 1\naction\n",
		"7 nothing":   "rehearse case 1\ninvariant conforms\n",
		"8 two words": "rehearse case 1\ninvariant conforms to it\n",
		"9 stray":     "rehearse case 1\ninvariant conforms\nweather 1 transient\n",
		"a text":      "rehearse schedule 1\n",
		"b policy":    "rehearse case 2\ninvariant conforms\npolicy home/v1\n",
		"c empty":     "rehearse case 2\ninvariant conforms\nfound\n",
		"d again":     "rehearse case 2\ninvariant conforms\nbeside {}\nbeside {}\n",
		"e key":       "rehearse case 2\ninvariant conforms\n\nrehearse schedule 1\naction key=2\n",
		"f reach":     "rehearse case 2\ninvariant conforms\npolicy {\"maxAttempts\":6}\n\nrehearse schedule 1\naction\naction\n  weather 5 transient\n",
		"g by hand":   "rehearse case 2\ninvariant conforms\n\nrehearse schedule 1\naction\n  weather 5 transient\n",
	} {
		c := newChild(t, "repaired")
		dir := filepath.Join(c.dir, "testdata", "rehearse", "TestChild")
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "old.case"), []byte(text), 0o644))
		out, passed := c.run(t, "^TestChild$")
		require.False(t, passed, name)
		fmt.Fprintf(&got, "== %s\n%s", name, out)
		left, err := os.ReadFile(filepath.Join(dir, "old.case"))
		require.NoError(t, err)
		require.Equal(t, text, string(left), "nothing is lost")
	}
	parts := strings.Split(got.String(), "== ")
	slices.Sort(parts)
	golden(t, "cases-that-no-longer-fit", outline(strings.Join(parts, "== ")))
}

func TestSameAnswerForAnyNumberOfWorkers(t *testing.T) {
	var want, wantCase string
	for _, cpu := range []string{"1", "2", "8"} {
		for _, scenario := range []string{"deaf"} {
			c := newChild(t, scenario)
			c.env = append(c.env, "GOMAXPROCS="+cpu)
			out, passed := c.run(t, "^TestChild$", "-test.parallel="+cpu)
			require.False(t, passed)
			require.Len(t, c.cases(t), 1)
			content, err := os.ReadFile(filepath.Join(c.dir, c.cases(t)[0]))
			require.NoError(t, err)
			out = regexp.MustCompile(`\(\d+\.\d+s\)`).ReplaceAllString(out, "")
			if want == "" {
				want, wantCase = out, string(content)
			}
			require.Equal(t, want, out, "GOMAXPROCS=%s", cpu)
			require.Equal(t, wantCase, string(content), "GOMAXPROCS=%s", cpu)
		}
	}
}

func TestFlagsAndVariables(t *testing.T) {
	trialsOf := func(out string) string {
		if m := regexp.MustCompile(`trial \d+ of (\d+), seed (\d+)`).FindStringSubmatch(out); m != nil {
			return m[1] + " " + m[2]
		}
		return out
	}
	run := func(env []string, args ...string) string {
		c := newChild(t, "one-too-many")
		c.env = append(c.env, env...)
		out, _ := c.run(t, "^TestChild$", args...)
		return trialsOf(out)
	}
	own := fmt.Sprint(nameSeed("TestChild"))
	for _, x := range []struct {
		env  []string
		args []string
		want string
	}{
		{nil, nil, "1000 " + own},
		{nil, []string{"-test.short"}, "200 " + own},
		{nil, []string{"-rehearse.trials=300", "-rehearse.seed=5"}, "300 5"},
		{[]string{"REHEARSE_TRIALS=400", "REHEARSE_SEED=6"}, nil, "400 6"},
		{[]string{"REHEARSE_TRIALS=400", "REHEARSE_SEED=6"}, []string{"-rehearse.trials=300", "-rehearse.seed=5"}, "300 5"},
		{[]string{"REHEARSE_TRIALS=many", "REHEARSE_SEED=odd"}, []string{"-rehearse.trials=300", "-rehearse.seed=5"}, "300 5"},
		{[]string{"REHEARSE_EXPLORE=1"}, []string{"-rehearse.seed=5"}, "1000 5"},
		{[]string{"REHEARSE_EXPLORE=false"}, nil, "1000 " + own},
		{[]string{"REHEARSE_SEED=0x10"}, nil, "1000 16"},
		{[]string{"REHEARSE_SEED=6"}, []string{"-rehearse.seed=0"}, "1000 " + own},
	} {
		require.Equal(t, x.want, run(x.env, x.args...), "%v %v", x.env, x.args)
	}
	var got strings.Builder
	for _, x := range []struct{ env, args []string }{
		{[]string{"REHEARSE_TRIALS=many"}, nil},
		{[]string{"REHEARSE_TRIALS=-1"}, nil},
		{nil, []string{"-rehearse.trials=-1"}},
		{[]string{"REHEARSE_SEED=odd"}, nil},
		{[]string{"REHEARSE_EXPLORE=maybe"}, nil},
		{[]string{"REHEARSE_SEED=3", "REHEARSE_EXPLORE=1"}, nil},
		{nil, []string{"-rehearse.seed=3", "-rehearse.explore"}},
		{[]string{"REHEARSE_RERUNS=often"}, nil},
		{nil, []string{"-rehearse.reruns=19"}},
		{[]string{"REHEARSE_TRIALS=many", "REHEARSE_SEED=odd"}, nil},
	} {
		fmt.Fprintf(&got, "%v %v\n%s", x.env, x.args, outline(run(x.env, x.args...)))
	}
	golden(t, "settings", got.String())
}

// How often a failure is run again is for its reader to say: all that counts runs does.
func TestRerunsAreAsManyAsAskedFor(t *testing.T) {
	verdict := func(scenario string, env []string, args ...string) string {
		c := newChild(t, scenario)
		c.env = append(c.env, env...)
		out, _ := c.run(t, "^TestChild$", args...)
		return regexp.MustCompile(`(not )?deterministic: .*`).FindString(out)
	}
	require.Equal(t, "deterministic: 100 runs gave the same trace", verdict("one-too-many", nil))
	require.Equal(t, "deterministic: 20 runs gave the same trace", verdict("one-too-many", nil, "-rehearse.reruns=20"))
	require.Equal(t, "deterministic: 30 runs gave the same trace", verdict("one-too-many", []string{"REHEARSE_RERUNS=30"}))
	require.Equal(t, "deterministic: 100 runs gave the same trace", verdict("one-too-many", []string{"REHEARSE_RERUNS=30"}, "-rehearse.reruns=0"))
	require.Equal(t, "deterministic: 230 runs gave the same trace", verdict("one-too-many", nil, "-rehearse.reruns=230"))
}

func TestExploringPrintsTheSeedThatRepeatsIt(t *testing.T) {
	c := newChild(t, "one-too-many")
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "testdata"), nil, 0o644)) // so that no case is replayed
	out, _ := c.run(t, "^TestChild$", "-rehearse.explore")
	seed := regexp.MustCompile(`-rehearse\.seed=\d+`).FindString(out)
	require.NotEmpty(t, seed, out)
	again, _ := c.run(t, "^TestChild$", seed)
	require.Contains(t, again, seed)
	require.Equal(t, failureOf(out), failureOf(again))

	// A run that finds nothing says so as well.
	c.env = []string{"SCENARIO=repaired"}
	out, passed := c.run(t, "^TestChild$", "-rehearse.explore", "-test.v")
	require.True(t, passed)
	require.Regexp(t, `exploring; run it again: go test -run '\^TestChild\$' github.com/rehearse-go/rehearse/faultsim -rehearse.seed=\d+`, out)
}

// failureOf is a failure's text from its schedule or case on.
func failureOf(out string) string {
	_, text, _ := strings.Cut(out, "rehearse schedule 1")
	text, _, _ = strings.Cut(text, "run it again")
	return text
}

// While one test's failure shrinks, a user's own rapid property runs in
// another with its own seed and number of checks.
func TestChildBesideRapid(t *testing.T) {
	childOnly(t)
	for i := range 4 {
		t.Run(fmt.Sprint("ours", i), func(t *testing.T) {
			t.Parallel()
			Check(t, childAdapter())
		})
	}
	var checks atomic.Int64
	for i := range 20 {
		t.Run(fmt.Sprint("user", i), func(t *testing.T) {
			t.Parallel()
			n := 0
			rapid.Check(t, func(t *rapid.T) {
				n++
				checks.Add(1)
				rapid.SliceOfN(rapid.Int(), 10, 20).Draw(t, "list")
				runtime.Gosched()
			})
			if n != 100 {
				t.Errorf("the user's property ran %d times", n)
			}
		})
	}
}

func TestUsersRapidPropertiesAreNotDisturbed(t *testing.T) {
	c := newChild(t, "deaf")
	out, passed := c.run(t, "^TestChildBesideRapid$", "-test.parallel=24")
	require.False(t, passed)
	require.NotContains(t, out, "DATA RACE")
	require.NotContains(t, out, "the user's property ran")
	require.Equal(t, 4, strings.Count(out, "run it again:"), out)
	for _, path := range c.cases(t) {
		require.True(t, strings.HasPrefix(path, "testdata/rehearse/"), "rapid's own fail file: %s", path)
	}
}

var counter int // a state that survives between trials, of the faulty kind

// A package-level breaker that opens for good after some calls.
func TestChildStateBetweenTrials(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action {
		counter++
		if counter == 40 {
			l := loop{attempts: 5}
			l.tool = Tool[string, int](s, "weather", nil, Errors{trace.Transient: errBusy, trace.Forbidden: errForbidden})
			return func(ctx context.Context) (any, error) { return l.run(ctx, "Pune") }
		}
		return inner(s)
	}
	a.Policy.Retry = a.Policy.Retry[:2:2]
	a.Invariants = []invariants.Invariant{{Name: "never-twice", Rule: "x", Check: func(*trace.Trace) (v invariants.Verdict) {
		if counter == 40 {
			v.Findings = []invariants.Finding{{Invariant: "never-twice", Text: "the fortieth trial fails"}}
		}
		return v
	}}}
	Check(t, a)
}

// A package-level breaker that never closes again: once it is open, every
// trial fails, alone as well.
func TestChildLatchedState(t *testing.T) {
	childOnly(t)
	a := homeAdapter()
	inner := a.Subject
	a.Subject = func(s *Stage) Action {
		run := inner(s)
		return func(ctx context.Context) (any, error) {
			if counter++; counter > 40 {
				return nil, errors.New("breaker is open")
			}
			return run(ctx)
		}
	}
	a.Serial = true
	Check(t, a)
}

func TestStateThatLatchesIsSaidAndMakesNoCase(t *testing.T) {
	c := newChild(t, "latched")
	out, passed := c.run(t, "^TestChildLatchedState$")
	require.False(t, passed)
	require.Empty(t, c.cases(t), "in a process of its own the schedule passes")
	golden(t, "state-that-latches", outline(out))
}

func TestFailureThatDoesNotComeBackSaysWhy(t *testing.T) {
	c := newChild(t, "state")
	c.env = append(c.env, "GOMAXPROCS=1")
	out, passed := c.run(t, "^TestChildStateBetweenTrials$")
	require.False(t, passed)
	require.Empty(t, c.cases(t), "a schedule that does not fail alone is no case")
	golden(t, "state-between-trials", outline(out))
}
