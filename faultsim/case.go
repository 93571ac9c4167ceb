package faultsim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/rerun"
)

const caseHeader = "rehearse case 1"

// A savedCase is a failing schedule that is kept as a regression.
type savedCase struct {
	path      string
	invariant string // the rule that it broke
	schedule  Schedule
	source    string // what was read from the file
}

// text is the content of the case's file.
func (c *savedCase) text(test, headline string) string {
	return fmt.Sprintf("%s\n# %s\n# Found by %s, which runs it again first of all. Delete the file once it has lost its point.\ninvariant %s\n\n%s",
		caseHeader, strings.Map(oneLine, headline), strings.Map(oneLine, test), wordText(c.invariant), c.schedule.String())
}

func oneLine(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

// file is the path of the case, below the package. It follows from the
// content, so that the same failure is one file.
func (c *savedCase) file(test string) string {
	return filepath.Join(kept.Dir(test), kept.Safe(c.invariant)+"-"+kept.Hash(c.schedule.String())+".case")
}

// save writes the case and returns its path.
func (c *savedCase) save(test, headline string) (string, error) {
	path := c.file(test)
	if err := kept.Save(path, c.text(test, headline)); err != nil {
		return "", err
	}
	return path, nil
}

// loadCases reads the saved cases of a test, in the order of their names.
func loadCases(test string) ([]savedCase, error) {
	dir := kept.Dir(test)
	entries, err := os.ReadDir(kept.Path(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil // there are no cases
	}
	if err != nil {
		return nil, fmt.Errorf("the saved cases of this test cannot be read: %w", kept.Brief(err))
	}
	var cases []savedCase
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".case" || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.ToSlash(filepath.Join(dir, entry.Name()))
		content, err := os.ReadFile(kept.Path(path))
		if err != nil {
			return nil, fmt.Errorf("a saved case of this test cannot be read: %w", kept.Brief(err))
		}
		c, err := parseCase(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n    fix the line, or delete the file if it has lost its point", path, err)
		}
		c.path, c.source = path, string(content)
		cases = append(cases, c)
	}
	return cases, nil
}

// at is the case's path and the line that a finding is about: the one that
// names the invariant, or the first one of a tool or an attempt.
func (c *savedCase) at(u *UnfitError) string {
	action := 0
	for i, line := range strings.Split(c.source, "\n") {
		words, err := split(strings.TrimRight(line, "\r"))
		if err != nil || len(words) == 0 {
			continue
		}
		found := u == nil && words[0] == "invariant"
		switch {
		case u == nil || u.action == 0:
		case words[0] == "action" && !indented(line):
			action++
		case indented(line) && action == u.action && words[0] == u.tool:
			found = u.attempt == 0 || len(words) > 1 && words[1] == strconv.Itoa(u.attempt)
		}
		if found {
			return fmt.Sprintf("%s: line %d", c.path, i+1)
		}
	}
	return c.path
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
			words, err := split(word)
			if err != nil || len(words) != 2 || words[1] == "" {
				return c, &ParseError{i + 1, fmt.Sprintf("%q is not \"invariant NAME\", with quotation marks around a name of several words", word)}
			}
			c.invariant = words[1]
		default:
			return c, &ParseError{i + 1, fmt.Sprintf("%q is neither \"invariant NAME\" nor the schedule", word)}
		}
	}
	return c, &ParseError{len(lines), fmt.Sprintf("the case has no schedule: it begins with a line %q", scheduleHeader)}
}

// rerun is the command that runs the test again. Where the case is not on
// disk, the seed and the number of trials belong to it.
func (c *check) rerun(drawn bool) string {
	command := rerun.Command(c.name)
	if drawn && c.set.seed != nameSeed(c.name) {
		command += fmt.Sprintf(" -rehearse.seed=%d", c.set.seed)
	}
	switch {
	case drawn && c.campaign != nil:
		command += fmt.Sprintf(" -rehearse.for=%dx", c.set.trials)
	case drawn && c.set.trials != defaultTrials:
		command += fmt.Sprintf(" -rehearse.trials=%d", c.set.trials)
	}
	return command
}
