package matrix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/internal/gold"
	keeping "github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/selftest"
	"github.com/rehearse-go/rehearse/matrix"
	"github.com/stretchr/testify/require"
)

// TestChildResults is run again by the tests below, with a variable that says what
// has changed since the results were saved.
func TestChildResults(t *testing.T) {
	if !selftest.Active() {
		return
	}
	name, version, character, policy := "model-a", "2026-10", steady, func(*faultsim.Adapter) {}
	change := os.Getenv("CHANGED")
	switch change {
	case "a worse version":
		version, character = "2026-11", distracted
	case "another version":
		version, character = "2026-11", careful
	case "the policy":
		policy = func(a *faultsim.Adapter) { a.Policy.MaxAttempts = 4 }
	case "the policy and its ID":
		policy = func(a *faultsim.Adapter) { a.Policy.MaxAttempts, a.Policy.ID = 4, "assistant/v2" }
	case "a broken rule":
		character = fakeModel{strays: 0.1}
	case "another model", "another model, worse", "another model, another policy", "a typo":
		name, version = "model-b", "1"
	}
	switch change {
	case "another model, worse":
		character = distracted
	case "another model, another policy":
		policy = func(a *faultsim.Adapter) { a.Policy.MaxAttempts = 4 }
	}
	s := sampled(40, matrix.Variant{Name: name, Version: version, Adapter: func(sample int) faultsim.Adapter {
		a := model(character)(sample)
		policy(&a)
		return a
	}})
	s.Scenarios, s.Soft = s.Scenarios[:2], []matrix.Soft{{Name: "asked for the city", Pass: askedForPune}, {Name: "tried again", Pass: triedAgain, In: []string{"unavailable"}}}
	switch change {
	case "a check is gone":
		s.Soft = s.Soft[:1]
	case "a check is new":
		s.Soft = append(s.Soft, matrix.Soft{Name: "in two calls", Pass: askedForPune})
	case "another model", "another model, worse", "another model, another policy":
		s.Variants[0].Replaces = "model-a"
	case "a typo":
		s.Variants[0].Replaces = "modal-a"
	}
	matrix.Sample(t, s)
}

// childResults runs it in dir and returns what it printed, without the names of its
// subtests and the table of all rates.
func childResults(t *testing.T, dir, changed string, args ...string) (printed string, passed bool) {
	t.Helper()
	t.Setenv("CHANGED", changed)
	out, passed := selftest.Run(t, dir, "TestChildResults", append(args, "-test.v")...)
	var kept []string
	table := false
	for line := range strings.Lines(out) {
		if strings.Contains(line, "_test.go:") {
			table = strings.Contains(line, "samples by scenario and variant") || strings.Contains(line, "no sample has anything")
		}
		over := line == "PASS\n" || line == "FAIL\n"
		if over || !table && !strings.Contains(line, "===") && !strings.Contains(line, "---") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ""), passed
}

