package zoo

import (
	"fmt"
	"strings"

	"github.com/rehearse-go/rehearse/faultsim"
	"github.com/rehearse-go/rehearse/trace"
)

// A table is the kill table.
type table struct {
	rows  []string
	bites map[string]int // faults that each row of the matrix catches
	none  int            // faults that no row catches
}

func (g *table) add(s Specimen, rule string, rows []string) {
	if g.bites == nil {
		g.bites = map[string]int{}
	}
	for _, r := range rows {
		g.bites[r]++
	}
	list := strings.Join(rows, ", ")
	if list == "" {
		g.none++
		list = "–"
	}
	g.rows = append(g.rows, fmt.Sprintf("| %s | %s | %s | %s | %s |", s.Name, s.Wrong, s.Source, rule, list))
}

// String is the table as a Markdown page.
func (g *table) String() string {
	var b strings.Builder
	b.WriteString(`# Kill table

Which check finds which mistake. Each fault is a subject in internal/zoo: ordinary code with one mistake. The rule is the first finding of faultsim.Check with its defaults, and names the fault; the rows are those of matrix.Run that fail. A source like F050 or rule 11 is a line of [the field cases](field.md). The test in internal/zoo keeps this page: ` + "`go test ./internal/zoo -update`" + `.

| fault | what went wrong | source | rule | rows of the matrix |
|---|---|---|---|---|
`)
	b.WriteString(strings.Join(g.rows, "\n"))
	fmt.Fprintf(&b, "\n\n%d faults, all found by Check. The rows of the matrix find %d of them; the others need more than a row has, such as a hint in the middle of a streak or an outage over many actions.\n", len(g.rows), len(g.rows)-g.none)
	return b.String()
}

// size counts the events of a schedule that somebody has to follow: what goes wrong at
// the tools, options, limits and further actions. An outage or a quota is as many as
// the failures that it makes.
func size(o faultsim.Outcome) int {
	s := &o.Schedule
	n := max(len(s.Actions)-1, 0)
	add := func(set ...bool) {
		for _, yes := range set {
			if yes {
				n++
			}
		}
	}
	add(s.AtOnce, s.Jitter != "", s.Calm != 0)
	n += len(s.Serial) + len(s.Expiries)
	planned := 0
	for _, p := range s.Actions {
		add(p.After != 0, p.Deadline != 0, p.Cancel != 0, p.Key != 0, p.Other, p.CrashBeforeWrite+p.CrashAfterWrite != 0, p.Restart != 0, p.Grace != 0, p.Again)
		for _, faults := range p.Faults {
			for _, f := range faults {
				if f.Class != 0 || f.Hang {
					planned++
				}
				add(f != (faultsim.Fault{}), f.Hint != 0, f.Form != "", f.Latency != 0, f.Done, f.Deaf, f.Cancel != 0, f.Crash != 0, f.Drain != 0, f.Say != "", f.Advice != 0, f.Wrap != "", f.Work != 0, f.Body != 0, f.Twice)
			}
		}
	}
	if spells := len(s.Outages) + len(s.Quotas); spells > 0 {
		n += max(spells, unanswered(o.Trace)-planned)
	}
	return n
}

// unanswered counts the answers of tools that failed.
func unanswered(tr *trace.Trace) (n int) {
	for at := range tr.Attempts() {
		if c := at.Outcome.Class; c != trace.OK && c != trace.Declined {
			n++
		}
	}
	return n
}
