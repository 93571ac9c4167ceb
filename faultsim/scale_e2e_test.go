package faultsim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/invariants"
)

// TestChildScale is what the shards and campaigns below run.
func TestChildScale(t *testing.T) {
	childOnly(t)
	a := childAdapter()
	switch scenario {
	case "two-faults": // of which one shows in few trials
		a = loopAdapter(loop{attempts: 4, deaf: true})
	case "accepts":
		a.Accept = map[string]string{"attempts-bounded": "it once made a fourth attempt"}
	case "requires":
		a.Require, a.Trials = map[string]float64{"actions at once": 0.067}, 100
	case "lucky":
		a = lucky()
	}
	Check(t, a)
}

// FuzzChild is what the fuzzing engine runs below.
func FuzzChild(f *testing.F) {
	if scenario == "" {
		f.Skip("for a run of the binary inside another test")
	}
	Fuzz(f, childAdapter())
}

// report is a child's output from its first finding on, and without times.
func report(out string) string {
	lines := strings.Split(regexp.MustCompile(`\(\d+\.\d+s\)`).ReplaceAllString(out, "(0.00s)"), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "rehearse: ") || strings.Contains(l, "the campaign ended:")
	})
	return strings.Join(lines, "\n")
}

// contents are the files below testdata of the child.
func (c *child) contents(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, path := range c.cases(t) {
		content, err := os.ReadFile(filepath.Join(c.dir, path))
		require.NoError(t, err)
		all[path] = string(content)
	}
	return all
}

func readResultsOf(t *testing.T, folder string) []results {
	all, err := readAllResults(folder)
	require.NoError(t, err)
	return all
}

// scaleChild has a testdata folder, so that it can be walked, and results of its own.
func scaleChild(t *testing.T, scenario, results string, env ...string) *child {
	c := newChild(t, scenario)
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "testdata"), 0o777))
	c.env = append(append(c.env, "REHEARSE_RESULTS="+results), env...)
	if scenario == "two-faults" { // one of which is known
		path := filepath.Join(c.dir, "testdata", "rehearse", "TestChildScale", "known.case")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(knownCase), 0o644))
	}
	return c
}

const knownCase = caseHeader + `
invariant attempts-bounded

` + scheduleHeader + `
action
  weather 1 transient
  weather 2 transient
  weather 3 transient
`

func TestThreeShardsFindWhatOneMachineFinds(t *testing.T) {
	list := []struct{ scenario, args string }{
		{"two-faults", "-rehearse.for=900x"},
		{"requires", ""}, // which goes on until it gives up
		{"repaired", "-rehearse.trials=300"},
		{"deaf", "-rehearse.trials=300"},
		{"accepts", "-rehearse.trials=600"},
		{"requires", "-rehearse.trials=300"}, // which are not exceeded
	}
	if raceEnabled {
		list = list[:2] // each starts five processes, which take long to start
	}
	for _, x := range list {
		t.Run(strings.TrimSpace(x.scenario+" "+x.args), func(t *testing.T) {
			args := strings.Fields(x.args)
			whole := scaleChild(t, x.scenario, t.TempDir())
			want, wantPassed := whole.run(t, "^TestChildScale$", args...)
			one := readResultsOf(t, strings.TrimPrefix(whole.env[1], "REHEARSE_RESULTS="))

			folder := t.TempDir() // as if the files of three machines were copied into it
			trials := 0
			for i := range 3 {
				status := filepath.Join(t.TempDir(), "status")
				c := scaleChild(t, x.scenario, filepath.Join(folder, fmt.Sprint("machine", i)),
					"TEST_TOTAL_SHARDS=3", fmt.Sprintf("TEST_SHARD_INDEX=%d", i), "TEST_SHARD_STATUS_FILE="+status)
				out, passed := c.run(t, "^TestChildScale$", args...)
				require.FileExists(t, status, "Bazel fails a test that does not know of shards")
				require.NotContains(t, out, "state-between-trials")
				if x.scenario == "accepts" {
					require.True(t, passed, "what has not occurred in a shard may have in another:\n%s", out)
				}
			}
			parts := readResultsOf(t, folder)
			require.Len(t, parts, 3)
			for _, p := range parts {
				trials += p.Met.Trials
			}

			merged := scaleChild(t, x.scenario, "")
			got, passed := merged.run(t, "^TestChildScale$", "-rehearse.merge="+folder)
			require.Equal(t, wantPassed, passed, got)
			require.Equal(t, report(want), report(got))
			for path, content := range whole.contents(t) {
				require.Equal(t, content, merged.contents(t)[path], path)
			}
			if wantPassed || x.scenario == "two-faults" {
				require.Equal(t, one[0].Met.Trials, trials, "every trial was played once")
			}
		})
	}
}

