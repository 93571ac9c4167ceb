package zoo

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A fieldPage is docs/field.md as far as it can be checked: lines by their
// first column, or by the number of the rule.
type fieldPage struct {
	cases, needs map[string]fieldLine
	rules        map[string]bool
}

// A fieldLine is a line of a table.
type fieldLine struct {
	cells []string
	refs  []fieldRef // of the last cell
}

// A fieldRef names something of this repository.
type fieldRef struct{ kind, name string }

var (
	caseID     = regexp.MustCompile(`^F\d{3}$`)
	ruleLine   = regexp.MustCompile(`^- (rule \d+): \S`)
	quotedName = regexp.MustCompile("`([^`]+)`")
	issueLink  = regexp.MustCompile(`^\[([\w.-]+/[\w.-]+)#(\d+)\]\(https://github\.com/([\w.-]+/[\w.-]+)/issues/(\d+)\)$`)
)

// fieldKinds are the kinds of names; prose says in words what is not here.
var (
	fieldKinds = []string{"subject", "row", "invariant", "test", "API"}
	fieldProse = []string{"beyond: ", "open: "}
)

// readFieldPage reads the tables and the rules, and complains of what it cannot read.
func readFieldPage(text string) (p fieldPage, wrong []string) {
	p = fieldPage{cases: map[string]fieldLine{}, needs: map[string]fieldLine{}, rules: map[string]bool{}}
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if m := ruleLine.FindStringSubmatch(l); m != nil {
			p.rules[m[1]] = true
			continue
		}
		if !strings.HasPrefix(l, "| ") || strings.HasPrefix(l, "| case |") || strings.HasPrefix(l, "| need |") {
			continue
		}
		line, bad := readFieldLine(l)
		table, columns := p.needs, 2
		if caseID.MatchString(line.cells[0]) {
			table, columns = p.cases, 4
		}
		if _, twice := table[line.cells[0]]; twice {
			bad = append(bad, "it is there twice")
		}
		if len(line.cells) != columns {
			bad = append(bad, fmt.Sprintf("it has %d columns, wanted %d", len(line.cells), columns))
		}
		table[line.cells[0]] = line
		for _, b := range bad {
			wrong = append(wrong, line.cells[0]+": "+b)
		}
	}
	return p, wrong
}

// readFieldLine splits a line into its cells, and the last cell into its names.
func readFieldLine(l string) (line fieldLine, wrong []string) {
	for cell := range strings.SplitSeq(strings.Trim(l, "| "), " | ") {
		line.cells = append(line.cells, strings.TrimSpace(cell))
	}
	for part := range strings.SplitSeq(line.cells[len(line.cells)-1], " · ") {
		kind, rest, _ := strings.Cut(part, " ")
		names := quotedName.FindAllStringSubmatch(rest, -1)
		prose := slices.ContainsFunc(fieldProse, func(p string) bool { return strings.HasPrefix(part, p) })
		switch {
		case prose && len(names) == 0:
		case prose:
			wrong = append(wrong, fmt.Sprintf("%q quotes a name that nobody checks: give it a part and a kind of its own", part))
		case !slices.Contains(fieldKinds, kind) || len(names) == 0:
			wrong = append(wrong, fmt.Sprintf("%q is neither a kind (%s) with names in backquotes, nor beyond: or open: with words", part, strings.Join(fieldKinds, ", ")))
		}
		for _, n := range names {
			line.refs = append(line.refs, fieldRef{kind, n[1]})
		}
	}
	return line, wrong
}

// complaints lists what the page says that is not so, and what it lacks.
// known are the names of each kind, finders the rule and the rows that find each
// faulty subject.
func (p *fieldPage) complaints(known map[string]map[string]bool, finders map[string][]string, faulty []Specimen) (wrong []string) {
	for _, table := range []map[string]fieldLine{p.cases, p.needs} {
		for _, id := range slices.Sorted(maps.Keys(table)) {
			for _, r := range table[id].refs {
				if !known[r.kind][r.name] {
					wrong = append(wrong, fmt.Sprintf("%s: there is no %s %s", id, r.kind, r.name))
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.cases)) {
		if m := issueLink.FindStringSubmatch(p.cases[id].cells[2]); m == nil || m[1] != m[3] || m[2] != m[4] {
			wrong = append(wrong, id+": its source is no link to the issue that it names")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.cases)) {
		wrong = append(wrong, idle(id, p.cases[id], finders)...)
	}
	for _, s := range faulty {
		if complaint := p.lacks(s); complaint != "" {
			wrong = append(wrong, complaint)
		}
	}
	return wrong
}

// idle lists the rows and invariants of a line that find none of its faulty subjects.
func idle(id string, line fieldLine, finders map[string][]string) (wrong []string) {
	var found []string
	for _, r := range line.refs {
		if r.kind == "subject" {
			found = append(found, finders[r.name]...)
		}
	}
	for _, r := range line.refs {
		if (r.kind == "row" || r.kind == "invariant") && !slices.Contains(found, r.name) {
			wrong = append(wrong, fmt.Sprintf("%s: the %s %s finds no subject of the line first", id, r.kind, r.name))
		}
	}
	return wrong
}

// killers reads, off the kill table, the rule and the rows that find each subject.
func killers(table string) map[string][]string {
	found := map[string][]string{}
	for l := range strings.Lines(table) {
		if cells := strings.Split(strings.TrimSpace(l), " | "); len(cells) == 5 {
			rows := strings.TrimSuffix(cells[4], " |")
			found[strings.TrimPrefix(cells[0], "| ")] = append(strings.Split(rows, ", "), cells[3])
		}
	}
	return found
}

// lacks says what the page has not of a subject's source.
func (p *fieldPage) lacks(s Specimen) string {
	line, ok := p.cases[s.Source]
	switch {
	case strings.HasPrefix(s.Source, "article: "), p.rules[s.Source]:
		return ""
	case !ok:
		return fmt.Sprintf("%s: its source %s has no line", s.Name, s.Source)
	case !slices.Contains(line.refs, fieldRef{"subject", s.Name}):
		return fmt.Sprintf("%s: the line of its source %s does not name it", s.Name, s.Source)
	}
	return ""
}
