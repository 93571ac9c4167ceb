package faultsim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const caseHeader = "rehearse case 1"

// A savedCase is a failing schedule that is kept as a regression.
type savedCase struct {
	path      string
	invariant string // the rule that it broke
	schedule  Schedule
}

// caseDir is where the cases of a test live, beside its package.
func caseDir(test string) string {
	return filepath.Join("testdata", "rehearse", safeName(test))
}

// safeName turns a test's name into a file name on every system. Names that
// would collide after that differ by a hash.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	if safe != name {
		safe += "-" + shortHash(name)
	}
	return safe
}

func shortHash(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

// text is the content of the case's file.
func (c *savedCase) text(test, headline string) string {
	return fmt.Sprintf("%s\n# %s\n# Found by %s, which runs it again first of all. Delete the file once it has lost its point.\ninvariant %s\n\n%s",
		caseHeader, headline, test, c.invariant, c.schedule.String())
}

// save writes the case and returns its path. The path follows from the
// content, so that the same failure is one file.
func (c *savedCase) save(test, headline string) (string, error) {
	dir := caseDir(test)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, c.invariant+"-"+shortHash(c.schedule.String())+".case")
	temp, err := os.CreateTemp(dir, ".case-*")
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(c.text(test, headline))
	err = errors.Join(err, temp.Close(), os.Chmod(temp.Name(), 0o644))
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return path, nil
}

// loadCases reads the saved cases of a test, in the order of their names.
func loadCases(test string) ([]savedCase, error) {
	paths, err := filepath.Glob(filepath.Join(caseDir(test), "*.case"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	cases := make([]savedCase, 0, len(paths))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := parseCase(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n    fix the line, or delete the file if it has lost its point", path, err)
		}
		c.path = path
		cases = append(cases, c)
	}
	return cases, nil
}

// parseCase reads a case: header, comments, the invariant, the schedule.
func parseCase(text string) (savedCase, error) {
	var c savedCase
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		word := strings.TrimSpace(line)
		switch {
		case i == 0 && word != caseHeader:
			return c, &ParseError{1, fmt.Sprintf("the first line is %q, not %q: this is another file or another version", word, caseHeader)}
		case i == 0 || word == "" || word[0] == '#':
		case word == scheduleHeader:
			if c.invariant == "" {
				return c, &ParseError{i + 1, "there is no line \"invariant NAME\" above the schedule"}
			}
			var err error
			c.schedule, err = parse(strings.Join(lines[i:], ""), i+1)
			return c, err
		case strings.HasPrefix(word, "invariant ") && c.invariant == "":
			c.invariant = strings.TrimSpace(strings.TrimPrefix(word, "invariant "))
		default:
			return c, &ParseError{i + 1, fmt.Sprintf("%q is neither \"invariant NAME\" nor the schedule", word)}
		}
	}
	return c, &ParseError{len(lines), fmt.Sprintf("the case has no schedule: it begins with a line %q", scheduleHeader)}
}

// rerun is the command that runs the test again.
func rerun(t *testing.T) string {
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + quoteMeta(parts[i]) + "$"
	}
	return fmt.Sprintf("go test -run '%s' %s", strings.Join(parts, "/"), packageOf())
}