// A test may change the working directory; folders are seen from its package all the same.
func TestResultsStayBesideThePackage(t *testing.T) {
	c := newChild(t, "repaired")
	out, passed := c.run(t, "^TestChildChdir$", "-rehearse.trials=50", "-rehearse.results=results")
	require.True(t, passed, out)
	require.Len(t, readResultsOf(t, filepath.Join(c.dir, "results")), 1)
	out, passed = c.run(t, "^TestChildChdir$", "-rehearse.merge=results")
	require.True(t, passed, out)
}

// Results that cannot be written name who has asked for them, and the folder as given.
func TestResultsThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file") // in the place of a folder, so that not even root can write into it
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	folder := filepath.Join(file, "x")
	for _, from := range []string{"-rehearse.results", "REHEARSE_RESULTS", "TEST_UNDECLARED_OUTPUTS_DIR"} {
		c, args := newChild(t, "repaired"), []string{"-rehearse.trials=50"}
		if strings.HasPrefix(from, "-") {
			args = append(args, from+"="+folder)
		} else {
			c.env = append(c.env, from+"="+folder)
		}
		out, passed := c.run(t, "^TestChildScale$", args...)
		require.False(t, passed)
		require.Contains(t, out, fmt.Sprintf("%s=%q: the results of this run cannot be written there, and are in this log only (mkdir %s: ", from, folder, filepath.ToSlash(file)))
		require.Contains(t, out, "): give a folder that can be made and written into")
	}
}

// What a shard has found by the random numbers of a moment is found by those of a seed.
func TestMergeFindsWhatHangsOnRandomNumbers(t *testing.T) {
	folder := t.TempDir()
	for i := range 2 {
		_, passed := scaleChild(t, "lucky", folder).run(t, "^TestChildScale$", "-rehearse.trials=2000", fmt.Sprintf("-rehearse.shard=%d/2", i))
		require.False(t, passed)
	}
	out, passed := scaleChild(t, "lucky", "").run(t, "^TestChildScale$", "-rehearse.merge="+folder)
	require.False(t, passed)
	require.NotContains(t, out, "passes here")
	require.Contains(t, out, "deterministic: 100 runs gave the same trace")
}

// What differs from run to run breaks no invariant, and is told as one machine tells it.
func TestMergeFindsWhatDiffersFromRunToRun(t *testing.T) {
	folder := t.TempDir()
	for _, shard := range []string{"0/2", "1/2"} {
		_, passed := scaleChild(t, "twice", folder).run(t, "^TestChildTwice$", "-rehearse.trials=50", "-rehearse.twice", "-rehearse.shard="+shard)
		require.False(t, passed)
	}
	out, passed := scaleChild(t, "twice", "").run(t, "^TestChildTwice$", "-rehearse.merge="+folder)
	require.False(t, passed)
	require.Contains(t, out, "not-deterministic: forecast: one schedule gave two traces: event ")
	require.Regexp(t, `run it again: go test -run '\^TestChildTwice\$' \S+ -rehearse.trials=50 -rehearse.twice\n`, out)
}

func TestMergeOfNoFolderSaysWhatToDo(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	out, passed := scaleChild(t, "lucky", "").run(t, "^TestChildScale$", "-rehearse.merge="+gone)
	require.False(t, passed)
	require.Contains(t, out, "-rehearse.merge: there is no folder "+gone+": make it, and copy the files of results of all shards into it")
}

// A campaign goes on, and its findings are the same for any number of workers.
func TestCampaignReportsEachInvariantOnce(t *testing.T) {
	var want map[string]string
	for _, cpu := range []string{"1", "8"} {
		folder := t.TempDir()
		c := scaleChild(t, "two-faults", folder, "GOMAXPROCS="+cpu)
		out, passed := c.run(t, "^TestChildScale$", "-rehearse.for=900x")
		require.False(t, passed)
		r := readResultsOf(t, folder)[0]
		require.Equal(t, 900, r.Trials)
		require.Equal(t, "all trials are done", r.Ended)
		names := map[string]bool{}
		for _, f := range r.Failures {
			require.False(t, names[f.Invariant], "%s is reported twice", f.Invariant)
			names[f.Invariant] = true
		}
		require.Greater(t, len(names), 1, out)
		require.NotContains(t, names, "attempts-bounded", "a saved case has shown it")
		require.Equal(t, 1+len(names), strings.Count(out, "run it again:"), "the case too")
		if want == nil {
			want = c.contents(t)
		}
		require.Equal(t, want, c.contents(t))
	}
}

