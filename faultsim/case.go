package faultsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rehearse-go/rehearse/internal/kept"
	"github.com/rehearse-go/rehearse/internal/rerun"
)

// The first line of a case. Version 1 has neither policy nor origin.
const (
	caseHeader    = "rehearse case 2"
	oldCaseHeader = "rehearse case 1"
)

// A savedCase is a failing schedule that is kept as a regression.
type savedCase struct {
	path      string
	old       bool   // of the first version of the format
	invariant string // the rule that it broke
	found     string // where it was found: the trial and the base seed; empty: not known
	policy    string // content of the policy that it broke; empty: not known
	beside    string // content of what was declared beside it; empty: nothing, or not known
	schedule  Schedule
	source    string // what was read from the file
}

// caseOf is the case of a failure: the saved one, or a new one.
func (c *check) caseOf(invariant string, s *Schedule, origin string, saved *savedCase) *savedCase {
	if saved != nil {
		return saved
	}
	found, _, _ := strings.Cut(origin, "\n")
	return &savedCase{invariant: invariant, found: found, policy: string(c.content), beside: string(c.beside), schedule: *s}
}

// text is the content of the case's file.
func (c *savedCase) text(test, headline string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# %s\n# Found by %s, which runs it again first of all. Delete the file once it has lost its point.\ninvariant %s\n",
		caseHeader, strings.Map(oneLine, headline), strings.Map(oneLine, test), wordText(c.invariant))
	for _, field := range c.fields() {
		if *field.value != "" {
			b.WriteString(field.name + " " + *field.value + "\n")
		}
	}
	return b.String() + "\n" + c.schedule.String()
}

// A caseField is a line of a case whose value is the rest of the line.
type caseField struct {
	name  string
	value *string
	json  bool
}

func (c *savedCase) fields() []caseField {
	return []caseField{{"found", &c.found, false}, {"policy", &c.policy, true}, {"beside", &c.beside, true}}
}

// field reads such a line; ok: it is one.
func (c *savedCase) field(line string) (ok bool, err error) {
	name, value, _ := strings.Cut(line, " ")
	for _, f := range c.fields() {
		if f.name != name {
			continue
		}
		switch value = strings.TrimSpace(value); {
		case *f.value != "":
			return true, fmt.Errorf("%s stands twice: take one out", name)
		case value == "":
			return true, fmt.Errorf("%s says nothing: take the line out", name)
		case f.json && !json.Valid([]byte(value)):
			return true, fmt.Errorf("what stands behind %q is no JSON: take the line out, and nobody is told what has changed since", name)
		}
		*f.value = value
		return true, nil
	}
	return false, nil
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
			return nil, fmt.Errorf("a saved case of this test cannot be read: %w: put the file back, or take this away", kept.Brief(err))
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
// names the invariant, or the first one of an action, a tool or an attempt.
func (c *savedCase) at(u *UnfitError) string {
	action := 0
	for i, line := range strings.Split(c.source, "\n") {
		words, err := split(strings.TrimRight(line, "\r"))
		if err != nil || len(words) == 0 {
			continue
		}
		found := u == nil && words[0] == "invariant"
		switch {
		case u == nil:
		case u.action == 0:
			found = u.tool != "" && !indented(line) && slices.Contains([]string{"outage", "quota", "bucket", "serial"}, words[0]) && slices.Contains(words[1:], u.tool)
		case words[0] == "action" && !indented(line):
			action++
			found = u.tool == "" && action == u.action
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
	lines := strings.SplitAfter(strings.TrimPrefix(text, byteOrderMark), "\n")
	for i, line := range lines {
		word := strings.TrimSpace(line)
		switch {
		case i == 0 && laterCase(word):
			return c, malformed(1, "the first line is %q, and this version of rehearse reads %q: the file was written by a later one, so update the module", word, caseHeader)
		case i == 0 && word != caseHeader && word != oldCaseHeader:
			return c, malformed(1, "the first line is %q, not %q: this is another file or another version", word, caseHeader)
		case i == 0:
			c.old = word == oldCaseHeader
		case word == "" || word[0] == '#':
		case word == scheduleHeader:
			if c.invariant == "" {
				return c, malformed(i+1, "there is no line \"invariant NAME\" above the schedule")
			}
			var err error
			c.schedule, err = parse(strings.Join(lines[i:], ""), i+1)
			return c, err
		case strings.HasPrefix(word, "invariant ") && c.invariant == "":
			words, err := split(word)
			if err != nil || len(words) != 2 || words[1] == "" {
				return c, malformed(i+1, "%q is not \"invariant NAME\", with quotation marks around a name of several words", word)
			}
			c.invariant = words[1]
		default:
			if ok, err := c.field(word); err != nil {
				return c, malformed(i+1, "%v", err)
			} else if !ok {
				return c, malformed(i+1, "%q is neither \"invariant NAME\", found, policy or beside, nor the schedule", word)
			}
		}
	}
	return c, malformed(len(lines), "the case has no schedule: it begins with a line %q", scheduleHeader)
}

// laterCase reports whether the line begins a case of a later version.
func laterCase(line string) bool {
	text, ok := strings.CutPrefix(line, "rehearse case ")
	version, err := strconv.Atoi(text)
	return ok && err == nil && version > 2
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
	case drawn && c.most == 0: // or else the run finds its number by itself
		command += fmt.Sprintf(" -rehearse.trials=%d", c.set.trials)
	}
	return command
}
