package zoo

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoverageNamesWhatThereIs holds docs/coverage.md to the rules, rows,
// subjects and tests that exist.
func TestCoverageNamesWhatThereIs(t *testing.T) {
	lines, mistakes := coverage(read(t, filepath.Join(root, "docs", "coverage.md")), registered(t))
	for _, m := range mistakes {
		t.Errorf("docs/coverage.md: %s", m)
	}
	open := 0
	for _, line := range lines {
		if strings.Contains(line, "open:") {
			open++
		}
	}
	t.Logf("%d paragraphs, %d of them open in whole or in part", len(lines), open)
}

// A register is what a line of the page can name.
type register struct {
	invariants, rows, tests map[string]bool
	subjects                map[string]subject
	file                    func(string) bool
}

// A subject is what a line must agree with that names a subject of the zoo.
type subject struct {
	rule string   // that it breaks; empty: a right one
	rows []string // of the matrix that it fails, by the kill table
}

func registered(t *testing.T) register {
	names, finders := known(t), killers(read(t, killTable))
	r := register{invariants: names["invariant"], rows: names["row"], tests: names["test"], subjects: map[string]subject{}}
	for _, s := range append(Faulty(), Right()...) {
		rows := slices.DeleteFunc(slices.Clone(finders[s.Name]), func(name string) bool { return !r.rows[name] })
		r.subjects[s.Name] = subject{s.Rule, rows}
	}
	r.file = func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil && filepath.IsLocal(name)
	}
	return r
}

var entry = regexp.MustCompile(`^(Test|Example|Fuzz)([^a-z]|$)`)

// coverage reads the page: its lines about paragraphs, and what is wrong with them.
func coverage(page string, r register) (lines, mistakes []string) {
	perArticle := map[string]int{}
	for _, article := range []string{testingRetries, handling, retrySafe, toolErrors, threeLayer} {
		perArticle[article] = 0
	}
	article := ""
	for n, line := range slices.Collect(strings.Lines(page)) {
		line = strings.TrimSpace(line)
		complain := func(what string) { mistakes = append(mistakes, fmt.Sprintf("line %d: %s", n+1, what)) }
		switch title, heading := strings.CutPrefix(line, "## "); {
		case heading:
			article = "article: " + strings.ToLower(title[:1]) + title[1:]
			if _, ok := perArticle[article]; !ok {
				complain(fmt.Sprintf("%q is no article that the zoo names", title))
			}
		case !strings.HasPrefix(line, "|"), line == "|---|---|---|---|", line == "| paragraph | invariants | rows | tests and examples |":
		default:
			perArticle[article]++
			lines = append(lines, line)
			for _, m := range r.mistakes(line) {
				complain(m)
			}
		}
	}
	for _, a := range slices.Sorted(maps.Keys(perArticle)) {
		if perArticle[a] == 0 {
			mistakes = append(mistakes, fmt.Sprintf("%s has no line", a))
		}
	}
	return lines, mistakes
}

// mistakes lists what is wrong with one line of a table.
func (r register) mistakes(line string) (all []string) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 4 || strings.TrimSpace(cells[0]) == "" {
		return []string{fmt.Sprintf("%d cells, wanted a paragraph and three more", len(cells))}
	}
	proofs, missing, open := strings.Cut(cells[3], "open:")
	if open && strings.TrimSpace(missing) == "" {
		all = append(all, "open, and does not say what is missing")
	}
	rules, bad := names(cells[1], "invariants")
	rows, bad2 := names(cells[2], "rows")
	tests, bad3 := names(strings.TrimRight(proofs, "; "), "tests and examples")
	all = slices.Concat(all, bad, bad2, bad3)
	if len(rules)+len(rows)+len(tests) == 0 && !open {
		all = append(all, "names nothing, and is not open")
	}
	for _, name := range rules {
		if !r.invariants[name] {
			all = append(all, fmt.Sprintf("no invariant is named %q", name))
		}
	}
	for _, name := range rows {
		if !r.rows[name] {
			all = append(all, fmt.Sprintf("no row is named %q", name))
		}
	}
	for _, name := range tests {
		if m := r.proof(name, rules, rows); m != "" {
			all = append(all, m)
		}
	}
	return all
}