// The life of saved results: none, accepted, the same, better, worse, gone,
// accepted again.
func TestSavedResultsHoldALaterVersionToTheRatesOfThePresentOne(t *testing.T) {
	dir := t.TempDir()
	var story strings.Builder
	tell := func(title, text string) { story.WriteString("== " + title + "\n" + text) }
	file := filepath.Join(dir, "testdata/rehearse/TestChildResults/samples.baseline")
	for _, step := range []struct {
		title, changed string
		args           []string
		passes         bool
	}{
		{"without results", "", nil, true},
		{"what breaks a rule is not accepted", "a broken rule", []string{"-rehearse.accept"}, false},
		{"accept", "", []string{"-rehearse.accept"}, true},
		{"nothing has changed", "", nil, true},
		{"a version that is no worse", "another version", nil, true},
		{"a version that is worse", "a worse version", nil, false},
		{"a check is gone", "a check is gone", nil, false},
		{"a check is new", "a check is new", nil, true},
		{"the policy has changed under the same ID", "the policy", nil, false},
		{"and cannot be accepted so", "the policy", []string{"-rehearse.accept"}, false},
		{"the policy has changed, and its ID", "the policy and its ID", nil, false},
		{"another model in its place", "another model", nil, true},
		{"another model in its place, worse", "another model, worse", nil, false},
		{"another model in its place, with another policy under the same ID", "another model, another policy", nil, false},
		{"a model that replaces nothing", "a typo", nil, false},
		{"accept what is worse", "a worse version", []string{"-rehearse.accept"}, true},
		{"that is held now", "a worse version", nil, true},
	} {
		out, passed := childResults(t, dir, step.changed, step.args...)
		require.Equal(t, step.passes, passed, "%s\n%s", step.title, out)
		tell(step.title, out)
		if step.changed == "a broken rule" {
			require.NoFileExists(t, file)
		}
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	tell("the file", string(content))
	gold.Equal(t, filepath.Join("testdata", "samples.golden"), story.String())
}

// Where -run has picked some of the samples, nothing is compared and nothing accepted.
func TestSomeOfTheSamplesAreNotHeldAgainstAllOfThem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "testdata/rehearse/TestChildResults/samples.baseline")
	_, passed := selftest.Run(t, dir, "TestChildResults/calm", "-rehearse.accept")
	require.True(t, passed)
	require.NoFileExists(t, file)
	_, passed = selftest.Run(t, dir, "TestChildResults", "-rehearse.accept")
	require.True(t, passed)
	require.FileExists(t, file)
	t.Setenv("CHANGED", "a worse version")
	out, passed := selftest.Run(t, dir, "TestChildResults/calm", "-test.v")
	require.True(t, passed, out)
	require.NotContains(t, out, "samples compared")
}

// garbage are files that cannot be read, and what is said of them.
func garbage() map[string]string {
	const header = `{"rehearse":"samples","schema":1}` + "\n"
	const variant = `{"variant":"model-a","policy":{"id":"assistant/v1"}}` + "\n"
	const row = `{"scenario":"calm","variant":"model-a","check":"hard rules","passed":1,"of":1}` + "\n"
	return map[string]string{
		"":                                    "the file is empty",
		"rehearse baseline 1\n":               "line 1: \"rehearse baseline 1\" is not",
		`{"rehearse":"trace","schema":1}`:     "line 1:",
		`{"rehearse":"samples","schema":2}`:   "line 1: schema is 2, and this version reads 1",
		header + row:                          `line 2: variant "model-a" has no line of its own before`,
		header + variant + variant:            `line 3: variant "model-a" has a line before`,
		header + `{"variant":"","policy":{}}`: "line 2: a variant needs a name and a policy",
		header + `{"variant":"a"}`:            "line 2: a variant needs a name and a policy",
		header + variant + row + row:          "line 4: this row has a line before",
		header + variant + strings.Replace(row, ":1,", ":2,", 1):     "line 3: 2 of 1 cannot have passed",
		header + variant + strings.Replace(row, "passed", "pass", 1): `line 3: json: unknown field "pass"`,
		header + variant + strings.Replace(row, "calm", "", 1):       "line 3: a row needs a scenario and a check",
		header + variant + strings.TrimSpace(row) + " {}":            "line 3: there is something behind the closing brace",
		"\n" + header:   "line 1: \"\" is not",
		header + "\x00": "line 2: invalid character",
	}
}

func TestChildGarbage(t *testing.T) {
	if !selftest.Active() {
		return
	}
	n := 0
	for text, want := range garbage() {
		n++
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer keeping.Move(t.TempDir())()
			path := filepath.Join(keeping.Dir(t.Name()), "samples.baseline")
			require.NoError(t, keeping.Save(path, text))
			s := sampled(1, variant("model-a", "", careful))
			matrix.Sample(t, s)
			t.Logf("wanted: %s: %s", path, want)
		})
	}
}

// A file that cannot be read says in which line, and is no panic and no pass.
func TestSavedResultsThatCannotBeRead(t *testing.T) {
	out, passed := selftest.Run(t, t.TempDir(), "TestChildGarbage", "-test.v")
	require.False(t, passed)
	parts := strings.Split(out, "wanted: ")
	require.Len(t, parts, len(garbage())+1)
	for i, part := range parts[1:] {
		want, _, _ := strings.Cut(part, "\n")
		require.Contains(t, parts[i], want)
		require.Contains(t, parts[i], "correct the line, or delete the file")
	}
	require.Equal(t, len(garbage()), strings.Count(out, "--- FAIL: TestChildGarbage/"))
}