// What a merge cannot work with is one clear error.
func TestResultsThatCannotBeMerged(t *testing.T) {
	folder := t.TempDir()
	c := newChild(t, "repaired")
	for i := range 2 {
		out, passed := c.run(t, "^TestChildScale$", "-rehearse.trials=50", "-rehearse.results="+folder, fmt.Sprintf("-rehearse.shard=%d/2", i))
		require.True(t, passed, out)
	}
	good := readResultsOf(t, folder)
	require.Len(t, good, 2)
	var got strings.Builder
	a := homeAdapter()
	merge := func(name string, change func(list []results) []results) {
		dir := t.TempDir()
		for i, r := range change(slices.Clone(good)) {
			content, err := json.Marshal(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i, resultsSuffix)), content, 0o644))
		}
		check := newCheck(t, &a, settings{merge: dir})
		check.name = "TestChildScale"
		_, err := check.shards()
		text := "merged"
		if err != nil {
			text = strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir, "DIR"), "\n", "\n    ")
		}
		fmt.Fprintf(&got, "%s\n    %s\n", name, text)
	}
	merge("both", func(l []results) []results { return l })
	merge("none", func(l []results) []results { return nil })
	merge("one is missing", func(l []results) []results { return l[:1] })
	merge("one is there twice", func(l []results) []results { return append(l, l[0]) })
	merge("another test's", func(l []results) []results { l[0].Test, l[1].Test = "TestA", "TestB"; return l })
	merge("another seed", func(l []results) []results { l[1].Seed++; return l })
	merge("another contract", func(l []results) []results { l[1].Contract = "0"; return l })
	merge("more rules than there are", func(l []results) []results { l[1].Met.Rules = make([]int, 1000); return l })
	merge("a shard that there is none of", func(l []results) []results { l[1].Shard = 2; return l })
	merge("fewer shards than one", func(l []results) []results { l[0].Shards = -1; return l[:1] })
	merge("more shards than memory", func(l []results) []results { l[0].Shards = 1 << 60; return l[:1] })
	merge("no double", func(l []results) []results { l[1].Met.Doubles = []*doubleTally{nil}; return l })
	merge("another version", func(l []results) []results { l[0].Format = "rehearse results 2"; return l })
	merge("less than nothing", func(l []results) []results { l[0].Trials = -3; return l })
	merge("too few trials", func(l []results) []results { l[1].Trials = 7; return l })
	a.Invariants = []invariants.Invariant{attemptsBreak("of-our-own", 9)}
	merge("a rule of our own, which the shards had not", func(l []results) []results { return l })
	golden(t, "merge-errors", got.String())

	dir := t.TempDir()
	path := filepath.Join(dir, "0"+resultsSuffix)
	require.NoError(t, os.WriteFile(path, []byte(`{"format":`), 0o644))
	_, err := readAllResults(dir)
	require.EqualError(t, err, path+" is damaged (unexpected end of JSON input): copy it again, or run its shard again")
}

// A case from a file of results goes where its test keeps cases, whatever path
// the file names.
func TestMergedCaseGoesBesideItsTest(t *testing.T) {
	dir := t.TempDir()
	defer kept.Move(dir)()
	k := savedCase{invariant: "conforms", schedule: Schedule{Actions: []Plan{{}}}}
	f := failedTrial{File: "../../elsewhere.case", Case: k.text("TestX", "headline")}
	require.NoError(t, f.keep("TestX"))
	require.FileExists(t, filepath.Join(dir, k.file("TestX")))
	f.Case = "no case"
	require.Error(t, f.keep("TestX"))
}

// An interrupt ends a campaign with all that it has found, and what comes after it.
func TestInterruptedCampaignKeepsWhatItHasFound(t *testing.T) {
	for _, x := range []struct {
		scenario, until string
		passes          bool
	}{
		{"one-too-many", "breaks attempts-bounded", false},
		{"repaired", "a campaign of", true},
		{"accepts", "a campaign of", true}, // of which too little was seen
	} {
		folder := t.TempDir()
		c := scaleChild(t, x.scenario, folder)
		out, err := interruptAt(t, c, x.until, "-test.run=^(TestChildScale|TestChildSub)$", "-test.v", "-rehearse.for=1h")
		require.Contains(t, out, "The campaign ends: it was interrupted")
		require.Equal(t, x.passes, err == nil, out)
		require.Contains(t, out, "the run was interrupted before this campaign began: go test -run '^TestChildS")
		r := readResultsOf(t, folder)
		require.Len(t, r, 1)
		require.Equal(t, "it was interrupted", r[0].Ended)
		if x.passes {
			require.Empty(t, c.cases(t))
			continue
		}
		require.Len(t, c.cases(t), len(slices.Collect(maps.Keys(c.contents(t)))))
		require.Contains(t, strings.Join(c.cases(t), " "), "/attempts-bounded-")
		require.Equal(t, "attempts-bounded", r[0].Failures[0].Invariant)
		require.Contains(t, c.contents(t)[r[0].Failures[0].File], "invariant attempts-bounded")
	}
}