// proof says what is wrong with a test, example, file or subject of the zoo.
func (r register) proof(name string, rules, rows []string) string {
	if name, ok := strings.CutPrefix(name, "zoo/"); ok {
		return r.specimen(name, rules, rows)
	}
	if _, function, _ := strings.Cut(path.Base(name), "."); entry.MatchString(function) {
		if !r.tests[name] {
			return fmt.Sprintf("there is no test or example %q", name)
		}
	} else if !r.file(name) {
		return fmt.Sprintf("there is no file %q", name)
	}
	return ""
}

// specimen says what is wrong with a subject of the zoo: a faulty one breaks a
// rule of its line, and where the matrix finds it, fails a row of the line.
func (r register) specimen(name string, rules, rows []string) string {
	s, ok := r.subjects[name]
	fails := func(row string) bool { return slices.Contains(s.rows, row) }
	switch {
	case !ok:
		return fmt.Sprintf("no subject of the zoo is named %q", name)
	case s.rule != "" && !slices.Contains(rules, s.rule):
		return fmt.Sprintf("subject %q breaks %s, which the line does not name", name, s.rule)
	case len(rows) > 0 && len(s.rows) > 0 && !slices.ContainsFunc(rows, fails):
		return fmt.Sprintf("subject %q fails none of the line's rows, by the kill table", name)
	}
	return ""
}

// names reads a cell that is a dash, empty, or names in code, with commas.
func names(cell, column string) (list, bad []string) {
	cell = strings.TrimSpace(cell)
	if cell == "–" || cell == "" {
		return nil, nil
	}
	for _, word := range strings.Split(cell, ", ") {
		name := strings.Trim(word, "`")
		if word != "`"+name+"`" || name == "" {
			bad = append(bad, fmt.Sprintf("%q in the column of %s is not a name in code", word, column))
			continue
		}
		list = append(list, name)
	}
	return list, bad
}

// Each mistake that a line can have is found, and a right line has none.
func TestMistakesInTheCoverageAreFound(t *testing.T) {
	r := registered(t)
	page := func(line string) string {
		var b strings.Builder
		for _, a := range []string{testingRetries, handling, retrySafe, toolErrors, threeLayer} {
			fmt.Fprintf(&b, "## %s\n\n| paragraph | invariants | rows | tests and examples |\n|---|---|---|---|\n%s\n", strings.TrimPrefix(a, "article: "), line)
		}
		return b.String()
	}
	right := "| a | `one-key` | `immediate-success` | `zoo/no-key`, `zoo/plain-loop`, `invariants.ExampleFind`, `examples/payment/payment.go`; open: the rest |"
	lines, mistakes := coverage(page(right), r)
	require.Empty(t, mistakes)
	require.Len(t, lines, 5)
	for _, c := range []struct{ line, found string }{
		{"| a | `one-kay` | – | – |", `no invariant is named "one-kay"`},
		{"| a | – | `immediate` | – |", `no row is named "immediate"`},
		{"| a | – | – | `invariants.TestNothing` |", `there is no test or example "invariants.TestNothing"`},
		{"| a | – | – | `trace.ExampleFind` |", `there is no test or example "trace.ExampleFind"`},
		{"| a | – | – | `examples/payment/pay.go` |", `there is no file "examples/payment/pay.go"`},
		{"| a | – | – | `../` |", `there is no file "../"`},
		{"| a | – | – | `zoo/no-kay` |", `no subject of the zoo is named "no-kay"`},
		{"| a | `one-effect` | – | `zoo/no-key` |", `subject "no-key" breaks one-key, which the line does not name`},
		{"| a | `one-key` | `hint-of-zero` | `zoo/no-key` |", `subject "no-key" fails none of the line's rows`},
		{"| a | one-key | – | – |", `"one-key" in the column of invariants is not a name in code`},
		{"| a | `one-key` `one-effect` | – | – |", `no invariant is named`},
		{"| a | – | – | – |", "names nothing, and is not open"},
		{"| a | – | – | |", "names nothing, and is not open"},
		{"| a | – | – | open: |", "does not say what is missing"},
		{"| a | – | – | soon |", `"soon" in the column of tests and examples`},
		{"| a | – | – |", "3 cells, wanted"},
		{"|  | `one-key` | – | – |", "wanted a paragraph"},
		{"", "has no line"},
		{"## another\n" + right, `"another" is no article`},
	} {
		_, mistakes := coverage(page(c.line), r)
		require.NotEmpty(t, mistakes, c.line)
		require.Contains(t, strings.Join(mistakes, "\n"), c.found, c.line)
	}
}