// interruptAt runs the child, and interrupts it when it prints the text.
func interruptAt(t *testing.T, c *child, text string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	var all strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if text != "" && strings.Contains(lines.Text(), text) {
			text = ""
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	return all.String(), cmd.Wait()
}

// A campaign ends before go test ends the test binary, whichever limit is nearer.
func TestCampaignEndsBeforeItsTest(t *testing.T) {
	a := homeAdapter()
	c := newCheck(t, &a, settings{length: length{time: 1000 * time.Hour}})
	ctx, cancel := c.timeLimit(t.Context())
	defer cancel()
	at, ok := ctx.Deadline()
	require.True(t, ok)
	if end, limited := t.Deadline(); limited {
		require.True(t, at.Before(end), "%v, and the test ends at %v", at, end)
	}
	c.set.length.time = time.Nanosecond
	ctx, cancel = c.timeLimit(t.Context())
	defer cancel()
	<-ctx.Done()
	require.Equal(t, errTimeIsOver, context.Cause(ctx))
}

// The line about a campaign stands where the test calls Check.
func TestTheEndOfACampaignIsLoggedAtItsTest(t *testing.T) {
	out, passed := newChild(t, "repaired").run(t, "^TestChildScale$", "-test.v", "-rehearse.for=20x")
	require.True(t, passed, out)
	require.Regexp(t, `scale_e2e_test\.go:\d+: .*; the campaign ended: all trials are done`, out)
}

func TestCampaignSaysHowFarItIs(t *testing.T) {
	a := homeAdapter()
	c := newCheck(t, &a, settings{seed: 7, length: length{trials: 1000}})
	var out strings.Builder
	c.campaign = newCampaign(&out, 0) // a line after each round
	c.campaign.turn = 5 * time.Millisecond
	c.run()
	text := regexp.MustCompile(`\d+ a second`).ReplaceAllString(out.String(), "N a second")
	text = regexp.MustCompile(`\d+s, `).ReplaceAllString(text, "0s, ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.Equal(t, "rehearse: "+t.Name()+": a campaign of 1000 trials, seed 7", lines[0])
	require.Regexp(t, "rehearse: "+t.Name()+`: 0s, \d+ trials, N a second$`, lines[1])
	require.Equal(t, "rehearse: "+t.Name()+": 0s, 1000 trials, N a second. The campaign ends: all trials are done", lines[len(lines)-1])
	require.Equal(t, 1000, c.met.Trials)
}

// Under the fuzzing engine a failing schedule is found, made small, and saved; the
// case is an input of every later run.
func TestFuzzerFindsAndKeepsTheSmallestSchedule(t *testing.T) {
	c := scaleChild(t, "one-too-many", "")
	fuzz := []string{"-test.fuzz=^FuzzChild$", "-test.fuzztime=200x", "-test.fuzzcachedir=" + t.TempDir(), "-test.parallel=1"}
	out, passed := c.run(t, "^$", fuzz...)
	require.False(t, passed, out)
	require.Contains(t, out, "attempts-bounded: forecast: 4 attempts of weather, at most 3 are allowed")
	require.Contains(t, out, "run it again: go test -run '^FuzzChild$' github.com/rehearse-go/rehearse/faultsim")
	var saved string
	for path, content := range c.contents(t) {
		if strings.HasPrefix(path, "testdata/rehearse/FuzzChild/attempts-bounded-") {
			saved = content
		}
	}
	golden(t, "fuzz-case", saved)

	// The command that it prints replays the case by its name.
	out, passed = c.run(t, "^FuzzChild$")
	require.False(t, passed)
	require.Contains(t, out, "saved case testdata/rehearse/FuzzChild/attempts-bounded-")

	c.env[0] = "SCENARIO=repaired"
	out, passed = c.run(t, "^$", fuzz...)
	require.True(t, passed, out)
	require.Regexp(t, `execs: [2-9]\d\d`, out)
}
